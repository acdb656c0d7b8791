// What the duality experiments share: sweeps until the potential scale reduction factor of ten chains stays
// below 1.01, as in figure 2 of the paper.
//
// The PSRF (Gelman and Rubin 1992) of a variable after T sweeps is sqrt(((m-1)/m W + B/m) / W) over the last
// m = T/2 sweeps, W the mean variance within a chain and B/m the variance of the chains' means. The paper
// does not say how the variables' figures become one; here they are averaged, because the largest of
// thousands is dominated by chance even for independent draws.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "drover/run/monitor.hpp"
#include "drover/sample/kernel.hpp"

namespace drover::experiments {

struct MixingTime {
  double sweeps = 0;  ///< after which the PSRF stays below the threshold, or the most that were tried
  bool reached = false;
};

inline constexpr std::uint32_t mixing_chains = 10;
inline constexpr double mixing_threshold = 1.01;

/// The mean over variables of the PSRF of windows, from counts of ones per (chain, variable) in m sweeps.
inline double mean_psrf(const std::vector<std::uint32_t>& ones, std::size_t variables, double m) {
  double total = 0;
  std::size_t counted = 0;
  for (std::size_t v = 0; v < variables; ++v) {
    double mean = 0, within = 0, between = 0;
    for (std::uint32_t c = 0; c < mixing_chains; ++c) mean += ones[c * variables + v] / m / mixing_chains;
    for (std::uint32_t c = 0; c < mixing_chains; ++c) {
      const double p = ones[c * variables + v] / m;
      within += p * (1 - p) * m / (m - 1) / mixing_chains;
      between += (p - mean) * (p - mean) / (mixing_chains - 1);
    }
    if (within == 0 && between == 0) continue;  // a variable that never moved, in any chain
    total += within == 0 ? 10 : std::min(10.0, std::sqrt(((m - 1) / m * within + between) / within));
    ++counted;
  }
  return counted == 0 ? 1 : total / static_cast<double>(counted);
}

/// For binary variables. Looks at T = 2^(k/8) from 16 on (the window of the first is T = 8 .. 16) and stops
/// when the PSRF has stayed below the threshold for a factor of four.
template <Kernel K>
MixingTime mixing_time(const K& kernel, std::uint64_t seed, std::uint64_t most, const Monitor& monitor) {
  const std::size_t n = kernel.size();
  std::vector<typename K::State> states;
  for (std::uint32_t c = 0; c < mixing_chains; c += kernel.lanes()) states.push_back(kernel.start(seed, c));
  std::vector<std::uint32_t> ones(mixing_chains * n, 0), window(ones.size());
  std::vector<std::vector<std::uint32_t>> history;
  std::vector<std::uint64_t> times;
  std::vector<Value> x(n);
  std::uint64_t sweep = 0;
  double below_since = -1;
  for (int k = 24;; ++k) {
    const auto until = static_cast<std::uint64_t>(std::lround(std::exp2(k / 8.0)));
    if (until > most || monitor.should_stop()) break;
    for (; sweep < until; ++sweep) {
      for (auto& state : states) kernel.sweep(state, sweep);
      for (std::uint32_t c = 0; c < mixing_chains; ++c) {
        kernel.read(states[c / kernel.lanes()], c % kernel.lanes(), x);
        for (std::size_t v = 0; v < n; ++v) ones[c * n + v] += x[v];
      }
    }
    history.push_back(ones);
    times.push_back(until);
    if (times.size() <= 8) continue;
    const std::size_t half = times.size() - 9;
    for (std::size_t i = 0; i < ones.size(); ++i) window[i] = ones[i] - history[half][i];
    if (times.size() > 9) history[half].clear();
    const double psrf = mean_psrf(window, n, static_cast<double>(until - times[half]));
    if (psrf >= mixing_threshold)
      below_since = -1;
    else if (below_since < 0)
      below_since = static_cast<double>(until);
    if (below_since > 0 && static_cast<double>(until) >= 4 * below_since) return {below_since, true};
  }
  return {static_cast<double>(most), false};
}

}  // namespace drover::experiments
