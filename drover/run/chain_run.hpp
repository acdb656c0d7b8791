// Runs the chains of any Kernel: burn-in, kept draws, estimates, traces, stop rules, checkpoints.
//
// Chains are grouped into batches of kernel.lanes(); batches run in parallel and never depend on one another,
// so the result is a function of the options alone. Every kept sweep adds the conditional distribution each
// variable was drawn from (Rao-Blackwell) to its batch's sums; log scores are recorded at a coarser rhythm
// that adapts to the length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/segment_diagnostics.hpp"
#include "drover/run/segment_store.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/value_sums.hpp"

namespace drover {

struct ChainOptions {
  static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t chains = 64;
  std::uint64_t burn_in = 1000;  ///< unlimited: a third of the time limit
  std::uint64_t sweeps = 2000;   ///< after burn-in; unlimited: until the control stops the run
  std::uint64_t thin = 1;        ///< a draw is kept every `thin` sweeps
  std::uint64_t seed = 1;
  double target_rhat = 0;  ///< stop when reached with enough draws (result.hpp); 0: no such rule
  double target_mcse = 0;
  std::size_t estimator_memory = std::size_t{1} << 29;
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

template <Kernel K>
class ChainRun {
 public:
  ChainRun(const K& kernel, const ChainOptions& options) : kernel_(kernel), options_(options) {
    const std::uint32_t lanes = kernel.lanes();
    const std::uint32_t batches = (options.chains + lanes - 1) / lanes;
    for (std::uint32_t b = 0; b < batches; ++b) states_.push_back(kernel.start(options.seed, b * lanes));
    const std::size_t entries = sums_values() ? kernel.size() : kernel.entry_count();
    sums_.resize(batches);
    totals_.resize(batches);
    for (LaneSums& sums : sums_) assign_large(sums, entries * lanes, 0.0F);
    store_ = SegmentStore(entries, options.chains, options.estimator_memory);
    burn_in_ = options.burn_in;
    trace_.capacity = std::clamp<std::size_t>((std::size_t{1} << 24) / options.chains, 16, 1024);
    // A record costs about as much as a sweep. Chosen without looking at `sweeps`, so that a resumed run
    // records what an uninterrupted one would.
    if (options.score_every > 0)
      trace_.every = options.score_every;
    else if (options.burn_in != ChainOptions::unlimited)
      trace_.every = std::max<std::uint64_t>(is_large() ? 16 : 1, options.burn_in / 32);
  }

  /// Every chain begins in this state instead of the kernel's own; to be called before the first run().
  void start_at(std::span<const Value> x) {
    for (auto& state : states_)
      for (std::uint32_t lane = 0; lane < kernel_.lanes(); ++lane) kernel_.write(state, lane, x);
  }

  /// One chain begins there.
  void start_at(std::uint32_t chain, std::span<const Value> x) {
    kernel_.write(states_[chain / kernel_.lanes()], chain % kernel_.lanes(), x);
  }

  /// Counts the whole segments that begin before this sweep as burn-in, all but the last. Where it is to be
  /// must not be decided by looking at draws.
  void discard_before(std::uint64_t sweep) {
    std::size_t count = 0;
    while (count + 1 < store_.segments() && burn_in() < sweep)
      discarded_ += store_.draws_of_segments()[count++] * options_.thin;
    store_.drop_first(count);
  }

  /// Continues until the sweeps are done, a target is reached or the control says stop.
  void run(const RunControl& control, const DrawCallback& on_draw = {}) {
    while (!finished()) {
      if (control.should_stop()) break;
      if (burn_in_ == ChainOptions::unlimited && control.time_fraction() >= 1.0 / 3) burn_in_ = done_;
      if (done_ < burn_in_ && control.time_fraction() >= 1.0 / 2) {  // it would leave nothing to count
        burn_in_ = done_;
        shortened_burn_in_ = true;
      }
      const std::uint64_t stride = sweeps_to_next_event(on_draw != nullptr);
      advance(stride);
      if (on_draw && done_ > burn_in_ && is_kept(done_ - 1)) deliver(on_draw);
      if (done_ % trace_.every == 0) record_scores();
      if (open_draws_ == store_.segment_length())
        close_segment();
      else if (unabsorbed_ >= absorb_every)
        absorb();
      report(control);
    }
  }

  /// Closes the open segment, if any, and scores the last states when no others were; call once, after the
  /// last run().
  void finish() {
    if (open_draws_ > 0) close_segment();
    if (trace_.sweeps.empty() && done_ > 0) record_scores();
  }

  /// Whether the entries of the store are means of state_values, one per variable.
  bool sums_values() const { return SumsValues<K> && !options_.state_values.empty(); }
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
    return static_cast<double>(done_) * static_cast<double>(kernel_.size()) * options_.chains;
  }
  const SegmentStore& store() const { return store_; }
  const ScoreTrace& trace() const { return trace_; }
  const std::vector<ConvergencePoint>& convergence() const { return convergence_; }
  const std::vector<Value>& best_state() const { return best_state_; }
  double best_log_score() const { return best_log_score_; }
  const ChainOptions& options() const { return options_; }
  std::span<const typename K::State> states() const { return states_; }
  /// What the sweeps told, burn-in included, of all chains.
  TotalsOf<K> totals() const {
    TotalsOf<K> all;
    for (const TotalsOf<K>& one : totals_) all.add(one);
    return all;
  }
  void extend(std::uint64_t sweeps) { options_.sweeps = sweeps; }

  template <class Archive>
  void visit(Archive& archive) {
    for (auto& state : states_) state.visit(archive);
    for (TotalsOf<K>& totals : totals_) totals.visit(archive);
    archive(unabsorbed_);
    if (unabsorbed_ > 0)  // else they are all zero
      for (auto& sums : sums_) archive(sums);
    store_.visit(archive);
    trace_.visit(archive);
    archive(convergence_);
    archive(burn_in_);
    archive(discarded_);
    archive(done_);
    archive(open_draws_);
    archive(best_state_);
    archive(best_log_score_);
  }

 private:
  static constexpr std::uint64_t absorb_every = 64;
  static constexpr bool at_once = requires(const K& kernel, typename K::State& state) {
    kernel.sweeps(state, std::uint64_t{0}, std::uint64_t{1});
  };

  // Whether a sweep is long enough that what happens once in a few sweeps must be rare.
  bool is_large() const { return static_cast<double>(kernel_.size()) * options_.chains >= 4e6; }

  std::uint64_t total_sweeps() const {
    return options_.sweeps == ChainOptions::unlimited ? ChainOptions::unlimited : burn_in_ + options_.sweeps;
  }
  bool is_kept(std::uint64_t sweep) const {
    return sweep >= burn_in_ && (sweep - burn_in_ + 1) % options_.thin == 0;
  }

  // Events are: the end of burn-in or of the run, a score record, a full segment, a delivered draw, and (so
  // that the control is asked often enough) a number of updates: tens of milliseconds of the kernels that do
  // several sweeps at once, which are the fast ones, and no more of the others.
  std::uint64_t sweeps_to_next_event(bool deliver_draws) const {
    std::uint64_t stride = trace_.every - done_ % trace_.every;
    const double per_sweep = static_cast<double>(std::max<std::size_t>(1, kernel_.size())) * options_.chains;
    stride =
        std::min<std::uint64_t>(stride, 1 + static_cast<std::uint64_t>((at_once ? 2e8 : 1e7) / per_sweep));
    if (done_ < burn_in_) return std::min(stride, burn_in_ - done_);
    const std::uint64_t after = done_ - burn_in_;
    const std::uint64_t to_draw = options_.thin - after % options_.thin;
    const std::uint64_t draws_left =
        std::min(store_.segment_length() - open_draws_, absorb_every - unabsorbed_);
    stride = std::min(stride, to_draw + (draws_left - 1) * options_.thin);
    if (deliver_draws) stride = std::min(stride, to_draw);
    return std::min(stride, total_sweeps() - done_);
  }

  void advance(std::uint64_t stride) {
    parallel_for(std::size_t{0}, states_.size(), [&](std::size_t b) {
      for (std::uint64_t s = done_; s < done_ + stride;) {
        std::uint64_t next = s + 1;
        while (next < done_ + stride && is_kept(next) == is_kept(s)) ++next;
        sweep_alike(b, s, next - s);
        s = next;
      }
    });
    for (std::uint64_t s = done_; s < done_ + stride; ++s) {
      open_draws_ += is_kept(s) ? 1 : 0;
      unabsorbed_ += is_kept(s) ? 1 : 0;
    }
    done_ += stride;
  }

  // Sweeps that are all kept or all not, at once where the kernel can do that.
  void sweep_alike(std::size_t batch, std::uint64_t first, std::uint64_t count) {
    typename K::State& state = states_[batch];
    LaneSums& sums = sums_[batch];
    const bool kept = is_kept(first);
    if constexpr (at_once) {
      if (!kept) return kernel_.sweeps(state, first, count);
      if (!sums_values()) return kernel_.sweeps(state, first, count, ConditionalSums{sums});
    }
    for (std::uint64_t s = first; s < first + count; ++s) {
      if (!kept)
        sweep_and_tell(kernel_, totals_[batch], state, s);
      else if (!sums_values())
        sweep_and_tell(kernel_, totals_[batch], state, s, ConditionalSums{sums});
      else if constexpr (SumsValues<K>)
        sweep_and_tell(kernel_, totals_[batch], state, s, ValueSums{sums, options_.state_values});
    }
  }

  void score_all(std::vector<double>& scores) {
    const std::uint32_t lanes = kernel_.lanes();
    scores.resize(states_.size() * lanes);
    parallel_for(std::size_t{0}, states_.size(), [&](std::size_t b) {
      kernel_.log_scores(states_[b], std::span<double>(scores.data() + b * lanes, lanes));
    });
    scores.resize(options_.chains);
    const auto best = std::max_element(scores.begin(), scores.end());
    if (best_state_.empty() || *best > best_log_score_) {
      const auto chain = static_cast<std::uint32_t>(best - scores.begin());
      best_state_.resize(kernel_.size());
      kernel_.read(states_[chain / lanes], chain % lanes, best_state_);
      best_log_score_ = *best;
    }
  }

  void record_scores() {
    score_all(scores_);
    trace_.sweeps.push_back(done_);
    trace_.scores.insert(trace_.scores.end(), scores_.begin(), scores_.end());
    if (trace_.sweeps.size() >= trace_.capacity) trace_.halve(options_.chains);
  }

  void deliver(const DrawCallback& on_draw) {
    score_all(scores_);
    draw_.resize(kernel_.size());
    for (std::uint32_t chain = 0; chain < options_.chains; ++chain) {
      kernel_.read(states_[chain / kernel_.lanes()], chain % kernel_.lanes(), draw_);
      on_draw(chain, draw_, scores_[chain]);
    }
  }

  void absorb() {
    store_.absorb(sums_, kernel_.lanes(), unabsorbed_);
    unabsorbed_ = 0;
  }

  void close_segment() {
    store_.close_segment(sums_, kernel_.lanes(), unabsorbed_);
    open_draws_ = 0;
    unabsorbed_ = 0;
    if (store_.segments() < 4 || sums_values()) return;  // R-hat is for probabilities
    // A diagnosis costs as much as many sweeps: only when the run grew by half since the last one.
    if (!convergence_.empty() && 2 * (done_ - burn_in_) < 3 * (convergence_.back().sweep - burn_in_)) return;
    const bool has_target = options_.target_rhat > 0 || options_.target_mcse > 0;
    const Diagnostics worst = worst_entry(store_, has_target ? 20'000 : 300);
    convergence_.push_back({done_, worst.rhat_max, worst.mcse_max});
    reached_target_ = has_target && has_enough_draws(worst) &&
                      (options_.target_rhat == 0 || worst.rhat_max <= options_.target_rhat) &&
                      (options_.target_mcse == 0 || worst.mcse_max <= options_.target_mcse);
  }

  void report(const RunControl& control) const {
    Progress progress;
    progress.phase = done_ <= burn_in_ ? "burn-in" : "sampling";
    progress.fraction = total_sweeps() == ChainOptions::unlimited
                            ? control.time_fraction()
                            : std::max(control.time_fraction(),
                                       static_cast<double>(done_) / static_cast<double>(total_sweeps()));
    progress.sweeps = done_;
    progress.updates = updates();
    progress.rhat_max = convergence_.empty() ? 0 : convergence_.back().rhat_max;
    control.report(progress);
  }

  const K& kernel_;
  ChainOptions options_;
  std::vector<typename K::State> states_;
  std::vector<LaneSums> sums_;
  std::vector<TotalsOf<K>> totals_;  ///< per batch
  SegmentStore store_;
  ScoreTrace trace_;
  std::vector<ConvergencePoint> convergence_;
  std::uint64_t burn_in_ = 0;
  std::uint64_t discarded_ = 0;  ///< further sweeps that discard_before() counted as burn-in
  std::uint64_t done_ = 0;
  std::uint64_t open_draws_ = 0;  ///< kept draws of the open segment ...
  std::uint64_t unabsorbed_ = 0;  ///< ... of which these are still in sums_
  bool reached_target_ = false;
  bool shortened_burn_in_ = false;
  std::vector<Value> best_state_;
  double best_log_score_ = log_zero;
  std::vector<double> scores_;
  std::vector<Value> draw_;
};

}  // namespace drover
