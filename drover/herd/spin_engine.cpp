// Herding by coordinate ascent for products of spins s = 2x - 1 over binary variables.
//
// Source: Welling 2009; the dynamics depend on how a moment is coded, and products of spins treat zeros and
// ones alike. The field of a variable is what stands beside its spin,
//   field_i = sum over features f with i of w_f * product of the other spins,   a flip gains -2 s_i field_i,
// and rate_i the same sum of mu_f. A flip changes the fields of variables that share a feature; an update of
// the weights, w += mu - phi(s), adds rate_i - s_i * (features of i) to every field and counts all features:
// every step costs their number. Fails: never, but the maximum is a local one.
#include <algorithm>
#include <cassert>

#include "drover/herd/ascent_core.hpp"
#include "drover/herd/local_search.hpp"

namespace drover {

namespace {

class SpinCore : public AscentCore {
 public:
  SpinCore(const Moments& moments, std::span<const double> start_weights)
      : AscentCore(moments, start_weights), spins_(set_.variables(), -1.0) {
    offsets_.assign(set_.variables() + 1, 0);
    for (const Feature& feature : set_.features)
      for (std::uint32_t b : feature.members()) ++offsets_[variable(b) + 1];
    for (std::size_t v = 0; v < set_.variables(); ++v) offsets_[v + 1] += offsets_[v];
    entries_.resize(offsets_.back());
    std::vector<std::size_t> next(offsets_.begin(), offsets_.end() - 1);
    for (std::uint32_t f = 0; f < set_.size(); ++f) {
      const Feature& feature = set_.features[f];
      for (std::uint32_t m = 0; m < feature.order; ++m) {
        Entry entry{f, {none, none}};
        for (std::uint32_t k = 0, o = 0; k < feature.order; ++k)
          if (k != m) entry.others[o++] = variable(feature.indicators[k]);
        entries_[next[variable(feature.indicators[m])]++] = entry;
      }
    }
    refresh();
  }

  std::uint64_t ascend() {
    return ascend_by([this](std::size_t v) { return static_cast<Value>(field_[v] > 0 ? 1 : 0); },
                     [this](std::size_t v, Value) { flip(v); });
  }

  double gain(std::size_t v, Value value) const {
    return value == values_[v] ? 0 : -2 * spins_[v] * field_[v];
  }
  void change(std::size_t v, Value value) {
    if (values_[v] != value) flip(v);
  }

  void learn() {
    target_ += mu_square_ - mu_score_;
    score_ += mu_score_ - static_cast<double>(set_.size());
    for (std::size_t v = 0; v < field_.size(); ++v)
      field_[v] += rate_[v] - spins_[v] * static_cast<double>(offsets_[v + 1] - offsets_[v]);
    for (std::size_t f = 0; f < count_.size(); ++f) count_[f] += value_of(set_.features[f]);
    if (++samples_ % refresh_interval == 0) refresh();
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(count_);
    archive(values_);
    for (std::vector<double>* numbers : {&spins_, &field_, &rate_}) archive(*numbers);
    for (double* number : {&score_, &mu_score_, &target_}) archive(*number);
    archive(samples_);
  }

 private:
  struct Entry {
    std::uint32_t feature;
    std::array<std::uint32_t, 2> others;  // variables
  };

  VariableId variable(std::uint32_t indicator) const { return set_.indicators[indicator].variable; }
  double value_of(const Feature& feature) const {
    double product = 1;
    for (std::uint32_t b : feature.members()) product *= spins_[variable(b)];
    return product;
  }

  void flip(std::size_t v) {
    score_ -= 2 * spins_[v] * field_[v];
    mu_score_ -= 2 * spins_[v] * rate_[v];
    spins_[v] = -spins_[v];
    values_[v] = values_[v] != 0 ? 0 : 1;
    for (std::size_t e = offsets_[v]; e < offsets_[v + 1]; ++e) {
      const auto [a, b] = entries_[e].others;
      if (a == none) continue;
      const std::uint32_t f = entries_[e].feature;
      const double w = 2 * spins_[v] * weight(f), mu = 2 * spins_[v] * mu_[f];
      const double beside_a = b == none ? 1 : spins_[b];
      field_[a] += w * beside_a;
      rate_[a] += mu * beside_a;
      if (b == none) continue;
      field_[b] += w * spins_[a];
      rate_[b] += mu * spins_[a];
    }
  }

  void refresh() {
    field_.assign(set_.variables(), 0.0);
    rate_.assign(set_.variables(), 0.0);
    score_ = mu_score_ = target_ = 0;
    for (std::uint32_t f = 0; f < set_.size(); ++f) {
      const double w = weight(f), value = value_of(set_.features[f]);
      target_ += w * mu_[f];
      score_ += w * value;
      mu_score_ += mu_[f] * value;
      for (std::uint32_t b : set_.features[f].members()) {
        field_[variable(b)] += w * value * spins_[variable(b)];
        rate_[variable(b)] += mu_[f] * value * spins_[variable(b)];
      }
    }
  }

  std::vector<double> spins_;
  std::vector<std::size_t> offsets_;
  std::vector<Entry> entries_;
  std::vector<double> field_;
  std::vector<double> rate_;
};

}  // namespace

std::unique_ptr<HerdEngine> make_spin_engine(const Moments& moments, std::span<const double> start_weights,
                                             bool adaptive) {
  assert(moments.set.coding == FeatureCoding::spins);
  return std::make_unique<LocalEngine<SpinCore>>(moments, start_weights, adaptive);
}

}  // namespace drover
