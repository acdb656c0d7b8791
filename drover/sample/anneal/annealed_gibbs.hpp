// Annealed Gibbs: a likely state by sampling while the temperature falls.
//
// Source: S. Kirkpatrick, C. Gelatt, M. Vecchi, Optimization by simulated annealing, Science 220 (1983);
// S. and D. Geman, Stochastic relaxation, IEEE PAMI 6 (1984).
//
//   sweep s draws from  p(x)^beta_s,   beta_0 < beta_1 < ... (hot to cold),   then coordinate ascent
//
// One anneal from hot to cold in one lane is a read; batches of lanes run as tasks of oneTBB. Read r is
// chain r of the seed, so the result depends on the seed and the counts alone: ties between reads go to the
// lowest. Every read ends with iterated conditional modes; besides, the states met in the cold part are
// scored now and then, and the best of each batch is polished as well.
//
// When it fails: no number of sweeps proves that the best state was found; many reads ending at the same best
// score are a good sign, one read alone at the top is not. With hard zeros a single-site kernel may be unable
// to leave the component of the support in which it started.
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/sample/anneal/temperatures.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

struct AnnealOptions {
  std::uint64_t seed = 1;
  std::uint64_t sweeps = 1000;  ///< of one read, at least 1
  std::uint32_t reads = 64;     ///< anneals in all, at least 1
  Cooling cooling = Cooling::geometric;
  TemperatureRange range{};        ///< 0 means temperature_range() of the graph
  double cold_share = 0.25;        ///< the last share of the sweeps, in which states are scored ...
  std::uint64_t score_every = 32;  ///< ... every so many sweeps; 0: never
  const RunControl* control = &no_control();  ///< its end is that of all reads, at their next sweep
};

struct AnnealResult {
  std::vector<Value> assignment;  ///< of the free variables: the best state met
  double log_score = log_zero;
  std::vector<double> read_scores;  ///< of the polished end of every read that ended, by number of read
  std::uint64_t sweeps = 0;         ///< sweeps of single chains, over all reads
  bool stopped = false;             ///< before all reads had all their sweeps
};

/// Called after each batch of reads with the number of reads that ended and the best score so far; never two
/// at once.
using AnnealObserver = std::function<void(std::uint32_t reads, double log_score)>;

/// Raises usage errors: no reads, no sweeps, a range out of order. Fills in the automatic range.
AnnealOptions checked(const AnnealOptions& options, const Graph& graph);

/// Collects what the batches of an annealing run find; the order of arrival does not matter.
class AnnealCollector {
 public:
  AnnealCollector(const AnnealOptions& options, AnnealObserver observer);

  /// One state, already polished, met in `read`.
  void offer(std::uint32_t read, double log_score, std::span<const Value> assignment);
  void end_read(std::uint32_t read, double log_score, std::uint64_t sweeps);
  void end_batch();
  AnnealResult result();

 private:
  std::mutex mutex_;
  AnnealObserver observer_;
  AnnealResult best_;
  std::uint32_t best_read_ = 0;
  double planned_sweeps_;
  std::uint32_t ended_ = 0;
  std::vector<double> scores_;
};

/// One batch: the reads first .. first + kernel.lanes() - 1, as far as there are so many.
template <Kernel K>
void anneal_batch(const K& kernel, const IteratedModes& modes, const AnnealOptions& options,
                  std::uint32_t first, AnnealCollector& collector) {
  const std::uint32_t lanes = kernel.lanes();
  const std::uint32_t reads = std::min(lanes, options.reads - first);
  typename K::State state = kernel.start(options.seed, first);
  std::vector<float> inverse_temperatures(lanes);
  std::vector<double> scores(lanes);
  std::vector<Value> met(kernel.size());
  double met_score = log_zero;
  std::uint32_t met_lane = 0;
  const auto cold_from =
      static_cast<std::uint64_t>((1 - options.cold_share) * static_cast<double>(options.sweeps));

  std::uint64_t sweep = 0;
  for (; sweep < options.sweeps; ++sweep) {
    if (options.control->should_stop()) break;
    const double inverse_temperature = cooled(options.cooling, options.range, sweep, options.sweeps);
    std::fill(inverse_temperatures.begin(), inverse_temperatures.end(),
              static_cast<float>(inverse_temperature));
    kernel.set_inverse_temperatures(state, inverse_temperatures);
    kernel.sweep(state, sweep);
    if (options.score_every == 0 || sweep < cold_from || sweep % options.score_every != 0) continue;
    kernel.log_scores(state, scores);
    const auto top = std::max_element(scores.begin(), scores.begin() + reads);
    if (*top <= met_score) continue;
    met_score = *top;
    met_lane = static_cast<std::uint32_t>(top - scores.begin());
    kernel.read(state, met_lane, met);
  }

  if (met_score > log_zero) {
    const Climb climb = modes.climb(met);
    collector.offer(first + met_lane, climb.log_score, met);
  }
  for (std::uint32_t lane = 0; lane < reads; ++lane) {
    kernel.read(state, lane, met);
    const Climb climb = modes.climb(met);
    collector.offer(first + lane, climb.log_score, met);
    collector.end_read(first + lane, climb.log_score, sweep);
  }
  collector.end_batch();
}

/// The best state that `options.reads` anneals of the kernel find. The kernel samples from `graph`.
template <Kernel K>
AnnealResult annealed_gibbs(const Graph& graph, const K& kernel, const AnnealOptions& asked,
                            const AnnealObserver& observer = {}) {
  const AnnealOptions options = checked(asked, graph);
  const IteratedModes modes(graph);
  AnnealCollector collector(options, observer);
  const std::uint32_t lanes = kernel.lanes();
  const std::uint32_t batches = (options.reads + lanes - 1) / lanes;
  parallel_for(std::uint32_t{0}, batches, [&](std::uint32_t batch) {
    // The first batch always leaves a state behind, however soon the run is stopped.
    if (batch > 0 && options.control->should_stop()) return;
    anneal_batch(kernel, modes, options, batch * lanes, collector);
  });
  return collector.result();
}

}  // namespace drover
