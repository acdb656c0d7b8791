// Annealed Gibbs: a likely state by sampling while the temperature falls, again and again from the best of
// all chains.
//
// Sources: S. Kirkpatrick, C. Gelatt, M. Vecchi, Optimization by simulated annealing, Science 220 (1983);
// S. and D. Geman, Stochastic relaxation, IEEE PAMI 6 (1984); A. Moebius, A. Neklioudov, A. Diaz-Sanchez,
// K. H. Hoffmann, A. Fachat, M. Schreiber, Optimization by thermal cycling, PRL 79 (1997); partition
// crossover: drover/infer/recombine.hpp.
//
//   sweep s draws from  p(x)^beta_s,   beta_0 < beta_1 < ... (hot to cold)
//
// The chains of one State of the kernel are a batch. A batch spends half of its budget on one anneal of
// all its chains, from hot to cold. Then the chains are recombined, which makes of them a state no worse than
// any, on sparse graphs far better than any: each part of the graph comes from the chain that did best there.
// The rest of the budget are rounds of about 100 sweeps: all chains begin in the best state, are heated, a
// little less in every round, cooled and recombined with it. Nothing is ever lost by that. Coordinate
// ascent ends a batch. Batches are independent, run as tasks of oneTBB, and are recombined in their
// order, so that the result depends on the seed and the counts alone.
//
// The budget is a number of sweeps, or a share of the control's time; either way the whole schedule fits into
// it, and there is a state to answer with from the first sweep on.
//
// When it fails: no number of sweeps proves that the best state was found; many batches ending at the same
// best score are a good sign. On dense graphs chains differ in one component, recombination is choice, and
// several batches do more than long ones. With hard zeros a single-site kernel may be unable to leave the
// component of the support in which it started.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/ranks.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/recombine.hpp"
#include "drover/sample/anneal/shared_parts.hpp"
#include "drover/sample/anneal/temperatures.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

struct AnnealOptions {
  std::uint64_t seed = 1;
  std::uint64_t sweeps = 1000;  ///< of one read, all its rounds together; at least 1
  std::uint32_t reads = 64;     ///< chains in all, at least 1
  Cooling cooling = Cooling::geometric;
  TemperatureRange range{};                   ///< 0 means temperature_range() of the graph
  std::uint64_t round_sweeps = 100;           ///< about so many in a round; 0: one anneal and no rounds
  const RunControl* control = &no_control();  ///< its end is that of all reads, at their next sweep
  PartKeeper* parts = nullptr;                ///< the batches that it has are not done again (not by time)
};

struct AnnealResult {
  std::vector<Value> assignment;  ///< of the free variables: the best state met
  double log_score = log_zero;
  std::vector<double> batch_scores;  ///< of the best state of every batch, by number of batch
  std::uint64_t sweeps = 0;          ///< sweeps of single chains, over all reads
  std::uint32_t reads = 0;           ///< that were begun
  bool stopped = false;              ///< before all reads had all their sweeps
};

/// Called after each batch of reads with the number of reads that ended and the best score so far; never two
/// at once.
using AnnealObserver = std::function<void(std::uint32_t reads, double log_score)>;

/// Raises usage errors: no reads, no sweeps, a range out of order. Fills in the automatic range.
AnnealOptions checked(const AnnealOptions& options, const Graph& graph);

/// The budget of a batch, and how much of it is spent.
class AnnealBudget {
 public:
  /// So many sweeps.
  explicit AnnealBudget(double sweeps) : sweeps_(sweeps) {}
  /// From now until `end`, a fraction of the control's time; about `sweeps` should fit, 0: not known.
  AnnealBudget(const RunControl& control, double end, double sweeps)
      : sweeps_(sweeps), control_(&control), begin_(control.time_fraction()), end_(end) {}

  /// The share before the sweep of this number, 0 at first and 1 at the end.
  double spent(std::uint64_t sweep) const {
    if (control_ == nullptr) return static_cast<double>(sweep) / sweeps_;
    return end_ <= begin_ ? 1 : (control_->time_fraction() - begin_) / (end_ - begin_);
  }
  /// The same at the end of the sweep, as far as that is known.
  double spent_after(std::uint64_t sweep) const { return spent(control_ == nullptr ? sweep + 1 : sweep); }
  double sweeps() const { return sweeps_; }
  bool is_time() const { return control_ != nullptr; }

 private:
  double sweeps_ = 0;
  const RunControl* control_ = nullptr;
  double begin_ = 0, end_ = 0;
};

/// What a batch found.
struct AnnealedBatch {
  std::vector<Value> state;
  double log_score = log_zero;
  std::uint64_t sweeps = 0;

  template <class Archive>
  void visit(Archive& archive) {
    archive(state);
    archive(log_score);
    archive(sweeps);
  }
};

/// The best of two states and all between them, polished; ties to the states of `best`.
class AnnealMerger {
 public:
  explicit AnnealMerger(const Graph& graph) : modes_(graph), recombination_(graph) {}

  void recombine(std::vector<Value>& best, const std::vector<Value>& other, Recombination::Room& room) const {
    if (best.empty())
      best = other;
    else
      recombination_.improve(best, other, room);
  }
  double polish(std::vector<Value>& state) const { return modes_.climb(state).log_score; }

 private:
  IteratedModes modes_;
  Recombination recombination_;
};

/// Collects the batches of an annealing run, in their order.
class AnnealCollector {
 public:
  AnnealCollector(const AnnealMerger& merger, AnnealObserver observer)
      : merger_(merger), observer_(std::move(observer)) {}

  void take(const AnnealedBatch& batch, std::uint32_t reads);
  /// Takes what the collectors of other ranks have, on rank 0.
  void gather(const Ranks& ranks);
  AnnealResult result() { return std::move(best_); }

 private:
  const AnnealMerger& merger_;
  AnnealObserver observer_;
  AnnealResult best_;
  Recombination::Room room_;
};

/// One batch of reads: chains first .. of the seed.
template <Kernel K>
class BatchAnneal {
 public:
  BatchAnneal(const K& kernel, const AnnealMerger& merger, const AnnealOptions& options)
      : kernel_(kernel), merger_(merger), options_(options), met_(kernel.size()) {}

  AnnealedBatch run(std::uint32_t first, std::uint32_t reads, const AnnealBudget& budget) {
    typename K::State state = kernel_.start(options_.seed, first);
    const TemperatureRange range = options_.range;
    batch_ = {};
    cool(state, budget, range, 0, first_share(budget));
    const double cooled_at = budget.spent(batch_.sweeps);
    collect(state, reads, budget);
    const double begin = budget.spent(batch_.sweeps), collecting = begin - cooled_at;
    // As many rounds as fit at the speed so far.
    const double per_sweep = cooled_at / static_cast<double>(std::max<std::uint64_t>(1, batch_.sweeps));
    const double per_round = per_sweep * static_cast<double>(options_.round_sweeps) + collecting;
    const double rounds = options_.round_sweeps == 0 || 1 - begin < per_sweep + collecting
                              ? 0
                              : std::max(1.0, std::floor((1 - begin) / per_round));
    for (double round = 0; round < rounds && !options_.control->should_stop(); ++round) {
      const double from = budget.spent(batch_.sweeps);
      const double to = begin + (1 - begin) * (round + 1) / rounds - collecting;
      if (from >= to) continue;
      for (std::uint32_t lane = 0; lane < kernel_.lanes(); ++lane) kernel_.write(state, lane, batch_.state);
      const double heated = range.cold * reheat(round / rounds);
      cool(state, budget, {std::clamp(heated, range.hot, range.cold), range.cold}, from, to);
      collect(state, reads, budget);
    }
    batch_.log_score = merger_.polish(batch_.state);
    return std::move(batch_);
  }

  /// Sweeps that fit into what is left of the control's time, from a few that lead nowhere: two per cent of
  /// it, or one sweep.
  double sweeps_that_fit() {
    const RunControl& control = *options_.control;
    typename K::State state = kernel_.start(options_.seed, 0);
    inverse_temperatures_.assign(kernel_.lanes(), static_cast<float>(options_.range.hot));
    kernel_.set_inverse_temperatures(state, inverse_temperatures_);
    const double begin = control.time_fraction();
    std::uint64_t sweeps = 0;
    double now = begin;
    do {
      kernel_.sweep(state, sweeps++);
      now = control.time_fraction();
    } while (now < begin + 0.02 && !control.should_stop());
    return static_cast<double>(sweeps) * (1 - now) / std::max(now - begin, 1e-9);
  }

 private:
  // A half, but at least 100 sweeps, for a good start; of time no more than leaves some for the collection.
  double first_share(const AnnealBudget& budget) const {
    const double all = budget.is_time() ? 0.7 : 1;
    if (options_.round_sweeps == 0) return all;
    const double few = budget.sweeps() > 0 ? 100 / budget.sweeps() : 0;
    return few >= 0.7 ? all : std::max(few, 0.5);
  }

  // The hot end of a round, as a share of the coldest inverse temperature: best at 0.1 to 0.2 on grids and
  // on random graphs, hotter on the former.
  static double reheat(double progress) { return 0.12 * std::pow(0.25 / 0.12, progress); }

  // Sweeps from hot to cold while the share of the budget that is spent goes from `from` to `to`.
  void cool(typename K::State& state, const AnnealBudget& budget, TemperatureRange range, double from,
            double to) {
    for (; budget.spent(batch_.sweeps) < to && !options_.control->should_stop(); ++batch_.sweeps) {
      const double progress = (budget.spent_after(batch_.sweeps) - from) / (to - from);
      const double inverse = cooled(options_.cooling, range, std::clamp(progress, 0.0, 1.0));
      inverse_temperatures_.assign(kernel_.lanes(), static_cast<float>(inverse));
      kernel_.set_inverse_temperatures(state, inverse_temperatures_);
      kernel_.sweep(state, batch_.sweeps);
    }
  }

  // One chain at least, the rest while there is time.
  void collect(const typename K::State& state, std::uint32_t reads, const AnnealBudget& budget) {
    for (std::uint32_t lane = 0; lane < reads; ++lane) {
      const bool late = budget.is_time() && budget.spent(batch_.sweeps) > 1.2;
      if (lane > 0 && (late || options_.control->should_stop())) break;
      kernel_.read(state, lane, met_);
      merger_.recombine(batch_.state, met_, room_);
    }
  }

  const K& kernel_;
  const AnnealMerger& merger_;
  const AnnealOptions& options_;
  AnnealedBatch batch_;
  std::vector<float> inverse_temperatures_;
  std::vector<Value> met_;
  Recombination::Room room_;
};

/// The best state that `options.reads` anneals of the kernel find. The kernel samples from `graph`. Batches
/// are dealt out to the control's ranks; rank 0 has the result.
template <Kernel K>
AnnealResult annealed_gibbs(const Graph& graph, const K& kernel, const AnnealOptions& asked,
                            const AnnealObserver& observer = {}) {
  const AnnealOptions options = checked(asked, graph);
  const AnnealMerger merger(graph);
  AnnealCollector collector(merger, observer);
  const std::uint32_t lanes = kernel.lanes();
  const std::uint32_t batches = (options.reads + lanes - 1) / lanes;
  const auto reads_of = [&](std::uint32_t batch) { return std::min(lanes, options.reads - batch * lanes); };
  const Ranks& ranks = options.control->ranks();
  constexpr std::uint32_t at_once = 64;  // states that wait for their turn
  bool stopped = false;
  for (std::uint32_t begin = 0; begin < batches && !stopped; begin += at_once) {
    std::vector<AnnealedBatch> done(std::min(at_once, batches - begin));
    share_parts(
        ranks, options.parts, begin, done.size(),
        [&](std::size_t k, auto& archive) { done[k].visit(archive); },
        [&](std::size_t k) {
          // The first batch always leaves a state behind, however soon the run is stopped.
          const auto batch = static_cast<std::uint32_t>(begin + k);
          if (batch > 0 && options.control->should_stop()) return false;
          done[k] =
              BatchAnneal<K>(kernel, merger, options)
                  .run(batch * lanes, reads_of(batch), AnnealBudget(static_cast<double>(options.sweeps)));
          return !options.control->should_stop();
        });
    for (std::size_t k = 0; ranks.is_first() && k < done.size(); ++k) {
      stopped = stopped || done[k].sweeps < options.sweeps;
      if (!done[k].state.empty()) collector.take(done[k], reads_of(static_cast<std::uint32_t>(begin + k)));
    }
    stopped = ranks.vote(stopped ? 1 : 0) != 0;
  }
  AnnealResult result = collector.result();
  result.stopped = stopped;
  return result;
}

/// The same for a time limit: `workers` tasks run one batch after the other until the control's time is up,
/// each with as many batches of about `options.sweeps` sweeps as fit, or one that is shorter. options.reads
/// is not used. Requires options.control->has_time_limit().
template <Kernel K>
AnnealResult annealed_gibbs_by_time(const Graph& graph, const K& kernel, const AnnealOptions& asked,
                                    std::uint32_t workers, const AnnealObserver& observer = {}) {
  const AnnealOptions options = checked(asked, graph);
  const RunControl& control = *options.control;
  const Ranks& ranks = control.ranks();
  const AnnealMerger merger(graph);
  AnnealCollector collector(merger, observer);
  std::mutex mutex;
  std::uint32_t batches = 0;
  parallel_for(std::uint32_t{0}, workers, [&](std::uint32_t worker) {
    BatchAnneal<K> anneal(kernel, merger, options);
    double fitting = anneal.sweeps_that_fit();
    for (bool first = worker == 0; first || !control.should_stop(); first = false) {
      std::unique_lock lock(mutex);
      const std::uint32_t number =
          ranks.size() * batches++ + ranks.rank();  // no two ranks have one in common
      lock.unlock();
      const double begin = control.time_fraction();
      const double coming = std::max(1.0, std::round(fitting / static_cast<double>(options.sweeps)));
      const AnnealBudget budget(control, begin + (1 - begin) / coming, fitting / coming);
      const AnnealedBatch batch = anneal.run(number * kernel.lanes(), kernel.lanes(), budget);
      const double now = control.time_fraction();
      fitting = static_cast<double>(batch.sweeps) * (1 - now) / std::max(now - begin, 1e-9);
      lock.lock();
      collector.take(batch, kernel.lanes());
    }
  });
  if (ranks.size() > 1) collector.gather(ranks);
  AnnealResult result = collector.result();
  result.stopped = control.stop_requested();
  return result;
}

}  // namespace drover
