// The probability of counts when the probabilities behind them are integrated out, and the pseudo-counts.
//
// For counts n_1 .. n_V of independent draws from p, p ~ Dirichlet(a, ..., a), N = sum n_i:
//   log P = log G(V a) - log G(N + V a) + sum_i (log G(n_i + a) - log G(a))
// (the probability of one order of the draws: no multinomial coefficient). A pseudo-count has the prior
// Exponential(1); it is slice sampled on the logarithmic scale given the counts, with p integrated out.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/random.hpp"

namespace drover {

/// std::lgamma without its global sign.
inline double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// Many counts, as how often each value occurs: all that their probability depends on.
class CountHistogram {
 public:
  void clear();
  void add(std::uint32_t count) {
    if (count < small_.size())
      ++small_[count];
    else
      large_.push_back(count);
  }
  /// sum_i (log G(n_i + a) - log G(a)).
  double log_rising(double a) const;

 private:
  std::vector<std::uint32_t> small_ = std::vector<std::uint32_t>(1024, 0);
  std::vector<std::uint32_t> large_;
};

/// A group of counts that share p: their number (V), and their sum (N).
struct CountGroup {
  double size;
  double total;
};

/// log P of all groups together; the histogram holds the counts of every group.
double log_evidence(const CountHistogram& counts, std::span<const CountGroup> groups, double pseudo_count);

/// A new pseudo-count given the counts; `place` tells apart several in one sweep.
double draw_pseudo_count(const CountHistogram& counts, std::span<const CountGroup> groups, double current,
                         const Random& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t place);

}  // namespace drover
