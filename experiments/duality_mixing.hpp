// What the duality experiments share: sweeps until the potential scale reduction factor of ten chains stays
// below 1.01, as in figure 2 of the paper.
//
// The PSRF (Gelman and Rubin 1992) of a variable after T sweeps is sqrt(((m-1)/m W + B/m) / W) over the last
// m = T/2 sweeps, W the mean variance within a chain and B/m the variance of the chains' means. The paper
// does not say how the variables' figures become one. Two readings are measured: the largest, as is usual
// (every variable's PSRF must be low), and the mean, which chance touches less. With autocorrelation time
// tau, PSRF - 1 is about tau (F - 1) / (2m) with F a chi-square of 9 over 9: the largest of thousands asks
// for m in proportion to tau, the mean for m in proportion to tau - 1.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/kernel.hpp"

namespace drover::experiments {

struct MixingTime {
  double sweeps = 0;  ///< after which the PSRF stays below the threshold, or the most that were tried
  bool reached = false;
};

/// By either reading.
struct MixingTimes {
  MixingTime largest, mean;
};

struct Psrf {
  double largest, mean;
};

inline constexpr std::uint32_t mixing_chains = 10;
inline constexpr double mixing_threshold = 1.01;

/// Over all variables, from counts of ones per (chain, variable) in m sweeps.
inline Psrf psrf(const std::vector<std::uint32_t>& ones, std::size_t variables, double m) {
  double total = 0, largest = 1;
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
    const double one =
        within == 0 ? 10 : std::min(10.0, std::sqrt(((m - 1) / m * within + between) / within));
    total += one;
    largest = std::max(largest, one);
    ++counted;
  }
  return {largest, counted == 0 ? 1 : total / static_cast<double>(counted)};
}

/// Follows a PSRF from look to look; it must stay below the threshold for a factor of four.
class Settling {
 public:
  /// Whether it has settled.
  bool look(double psrf, std::uint64_t sweeps) {
    if (time_.reached) return true;
    if (psrf >= mixing_threshold)
      below_since_ = -1;
    else if (below_since_ < 0)
      below_since_ = static_cast<double>(sweeps);
    if (below_since_ > 0 && static_cast<double>(sweeps) >= 4 * below_since_) time_ = {below_since_, true};
    return time_.reached;
  }
  MixingTime time(std::uint64_t most) const {
    return time_.reached ? time_ : MixingTime{static_cast<double>(most), false};
  }

 private:
  double below_since_ = -1;
  MixingTime time_;
};

enum class Reading { both, mean };

/// For binary variables. Looks at T = 2^(k/8) from 16 on (the window of the first is T = 8 .. 16), until the
/// wanted readings have settled.
template <Kernel K>
MixingTimes mixing_times(const K& kernel, std::uint64_t seed, std::uint64_t most, const RunControl& control,
                         Reading wanted = Reading::both) {
  const std::size_t n = kernel.size();
  std::vector<typename K::State> states;
  for (std::uint32_t c = 0; c < mixing_chains; c += kernel.lanes()) states.push_back(kernel.start(seed, c));
  std::vector<std::uint32_t> ones(mixing_chains * n, 0), window(ones.size());
  std::vector<std::vector<std::uint32_t>> history;
  std::vector<std::uint64_t> times;
  std::vector<Value> x(n);
  std::uint64_t sweep = 0;
  Settling largest, mean;
  for (int k = 24;; ++k) {
    const auto until = static_cast<std::uint64_t>(std::lround(std::exp2(k / 8.0)));
    if (until > most || control.should_stop()) break;
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
    const Psrf now = psrf(window, n, static_cast<double>(until - times[half]));
    const bool settled = largest.look(now.largest, until) || wanted == Reading::mean;
    if (mean.look(now.mean, until) && settled) break;
  }
  return {largest.time(most), mean.time(most)};
}

/// measure(repetition, sampler) of four samplers, by all threads.
template <class Measure>
std::vector<std::array<MixingTimes, 4>> mixing_times_of(std::uint32_t repetitions, const Measure& measure) {
  std::vector<std::array<MixingTimes, 4>> times(repetitions);
  parallel_for(0U, 4 * repetitions,
               [&](std::uint32_t task) { times[task / 4][task % 4] = measure(task / 4, task % 4); });
  return times;
}

inline constexpr const char* psrf_note =
    "the PSRF is that over the last half of the sweeps; sweeps until every variable's stays below 1.01, "
    "beside "
    "them until the mean over variables does (the paper does not say which)";

/// "by the mean: 12, not always reached"
inline std::string mixing_row_note(double by_mean, std::uint32_t reached, std::uint32_t repetitions) {
  return fmt::format(
      "by the mean {:.4g}{}", by_mean,
      reached == repetitions ? "" : fmt::format("; every variable's in {} of {} runs", reached, repetitions));
}

}  // namespace drover::experiments
