// Herding by coordinate ascent for any features: lists of pairs and triples, variables of any cardinality.
//
// Source: Welling 2009. The field of an indicator is what it adds to <w, phi(s)> when it is on:
//   field_b = sum of w_f over features f that contain b and whose other indicators are on,
// and its rate the same sum of mu_f. A change of variable v from a to b gains field_b - field_a. Both arrays
// are kept while indicators go on and off, at the cost of the features of that indicator; an update of the
// weights adds the rate to every field and takes 1 for every feature that holds. Fails: never, but the
// maximum is a local one.
#include <cassert>

#include "drover/herd/ascent_core.hpp"
#include "drover/herd/local_search.hpp"

namespace drover {

namespace {

class SparseCore : public AscentCore {
 public:
  SparseCore(const Moments& moments, std::span<const double> start_weights)
      : AscentCore(moments, start_weights) {
    value_offsets_.push_back(0);
    for (std::uint32_t v = 0; v < set_.variables(); ++v) {
      for (std::uint32_t value = 0; value < set_.cardinalities[v]; ++value)
        bit_of_.push_back(set_.find({v, static_cast<Value>(value)}));
      value_offsets_.push_back(bit_of_.size());
    }
    const std::size_t bits = set_.indicators.size();
    offsets_.assign(bits + 1, 0);
    for (const Feature& feature : set_.features)
      for (std::uint32_t b : feature.members()) ++offsets_[b + 1];
    for (std::size_t b = 0; b < bits; ++b) offsets_[b + 1] += offsets_[b];
    entries_.resize(offsets_.back());
    std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
    for (std::uint32_t f = 0; f < set_.size(); ++f) {
      const Feature& feature = set_.features[f];
      for (std::uint32_t m = 0; m < feature.order; ++m) {
        Entry entry{f, {none, none}, m == 0};
        for (std::uint32_t k = 0, o = 0; k < feature.order; ++k)
          if (k != m) entry.others[o++] = feature.indicators[k];
        entries_[next[feature.indicators[m]]++] = entry;
      }
    }
    refresh();
  }

  std::uint64_t ascend() {
    return ascend_by([this](std::size_t v) { return best_value(v); },
                     [this](std::size_t v, Value value) { change(v, value); });
  }

  double gain(std::size_t v, Value value) const { return field_at(v, value) - field_at(v, values_[v]); }

  void change(std::size_t v, Value value) {
    const std::uint32_t off = bit_at(v, values_[v]), on = bit_at(v, value);
    if (off != none) {
      score_ -= field_[off];
      mu_score_ -= rate_[off];
      on_[off] = 0;
      toggle(off, -1);
    }
    if (on != none) {
      score_ += field_[on];
      mu_score_ += rate_[on];
      on_[on] = 1;
      toggle(on, 1);
    }
    values_[v] = value;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(count_);
    archive(values_);
    archive(field_);
    archive(rate_);
    archive(on_);
    for (double* number : {&score_, &mu_score_, &target_}) archive(*number);
    archive(samples_);
  }

  void learn() {
    target_ += mu_square_ - mu_score_;
    score_ += mu_score_;
    for (std::size_t b = 0; b < field_.size(); ++b) field_[b] += rate_[b];
    for (std::uint32_t b = 0; b < field_.size(); ++b) {
      if (!on_[b]) continue;
      for (std::size_t e = offsets_[b]; e < offsets_[b + 1]; ++e) {
        const Entry& entry = entries_[e];
        if (!entry.first || !is_on(entry.others[0]) || !is_on(entry.others[1])) continue;
        count_[entry.feature] += 1;
        score_ -= 1;
        field_[b] -= 1;
        for (std::uint32_t other : entry.others)
          if (other != none) field_[other] -= 1;
      }
    }
    if (++samples_ % refresh_interval == 0) refresh();
  }

 private:
  struct Entry {
    std::uint32_t feature;
    std::array<std::uint32_t, 2> others;
    bool first;  ///< the indicator is the feature's first: one entry per feature has it
  };

  bool is_on(std::uint32_t b) const { return b == none || on_[b]; }
  /// The indicator of a value, or none: its field is then 0.
  std::uint32_t bit_at(std::size_t v, Value value) const { return bit_of_[value_offsets_[v] + value]; }
  double field_at(std::size_t v, Value value) const {
    const std::uint32_t b = bit_at(v, value);
    return b == none ? 0 : field_[b];
  }

  /// Ties go to the smallest value, so a binary variable is [field > 0].
  Value best_value(std::size_t v) const {
    std::uint32_t best = 0;
    double best_field = field_at(v, 0);
    for (std::uint32_t value = 1; value < set_.cardinalities[v]; ++value) {
      const double field = field_at(v, static_cast<Value>(value));
      if (field <= best_field) continue;
      best = value;
      best_field = field;
    }
    return static_cast<Value>(best);
  }

  void toggle(std::uint32_t b, double sign) {
    for (std::size_t e = offsets_[b]; e < offsets_[b + 1]; ++e) {
      const auto [c, d] = entries_[e].others;
      if (c == none) continue;
      const bool to_c = is_on(d), to_d = d != none && on_[c];
      if (!to_c && !to_d) continue;
      const std::uint32_t f = entries_[e].feature;
      const double w = sign * weight(f), mu = sign * mu_[f];
      if (to_c) {
        field_[c] += w;
        rate_[c] += mu;
      }
      if (to_d) {
        field_[d] += w;
        rate_[d] += mu;
      }
    }
  }

  void refresh() {
    const std::vector<Value> state = values_;
    field_.assign(set_.indicators.size(), 0.0);
    rate_.assign(set_.indicators.size(), 0.0);
    on_.assign(set_.indicators.size(), 0);
    score_ = mu_score_ = target_ = 0;
    for (std::uint32_t f = 0; f < set_.size(); ++f) {
      target_ += weight(f) * mu_[f];
      if (set_.features[f].order > 1) continue;
      field_[set_.features[f].indicators[0]] = weight(f);
      rate_[set_.features[f].indicators[0]] = mu_[f];
    }
    for (std::size_t v = 0; v < state.size(); ++v) {
      const std::uint32_t b = bit_at(v, state[v]);
      if (b == none) continue;
      score_ += field_[b];
      mu_score_ += rate_[b];
      on_[b] = 1;
      toggle(b, 1);
    }
  }

  std::vector<std::uint32_t> bit_of_;  ///< of value k of variable v at [value_offsets_[v] + k]
  std::vector<std::size_t> value_offsets_;
  std::vector<std::size_t> offsets_;
  std::vector<Entry> entries_;
  std::vector<double> field_;
  std::vector<double> rate_;
  std::vector<std::uint8_t> on_;
};

}  // namespace

std::unique_ptr<HerdEngine> make_sparse_engine(const Moments& moments, std::span<const double> start_weights,
                                               bool adaptive) {
  return std::make_unique<LocalEngine<SparseCore>>(moments, start_weights, adaptive);
}

}  // namespace drover
