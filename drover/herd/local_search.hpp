// Coordinate ascent for herding, and the harder search behind it.
//
// Source: Welling 2009, section 5 (from the previous state, change single variables until none improves). The
// weights stay bounded as long as every pseudo-sample satisfies <w, phi(s)> >= <w, mu>, because
//   |w + mu - phi(s)|^2 = |w|^2 - 2 (<w, phi(s)> - <w, mu>) + |mu - phi(s)|^2
// (the perceptron cycling theorem). A maximum always does when the moments are those of a distribution. So
// the adaptive variant needs no threshold: it searches harder (changes of two variables at once, other
// starting states) exactly where coordinate ascent falls short of <w, mu>. Where even that fails again and
// again, as with inconsistent moments, it tries less and less often.
//
// A Core has the state, the fields and the weights:
//   ascend()            coordinate ascent to a local maximum; returns the number of changes
//   values()            the state
//   gain(v, value)      what a change would add to <w, phi(s)>
//   change(v, value)    makes it
//   score(), target()   <w, phi(s)> and <w, mu>
//   learn()             w += mu - phi(s)
//   visit(archive)      all of these, for checkpoints
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "drover/herd/engine.hpp"

namespace drover {

template <class Core>
class LocalEngine : public HerdEngine {
 public:
  LocalEngine(const Moments& moments, std::span<const double> start_weights, bool adaptive)
      : cardinalities_(moments.set.cardinalities),
        core_(moments, start_weights),
        adaptive_(adaptive),
        starts_(2, std::vector<Value>(cardinalities_.size(), 0)) {
    // The starts of a hard search: all zero, the most frequent states, and states that helped before.
    std::vector<double> highest(cardinalities_.size(), 0.5);
    for (std::size_t f = 0; f < moments.set.size(); ++f) {
      if (moments.set.features[f].order > 1) break;
      const Indicator single = moments.set.indicators[moments.set.features[f].indicators[0]];
      const double p =
          moments.set.coding == FeatureCoding::spins ? (1 + moments.values[f]) / 2 : moments.values[f];
      if (p < highest[single.variable]) continue;
      highest[single.variable] = cardinalities_[single.variable] == 2 ? 0.5 : p;
      starts_[1][single.variable] = single.value;
    }
  }

  void step() override {
    facts_.changes += core_.ascend();
    if (adaptive_ && falls_short()) search_harder();
    core_.learn();
  }
  std::span<const Value> state() const override { return core_.values(); }
  void counts(std::span<double> out) const override { core_.counts(out); }
  SearchFacts facts() const override { return facts_; }
  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    core_.visit(archive);
    archive(facts_.changes);
    archive(facts_.hard);
    archive(facts_.short_of);
    std::uint64_t count = starts_.size();
    archive(count);
    starts_.resize(static_cast<std::size_t>(count));
    for (std::vector<Value>& start : starts_) archive(start);
    archive(oldest_);
    archive(pause_);
    archive(next_pause_);
  }

  static constexpr std::size_t most_starts = 8;
  static constexpr std::uint64_t longest_pause = 1024;

  bool falls_short() const { return core_.score() < core_.target() - 1e-9 * (1 + std::abs(core_.target())); }

  void search_harder() {
    if (pause_ > 0) {
      --pause_;
      ++facts_.short_of;
      return;
    }
    ++facts_.hard;
    improve_by_two();
    std::vector<Value> best(core_.values().begin(), core_.values().end());
    double best_score = core_.score();
    for (std::size_t k = 0; k < starts_.size() && falls_short(); ++k) {
      move_to(starts_[k]);
      facts_.changes += core_.ascend();
      if (falls_short()) improve_by_two();
      if (core_.score() > best_score) {
        best_score = core_.score();
        best.assign(core_.values().begin(), core_.values().end());
      }
    }
    if (core_.score() < best_score) move_to(best);
    if (falls_short()) {
      ++facts_.short_of;
      next_pause_ = std::min(longest_pause, 2 * next_pause_ + 1);
      pause_ = next_pause_;
    } else {
      next_pause_ = 0;
      remember(best);
    }
  }

  /// Changes of two variables at once that improve, each followed by coordinate ascent; until <w, mu> is
  /// reached or none is left.
  void improve_by_two() {
    const double margin = 1e-9 * (1 + std::abs(core_.score()));
    bool improved = true;
    while (improved && falls_short()) {
      improved = false;
      for (std::size_t v = 0; v < cardinalities_.size() && falls_short(); ++v)
        for (std::uint32_t value = 0; value < cardinalities_[v] && falls_short(); ++value)
          improved |= core_.values()[v] != value && change_with_another(v, static_cast<Value>(value), margin);
    }
  }

  bool change_with_another(std::size_t v, Value value, double margin) {
    const Value old = core_.values()[v];
    const double before = core_.score();
    core_.change(v, value);
    std::size_t other = v;
    Value other_value = 0;
    double best = before + margin - core_.score();
    for (std::size_t u = 0; u < cardinalities_.size(); ++u) {
      if (u == v) continue;
      for (std::uint32_t k = 0; k < cardinalities_[u]; ++k) {
        if (k == core_.values()[u]) continue;
        const double gain = core_.gain(u, static_cast<Value>(k));
        if (gain <= best) continue;
        best = gain;
        other = u;
        other_value = static_cast<Value>(k);
      }
    }
    if (other == v) {
      core_.change(v, old);
      return false;
    }
    core_.change(other, other_value);
    facts_.changes += 2 + core_.ascend();
    return true;
  }

  void move_to(const std::vector<Value>& x) {
    for (std::size_t v = 0; v < x.size(); ++v)
      if (core_.values()[v] != x[v]) core_.change(v, x[v]);
  }

  void remember(const std::vector<Value>& x) {
    if (std::find(starts_.begin(), starts_.end(), x) != starts_.end()) return;
    if (starts_.size() < most_starts)
      starts_.push_back(x);
    else
      starts_[2 + oldest_++ % (most_starts - 2)] = x;
  }

  std::vector<std::uint32_t> cardinalities_;
  Core core_;
  bool adaptive_;
  SearchFacts facts_;
  std::vector<std::vector<Value>> starts_;
  std::size_t oldest_ = 0;
  std::uint64_t pause_ = 0;
  std::uint64_t next_pause_ = 0;
};

}  // namespace drover
