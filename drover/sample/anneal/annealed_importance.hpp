// Annealed importance sampling: log Z with an error bar, from independent anneals.
//
// Source: R. Neal, Annealed importance sampling, Statistics and Computing 11 (2001). Spacing of the path by
// thermodynamic length: A. Gelman, X.-L. Meng, Statistical Science 13 (1998).
//
//   x_0 uniform,   x_k by one sweep that leaves p~^beta_k unchanged,   0 = beta_0 < ... < beta_K = 1
//   log w = sum_k (beta_k - beta_(k-1)) log p~(x_(k-1)),    E[w] = Z / Z_0,   log Z_0 = sum_i log K_i
//
// log Z = log Z_0 + log mean w. Its standard error is the delta method's, sd(w) / (mean(w) sqrt(chains));
// the interval is the bootstrap's. mean(log w) + log Z_0 is at most log Z in expectation (Jensen), whatever
// the path: a lower bound with its own error. A pilot of other chains measures the spread of log p~ along the
// path; the steps are then placed so that each adds the same spread to log w.
//
// Assumptions: no hard zeros, else the uniform start is not the base of the path and Z_0 is unknown (misfit).
// When it fails: when few anneals carry all the weight (effective_samples near 1) the estimate is too low,
// and so is its error. More sweeps cure that, more chains hardly do.
#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <vector>

#include "drover/core/keeper.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/anneal/shared_parts.hpp"
#include "drover/sample/anneal/temperatures.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

struct ImportanceOptions {
  std::uint64_t seed = 1;
  std::uint64_t sweeps = 1000;                ///< steps of the path, one sweep each; at least 2
  std::uint32_t chains = 256;                 ///< independent weights, at least 2
  const RunControl* control = &no_control();  ///< its end drops the anneals that are not done
  PartKeeper* parts = nullptr;                ///< the anneals that it has are not done again
};

struct ImportanceResult {
  double log_z = 0;
  double mcse = 0;   ///< standard error of log_z
  double lower = 0;  ///< bootstrap interval of 95 %
  double upper = 0;
  double bound = 0;  ///< a lower bound of log Z in expectation ...
  double bound_mcse = 0;
  double effective_samples = 0;     ///< (sum w)^2 / sum w^2, at most the number of weights
  std::vector<double> log_weights;  ///< of the anneals that ended, at least 2
};

/// A pilot grows with the sweeps up to these; a longer one would know no more, and its memory is bounded.
inline constexpr std::uint64_t max_piloted_sweeps = 16'000;

/// Raises usage errors, and misfit for graphs with hard zeros.
void check(const ImportanceOptions& options, const Graph& graph);

/// The estimate that the log weights give; `log_base` is log Z_0.
ImportanceResult importance_estimate(std::vector<double> log_weights, double log_base, std::uint64_t seed);

/// A path on which every step adds the same spread to log w; `spreads[t]` is the standard deviation of log p~
/// at inverse_temperatures[t].
EqualCostPath importance_path(std::span<const double> inverse_temperatures, std::span<const double> spreads);

/// Counts the sweeps of all batches and passes the share that is done on.
class ImportanceProgress {
 public:
  ImportanceProgress(const RunControl& control, double all_sweeps, double updates_per_sweep)
      : control_(control), all_sweeps_(all_sweeps), updates_per_sweep_(updates_per_sweep) {}
  void add_sweep();

 private:
  const RunControl& control_;
  double all_sweeps_;
  double updates_per_sweep_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex reporting_;
};

/// Raises Error stopped.
[[noreturn]] void fail_stopped_importance(const RunControl& control);

/// The standard deviation of some numbers.
double spread(std::span<const double> values);

/// Puts independent uniform states into all lanes.
template <Kernel K>
void write_uniform(const K& kernel, const Graph& graph, std::uint64_t seed, std::uint32_t first_chain,
                   typename K::State& state) {
  std::vector<Value> x(graph.size());
  for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
    RandomSequence random(seed, Stream::start, first_chain + lane);
    for (std::size_t v = 0; v < x.size(); ++v)
      x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
    kernel.write(state, lane, x);
  }
}

/// Anneals one batch along path(0), ..., path(steps) and calls on_scores(step, scores of the lanes) before
/// each step. Returns whether it came to the end.
template <Kernel K, class Path, class OnScores>
bool anneal_along(const K& kernel, const Graph& graph, std::uint64_t steps, const Path& path,
                  std::uint64_t seed, std::uint32_t first_chain, const RunControl& control,
                  OnScores&& on_scores) {
  typename K::State state = kernel.start(seed, first_chain);
  write_uniform(kernel, graph, seed, first_chain, state);
  std::vector<double> scores(kernel.lanes());
  std::vector<float> inverse_temperatures(kernel.lanes());
  kernel.log_scores(state, scores);
  on_scores(0, scores);
  for (std::uint64_t step = 1; step < steps; ++step) {
    if (control.should_stop()) return false;
    std::fill(inverse_temperatures.begin(), inverse_temperatures.end(), static_cast<float>(path(step)));
    kernel.set_inverse_temperatures(state, inverse_temperatures);
    kernel.sweep(state, step);
    kernel.log_scores(state, scores);
    on_scores(step, scores);
  }
  return true;
}

/// The path, from a pilot of at least 32 chains with numbers from `first_chain` on.
template <Kernel K>
EqualCostPath pilot_path(const Graph& graph, const K& kernel, const ImportanceOptions& options,
                         std::uint32_t first_chain) {
  const std::size_t pilot_steps = 16 + std::min<std::uint64_t>(options.sweeps, max_piloted_sweeps) / 8;
  const std::vector<double> rising = rising_inverse_temperatures(graph, 0, pilot_steps + 1);
  const std::uint32_t batches = (31 + kernel.lanes()) / kernel.lanes();
  std::vector<std::vector<double>> scores_at(rising.size() - 1);
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    const bool complete = anneal_along(
        kernel, graph, pilot_steps, [&](std::uint64_t step) { return rising[step]; }, options.seed,
        first_chain + batch * kernel.lanes(), *options.control,
        [&](std::uint64_t step, const std::vector<double>& scores) {
          scores_at[step].insert(scores_at[step].end(), scores.begin(), scores.end());
        });
    if (!complete) fail_stopped_importance(*options.control);
  }
  std::vector<double> spreads;
  for (const std::vector<double>& scores : scores_at) spreads.push_back(spread(scores));
  spreads.push_back(spreads.back());
  return importance_path(rising, spreads);
}

/// The kernel samples from `graph`. Batches of lanes run as tasks of oneTBB and are dealt out to the
/// control's ranks; the result, which rank 0 has, depends on the seed and the counts alone. Raises Error
/// stopped when it ended with fewer than two anneals.
template <Kernel K>
ImportanceResult annealed_importance(const Graph& graph, const K& kernel, const ImportanceOptions& options) {
  check(options, graph);
  const std::uint32_t lanes = kernel.lanes();
  const std::uint32_t batches = (options.chains + lanes - 1) / lanes;
  const EqualCostPath curve = pilot_path(graph, kernel, options, batches * lanes);
  // Rounded to float, as the kernels take them.
  const auto path = [&](std::uint64_t step) {
    return static_cast<double>(static_cast<float>(curve.at(step, options.sweeps)));
  };
  const Ranks& ranks = options.control->ranks();
  // Rank 0 has no fewer than its share, and speaks for all.
  const std::uint32_t share = (batches + ranks.size() - 1) / ranks.size();
  ImportanceProgress progress(*options.control, static_cast<double>(options.sweeps) * share,
                              static_cast<double>(graph.size()) * lanes * batches / share);

  std::vector<std::vector<double>> batch_weights(batches);
  share_parts(
      ranks, options.parts, 0, batches,
      [&](std::size_t batch, auto& archive) { archive(batch_weights[batch]); },
      [&](std::size_t batch) {
        const std::uint32_t first = static_cast<std::uint32_t>(batch) * lanes;
        std::vector<double> log_weights(lanes, 0.0);
        const auto add_step = [&](std::uint64_t step, const std::vector<double>& scores) {
          const double rise = path(step + 1) - path(step);
          for (std::uint32_t lane = 0; lane < lanes; ++lane) log_weights[lane] += rise * scores[lane];
          progress.add_sweep();
        };
        const bool complete = anneal_along(kernel, graph, options.sweeps, path, options.seed, first,
                                           *options.control, add_step);
        log_weights.resize(std::min(lanes, options.chains - first));
        if (complete) batch_weights[batch] = std::move(log_weights);
        return complete;
      });
  if (!ranks.is_first()) return {};

  std::vector<double> log_weights;
  for (const std::vector<double>& weights : batch_weights)
    log_weights.insert(log_weights.end(), weights.begin(), weights.end());
  double log_base = 0;
  for (std::uint32_t states : graph.cardinalities) log_base += std::log(states);
  if (log_weights.size() < 2) fail_stopped_importance(*options.control);
  return importance_estimate(std::move(log_weights), log_base, options.seed);
}

}  // namespace drover
