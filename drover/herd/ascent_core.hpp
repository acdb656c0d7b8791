// What the cores of coordinate ascent (drover/herd/local_search.hpp) have in common: weights and counts of
// the features, the state and its scores, and the ascent itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/herd/engine.hpp"

namespace drover {

class AscentCore {
 public:
  std::span<const Value> values() const { return values_; }
  double score() const { return score_; }
  double target() const { return target_; }
  void counts(std::span<double> out) const { std::ranges::copy(count_, out.begin()); }

 protected:
  static constexpr std::uint32_t none = FeatureSet::no_indicator;
  static constexpr std::uint64_t refresh_interval = 1024;  ///< sums start anew, without their rounding

  AscentCore(const Moments& moments, std::span<const double> start_weights)
      : set_(moments.set),
        mu_(moments.values),
        start_(start_weights.begin(), start_weights.end()),
        count_(set_.size(), 0.0),
        values_(set_.variables(), 0) {
    start_.resize(set_.size(), 0.0);
    for (double mu : mu_) mu_square_ += mu * mu;
  }

  double weight(std::uint32_t f) const {
    return start_[f] + (static_cast<double>(samples_) * mu_[f] - count_[f]);
  }

  /// Changes single variables, in turn, until none wants to: wanted(v) is the value of v that scores best,
  /// change(v, value) makes it so. Returns the number of changes.
  template <class Wanted, class Change>
  std::uint64_t ascend_by(Wanted wanted, Change change) {
    std::uint64_t changes = 0;
    std::size_t quiet = 0;  // variables in a row that had nothing to change
    const std::size_t n = values_.size();
    // Rounding could make two equal states follow each other for ever; a bound on the passes ends that.
    constexpr std::size_t most_passes = 1000;
    for (std::size_t v = 0, seen = 0; quiet < n && seen < most_passes * n;
         v = v + 1 == n ? 0 : v + 1, ++seen) {
      const Value best = wanted(v);
      if (best == values_[v]) {
        ++quiet;
        continue;
      }
      change(v, best);
      ++changes;
      quiet = 1;
    }
    return changes;
  }

  const FeatureSet& set_;
  std::span<const double> mu_;
  std::vector<double> start_;
  std::vector<double> count_;  ///< sums of the features' values
  std::vector<Value> values_;
  double mu_square_ = 0;
  double score_ = 0;     ///< <w, phi(s)>
  double mu_score_ = 0;  ///< <mu, phi(s)>
  double target_ = 0;    ///< <w, mu>
  std::uint64_t samples_ = 0;
};

}  // namespace drover
