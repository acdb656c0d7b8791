// The integrated autocorrelation time of several chains, by Geyer's initial monotone sequence.
//
// Geyer: Practical Markov chain Monte Carlo; Statistical Science 7, 1992. Several chains: Gelman et al.,
// Bayesian Data Analysis, 3rd edition, 11.5; Vehtari et al. 2021, section 3.2. With a_t the mean over chains
// of the autocovariance at lag t (divisor n), W = a_0 n / (n - 1) and V the variance of the chain means:
//   rho_t = 1 - (W - a_t) / (a_0 + V)
//   tau   = -1 + 2 sum_{t < T} rho_t + max(rho_T, 0)
// where pairs rho_2k + rho_2k+1 are summed while they are positive, each at most the one before (for a
// reversible chain the true pair sums fall monotonically), and T is the even lag of the first pair left out.
// The last term lowers the variance for antithetic chains. tau is at least 1 / log10(chains n), the customary
// cap on the effective size.
//
// Agrees with Stan and posterior, except for fewer than 6 draws a chain (12 before splitting), where only the
// first pair can be judged and tau = 1 + 2 rho_1. Too low when a chain is shorter than a few of its own
// autocorrelation times and the chains happen to agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace drover {

/// `autocovariance(t)` is a_t and is asked for t = 0, 1, 2, ... in this order, and no further than needed.
template <typename MeanAutocovariance>
double initial_sequence_time(std::size_t chains, std::size_t draws, double variance_of_means,
                             MeanAutocovariance&& autocovariance) {
  const double length = static_cast<double>(draws);
  const double at_zero = autocovariance(std::size_t{0});
  const double within = at_zero * length / (length - 1);
  const double total = at_zero + variance_of_means;
  const auto rho = [&](std::size_t t) { return 1 - (within - autocovariance(t)) / total; };

  double even = 1, odd = rho(1), previous = even + odd, sum = 0;
  std::size_t t = 0;
  while (t + 5 < draws && even + odd > 0) {
    previous = std::min(previous, even + odd);
    sum += previous;
    t += 2;
    even = rho(t);
    odd = rho(t + 1);
  }
  double time = -1 + 2 * sum + (even + odd >= 0 ? even : std::max(even, 0.0));
  if (draws < 6) time = 1 + 2 * odd;
  return std::max(time, 1 / std::log10(static_cast<double>(chains) * length));
}

}  // namespace drover
