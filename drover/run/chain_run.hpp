// Runs the chains of any Kernel: burn-in, kept draws, estimates, traces, stop rules, checkpoints. Which kernel it
// is, chain_states.hpp hides.
//
// Chains are grouped into batches of kernel.lanes(); batches run in parallel and never depend on one another,
// so the result is a function of the options alone. Every kept sweep adds the conditional distribution each
// variable was drawn from (Rao-Blackwell) to its batch's sums; log scores are recorded at a coarser rhythm
// that adapts to the length.
//
// Several ranks (drover/core/ranks.hpp) share a run in one of two ways. Batches are dealt out, in order, and
// the ranks talk about stops, diagnoses and draws only; or the kernel itself lies on all ranks
// (SpreadKernel), and each has the sums of its own variables. Either way gather() makes of the parts, on rank
// 0, the run that one process would have had, bit for bit; a checkpoint is of that run, so any number of
// ranks can go on from it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/ranks.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/chain_states.hpp"
#include "drover/run/segment_diagnostics.hpp"
#include "drover/run/segment_store.hpp"

namespace drover {

struct ChainOptions {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t chains = 64;
  std::uint64_t burn_in = 1000;  ///< unlimited: a third of the time limit, but see longest_burn_in
  /// Of a burn-in by the time limit: it ends after so many sweeps, and from then on the first third of the run is
  /// burn-in whenever it is looked at, so that a run which meets its targets can end long before the limit. They
  /// count from three times as many sweeps on.
  std::uint64_t longest_burn_in = unlimited;
  std::uint64_t sweeps = 2000;  ///< after burn-in; unlimited: until the control stops the run
  std::uint64_t thin = 1;       ///< a draw is kept every `thin` sweeps
  std::uint64_t seed = 1;
  double target_rhat = 0;  ///< stop when reached with enough draws (result.hpp); 0: no such rule
  double target_mcse = 0;
  std::size_t estimator_memory = std::size_t{1} << 26;  ///< more takes longer to touch than it tells
  std::uint64_t score_every = 0;  ///< sweeps between records of the log score; 0: by the burn-in
  std::uint64_t tuning = 0;       ///< sweeps that a kernel may spend on tuning itself; 0: as usual
  std::size_t block_entries = 0;  ///< the largest table of blocked Gibbs; 0: as usual
  /// What the states stand for; then, where the kernel can (sample/value_sums.hpp), the estimates are of the
  /// mean of it, one entry per variable.
  std::vector<float> state_values{};
};

/// Log scores of every chain at the recorded sweeps; when it is full every second record goes.
struct ScoreTrace {
  std::uint64_t every = 1;            ///< sweeps between records
  std::vector<std::uint64_t> sweeps;  ///< number of sweeps done at each record
  std::vector<double> scores;         ///< record-major, chain-minor
  std::size_t capacity = 1024;        ///< records; fewer when there are very many chains

  template <class Archive>
  void visit(Archive& archive) {
    archive(every);
    archive(sweeps);
    archive(scores);
  }
  void halve(std::uint32_t chains);
};

struct ConvergencePoint {
  std::uint64_t sweep;
  double rhat_max;
  double mcse_max;
};

/// Called for every kept draw, chains in order within a draw.
using DrawCallback = std::function<void(std::uint32_t chain, std::span<const Value> x, double log_score)>;

class ChainRun {
 public:
  /// Starts the chains, which the control may end: Error of kind stopped or interrupted. The run is for the
  /// control's ranks; a kernel that lies on several is run with these.
  ChainRun(std::unique_ptr<ChainStates> states, const ChainOptions& options,
           const RunControl& control = no_control());
  template <Kernel K>
  ChainRun(const K& kernel, const ChainOptions& options, const RunControl& control = no_control())
      : ChainRun(std::make_unique<KernelStates<K>>(kernel), options, control) {}
  ChainRun(const ChainRun& other);
  ChainRun(ChainRun&&) = default;
  ChainRun& operator=(const ChainRun&) = delete;
  ChainRun& operator=(ChainRun&&) = delete;
  ~ChainRun() = default;

  /// Every chain begins in this state instead of the kernel's own; to be called before the first run().
  void start_at(std::span<const Value> x);
  /// One chain, of this rank, begins there.
  void start_at(std::uint32_t chain, std::span<const Value> x);

  /// Counts the whole segments that begin before this sweep as burn-in, all but the last. Where it is to be
  /// may depend on how fast the draws move, never on what they say.
  void discard_before(std::uint64_t sweep);

  /// Continues until the sweeps are done, a target is reached or the control says stop.
  /// Rank 0 hears the draws of all chains; with `own_draws` every rank hears those of its chains.
  void run(const RunControl& control, const DrawCallback& on_draw = {}, bool own_draws = false);

  /// Closes the open segment, if any, and scores the last states when no others were; call once, after the
  /// last run().
  void finish();

  /// Makes of the parts that the ranks have the whole run, on rank 0; the others are then done with it.
  /// States and open sums, which a checkpoint holds, are left where they are unless they are asked for.
  void gather(bool with_states);
  /// A run of the same kernel and options on one rank, for a checkpoint to be loaded into.
  ChainRun whole() const;
  /// The opposite of gather(): this rank's part of a run that was loaded as a whole.
  void take_part_of(ChainRun&& whole);

  /// Whether the entries of the store are means of state_values, one per variable.
  bool sums_values() const { return shape().sums_values && !options_.state_values.empty(); }
  bool reached_target() const { return reached_target_; }
  /// Whether the time limit cut the burn-in that was asked for.
  bool shortened_burn_in() const { return shortened_burn_in_; }
  bool finished() const {
    return reached_target_ || (burn_in_ != ChainOptions::unlimited && done_ >= total_sweeps());
  }
  std::uint64_t sweeps_done() const { return done_; }
  std::uint64_t burn_in() const { return std::min(burn_in_, done_) + discarded_; }
  /// Unlimited while a run by time is still in it.
  std::uint64_t planned_burn_in() const { return burn_in_; }
  /// Kept so far, per chain.
  std::uint64_t draws() const { return (done_ - burn_in()) / options_.thin; }
  double updates() const {
    return static_cast<double>(done_) * static_cast<double>(shape().size) * options_.chains;
  }
  const SegmentStore& store() const { return store_; }
  /// Of a run that has ended.
  SegmentStore take_store() { return std::move(store_); }
  const ScoreTrace& trace() const { return trace_; }
  const std::vector<ConvergencePoint>& convergence() const { return convergence_; }
  const std::vector<Value>& best_state() const { return best_state_; }
  double best_log_score() const { return best_log_score_; }
  const ChainOptions& options() const { return options_; }
  const ChainStates::Shape& shape() const { return states_->shape(); }
  const Ranks& ranks() const { return *ranks_; }
  /// The last state of a chain of this rank.
  void read(std::uint32_t chain, std::span<Value> x) const;
  /// Those of this rank; K is the kernel that the run was made with.
  template <Kernel K>
  std::span<const typename K::State> states() const {
    return static_cast<const KernelStates<K>&>(*states_).states();
  }
  template <Kernel K>
  std::span<typename K::State> states() {
    return static_cast<KernelStates<K>&>(*states_).states();
  }
  /// What the sweeps told, burn-in included, of all chains.
  template <Kernel K>
  TotalsOf<K> totals() const {
    return static_cast<const KernelStates<K>&>(*states_).totals();
  }
  void extend(std::uint64_t sweeps) { options_.sweeps = sweeps; }

  /// Of a run that nobody has whole (PartSpread): what every rank knows of it, without states and estimates.
  template <class Archive>
  void visit_course(Archive& archive) {
    archive(unabsorbed_);
    store_.visit_course(archive);
    visit_counts(archive);
  }
  /// ... and the estimates of some of this rank's entries, after that: take(numbers) may change them.
  void for_numbers(std::span<const std::uint32_t> entries, const std::function<void(std::span<float>)>& take);

  /// Of a whole run.
  void visit(SaveArchive& archive);
  void visit(LoadArchive& archive);

 private:
  static constexpr std::uint64_t absorb_every = 64;
  // Tens of milliseconds of the kernels that do several sweeps at once, and of the slowest of the others.
  static constexpr double fast_updates = 2e8, slow_updates = 2.5e5;
  // What a rank may wish for.
  static constexpr std::uint32_t stop = 1, past_third = 2, past_half = 4;

  static std::uint32_t wishes_of(const RunControl& control);
  bool spread() const { return shape().spread; }
  bool burn_in_grows() const {
    return options_.burn_in == ChainOptions::unlimited && options_.longest_burn_in != ChainOptions::unlimited;
  }
  std::uint32_t first_chain() const { return first_batch_ * shape().lanes; }
  std::size_t all_entries() const { return sums_values() ? shape().size : shape().all_entries; }
  // A spread kernel's whole run, which is loaded or saved but not run, has one rank.
  std::size_t own_entries() const { return spread() && ranks_->size() > 1 ? shape().entries : all_entries(); }
  std::vector<std::uint32_t> own_numbers() const;
  double updates_per_sweep() const {
    return static_cast<double>(std::max<std::size_t>(1, shape().size)) * options_.chains;
  }
  std::uint64_t total_sweeps() const {
    return options_.sweeps == ChainOptions::unlimited ? ChainOptions::unlimited : burn_in_ + options_.sweeps;
  }
  bool is_kept(std::uint64_t sweep) const {
    return sweep >= burn_in_ && (sweep - burn_in_ + 1) % options_.thin == 0;
  }
  std::uint64_t sweeps_to_next_event(bool deliver_draws) const;
  // Whether a stop may come between two batches: where one process has all of them and they take long.
  bool is_breakable() const { return ranks_->size() == 1 && !spread() && updates_per_sweep() > slow_updates; }
  // False when the control ended it before all batches had made the sweep.
  bool advance(std::uint64_t stride, const RunControl& control);
  void even_out();
  bool sweep_alike(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl& control);
  void for_each_batch(const std::function<void(std::size_t)>& body);
  void score_all(std::vector<double>& scores);
  void record_scores();
  void deliver(const DrawCallback& on_draw, bool own_draws);
  void gather_states();
  void gather_sums();
  void gather_totals();
  void gather_trace();
  void gather_best();
  void absorb();
  void close_segment();
  Diagnostics worst_of_all(std::size_t most_entries) const;
  void report(const RunControl& control) const;
  template <class Archive>
  void visit_the_rest(Archive& archive);
  template <class Archive>
  void visit_counts(Archive& archive) {
    trace_.visit(archive);
    archive(convergence_);
    archive(burn_in_);
    archive(discarded_);
    archive(done_);
    archive(open_draws_);
  }

  std::unique_ptr<ChainStates> states_;
  ChainOptions options_;
  const Ranks* ranks_;
  std::uint32_t first_batch_ = 0;  ///< of those that this rank has
  std::uint32_t own_chains_ = 0;
  std::vector<LaneSums> sums_;
  SegmentStore store_;
  ScoreTrace trace_;
  std::vector<ConvergencePoint> convergence_;
  std::uint64_t burn_in_ = 0;
  std::uint64_t discarded_ = 0;  ///< further sweeps that discard_before() counted as burn-in
  std::uint64_t done_ = 0;
  std::uint64_t open_draws_ = 0;  ///< kept draws of the open segment ...
  std::uint64_t unabsorbed_ = 0;  ///< ... of which these are still in sums_
  std::vector<std::uint8_t>
      ahead_;  ///< of a sweep that was broken off: the batches, of all ranks, that made it
  bool reached_target_ = false;
  bool shortened_burn_in_ = false;
  std::vector<Value> best_state_;
  double best_log_score_ = log_zero;
  std::uint64_t best_sweep_ = 0;  ///< when it was met
  std::vector<double> scores_;
  std::vector<Value> draw_;
};

}  // namespace drover
