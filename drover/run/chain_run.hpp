// Runs the chains of any Kernel: burn-in, kept draws, estimates, traces, stop rules, checkpoints.
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

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/ranks.hpp"
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
  /// A kernel that lies on several ranks is run with these.
  ChainRun(const K& kernel, const ChainOptions& options, const Ranks& ranks = one_process())
      : kernel_(kernel), options_(options), ranks_(&ranks) {
    const std::uint32_t lanes = kernel.lanes();
    const std::uint32_t batches = (options.chains + lanes - 1) / lanes;
    const std::size_t entries = all_entries();
    std::uint32_t last_batch = batches;
    if (!spread) {
      // A group of chains stays together.
      const std::uint32_t group =
          SegmentStore::planned_group(entries, options.chains, options.estimator_memory);
      const std::uint32_t step = std::lcm(group, lanes) / lanes, steps = (batches + step - 1) / step;
      const auto begin = [&](std::uint32_t rank) {
        return std::min(batches, step * static_cast<std::uint32_t>(part_begin(steps, rank, ranks.size())));
      };
      first_batch_ = begin(ranks.rank());
      last_batch = begin(ranks.rank() + 1);
    }
    own_chains_ = std::min(options.chains, last_batch * lanes) - std::min(options.chains, first_chain());
    for (std::uint32_t b = first_batch_; b < last_batch; ++b)
      states_.push_back(kernel.start(options.seed, b * lanes));
    sums_.resize(states_.size());
    totals_.resize(states_.size());
    for (LaneSums& sums : sums_) assign_large(sums, own_entries() * lanes, 0.0F);
    store_ = SegmentStore(entries, options.chains, options.estimator_memory, {own_entries(), own_chains_});
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

  /// One chain, of this rank, begins there.
  void start_at(std::uint32_t chain, std::span<const Value> x) {
    kernel_.write(states_[chain / kernel_.lanes() - first_batch_], chain % kernel_.lanes(), x);
  }

  /// Counts the whole segments that begin before this sweep as burn-in, all but the last. Where it is to be
  /// may depend on how fast the draws move, never on what they say.
  void discard_before(std::uint64_t sweep) {
    std::size_t count = 0;
    while (count + 1 < store_.segments() && burn_in() < sweep)
      discarded_ += store_.draws_of_segments()[count++] * options_.thin;
    store_.drop_first(count);
  }

  /// Continues until the sweeps are done, a target is reached or the control says stop.
  /// Rank 0 hears the draws of all chains; with `own_draws` every rank hears those of its chains.
  void run(const RunControl& control, const DrawCallback& on_draw = {}, bool own_draws = false) {
    Ballot ballot(*ranks_);
    while (!finished()) {
      const std::uint32_t wishes = ballot.next(wishes_of(control));
      if (wishes & stop) break;
      if (burn_in_ == ChainOptions::unlimited && wishes & past_third) burn_in_ = done_;
      if (done_ < burn_in_ && wishes & past_half) {  // it would leave nothing to count
        burn_in_ = done_;
        shortened_burn_in_ = true;
      }
      const std::uint64_t stride = sweeps_to_next_event(on_draw != nullptr);
      advance(stride);
      if (on_draw && done_ > burn_in_ && is_kept(done_ - 1)) deliver(on_draw, own_draws);
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

  /// Makes of the parts that the ranks have the whole run, on rank 0; the others are then done with it.
  /// States and open sums, which a checkpoint holds, are left where they are unless they are asked for.
  void gather(bool with_states) {
    if (ranks_->size() == 1) return;
    if (with_states) gather_states();
    store_ = spread ? store_.gather_entries(*ranks_, numbers(), all_entries())
                    : store_.gather_groups(*ranks_, options_.chains);
    if (!spread) {
      gather_totals();
      gather_trace();
      gather_best();
    }
    ranks_ = &one_process();
    own_chains_ = options_.chains;
    first_batch_ = 0;
  }

  /// The opposite: this rank's part of a run that was loaded as a whole.
  void take_part_of(ChainRun&& whole) {
    if (ranks_->size() == 1) {
      states_ = std::move(whole.states_);
      totals_ = std::move(whole.totals_);
      sums_ = std::move(whole.sums_);
      store_ = std::move(whole.store_);
      trace_.scores = std::move(whole.trace_.scores);
    } else {
      for (std::size_t b = 0; b < states_.size(); ++b) {
        states_[b] = std::move(whole.states_[first_batch_ + b]);
        totals_[b] = whole.totals_[first_batch_ + b];
        const LaneSums& from = whole.sums_[first_batch_ + b];
        const std::vector<std::uint32_t> entries = own_numbers();
        for (std::size_t e = 0; e < entries.size(); ++e)
          std::copy_n(from.data() + std::size_t{entries[e]} * kernel_.lanes(), kernel_.lanes(),
                      sums_[b].data() + e * kernel_.lanes());
      }
      store_ = whole.store_.part(own_numbers(), first_chain(), own_chains_);
      trace_.scores.clear();
      for (std::size_t r = 0; r < whole.trace_.sweeps.size(); ++r)
        for (std::uint32_t c = 0; c < own_chains_; ++c)
          trace_.scores.push_back(whole.trace_.scores[r * options_.chains + first_chain() + c]);
    }
    trace_.every = whole.trace_.every;
    trace_.sweeps = std::move(whole.trace_.sweeps);
    unabsorbed_ = whole.unabsorbed_;
    convergence_ = std::move(whole.convergence_);
    burn_in_ = whole.burn_in_;
    discarded_ = whole.discarded_;
    done_ = whole.done_;
    open_draws_ = whole.open_draws_;
    best_state_ = std::move(whole.best_state_);
    best_log_score_ = whole.best_log_score_;
    best_sweep_ = 0;
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
  /// Those of this rank.
  std::span<const typename K::State> states() const { return states_; }
  const Ranks& ranks() const { return *ranks_; }
  const K& kernel() const { return kernel_; }
  /// What the sweeps told, burn-in included, of all chains.
  TotalsOf<K> totals() const {
    TotalsOf<K> all;
    for (const TotalsOf<K>& one : totals_) all.add(one);
    return all;
  }
  void extend(std::uint64_t sweeps) { options_.sweeps = sweeps; }

  /// Of a whole run.
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
  static constexpr bool spread = SpreadKernel<K>;
  static constexpr std::uint64_t absorb_every = 64;
  static constexpr bool at_once = requires(const K& kernel, typename K::State& state) {
    kernel.sweeps(state, std::uint64_t{0}, std::uint64_t{1});
  };
  // What a rank may wish for.
  static constexpr std::uint32_t stop = 1, past_third = 2, past_half = 4;

  std::uint32_t wishes_of(const RunControl& control) const {
    const double time = control.time_fraction();
    return (control.should_stop() ? stop : 0) | (time >= 1.0 / 3 ? past_third : 0) |
           (time >= 1.0 / 2 ? past_half : 0);
  }

  std::uint32_t first_chain() const { return first_batch_ * kernel_.lanes(); }
  std::size_t all_entries() const {
    if (sums_values()) return kernel_.size();
    if constexpr (spread)
      return kernel_.all_entries();
    else
      return kernel_.entry_count();
  }
  // A spread kernel's whole run, which is loaded or saved but not run, has one rank.
  std::size_t own_entries() const {
    return spread && ranks_->size() > 1 ? kernel_.entry_count() : all_entries();
  }
  std::span<const std::uint32_t> numbers() const {
    if constexpr (spread)
      return kernel_.own_entries();
    else
      return {};
  }
  std::vector<std::uint32_t> own_numbers() const {
    std::vector<std::uint32_t> list(numbers().begin(), numbers().end());
    if (!spread) {
      list.resize(all_entries());
      std::iota(list.begin(), list.end(), 0U);
    }
    return list;
  }

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
    for_each_batch([&](std::size_t b) {
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

  // One after the other where they lie on several ranks, so that all exchange what belongs together.
  template <class Body>
  void for_each_batch(const Body& body) {
    if (spread)
      for (std::size_t b = 0; b < states_.size(); ++b) body(b);
    else
      parallel_for(std::size_t{0}, states_.size(), body);
  }

  void score_all(std::vector<double>& scores) {
    const std::uint32_t lanes = kernel_.lanes();
    scores.resize(states_.size() * lanes);
    for_each_batch([&](std::size_t b) {
      kernel_.log_scores(states_[b], std::span<double>(scores.data() + b * lanes, lanes));
    });
    scores.resize(own_chains_);
    const auto best = std::max_element(scores.begin(), scores.end());
    if (best != scores.end() && (best_state_.empty() || *best > best_log_score_)) {
      best_sweep_ = done_;
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
    if (trace_.sweeps.size() >= trace_.capacity) trace_.halve(own_chains_);
  }

  void deliver(const DrawCallback& on_draw, bool own_draws) {
    score_all(scores_);
    draw_.resize(kernel_.size());
    const bool travel = !spread && !own_draws && ranks_->size() > 1;
    const bool heard = !spread || ranks_->is_first();
    SaveArchive archive;
    for (std::uint32_t c = 0; c < own_chains_; ++c) {
      kernel_.read(states_[c / kernel_.lanes()], c % kernel_.lanes(), draw_);
      if (travel) {
        archive(scores_[c]);
        archive(draw_);
      } else if (heard) {
        on_draw(first_chain() + c, draw_, scores_[c]);
      }
    }
    if (!travel) return;
    std::uint32_t chain = 0;
    for (std::string& part : ranks_->gather(archive.take()))
      for (LoadArchive rows(std::move(part)); !rows.at_end(); ++chain) {
        double log_score = 0;
        rows(log_score);
        rows(draw_);
        on_draw(chain, draw_, log_score);
      }
  }

  void gather_states() {
    const std::uint32_t lanes = kernel_.lanes();
    if constexpr (spread) {
      for (auto& state : states_) kernel_.gather(state);
    } else {
      SaveArchive archive;
      for (auto& state : states_) state.visit(archive);
      const std::vector<std::string> parts = ranks_->gather(archive.take());
      if (ranks_->is_first()) states_.clear();
      for (const std::string& part : parts)
        for (LoadArchive load(part); !load.at_end();) {
          states_.push_back(kernel_.start(options_.seed, static_cast<std::uint32_t>(states_.size()) * lanes));
          states_.back().visit(load);
        }
    }
    if (unabsorbed_ == 0) return;
    for (std::size_t b = 0; spread && b < sums_.size(); ++b) {
      const std::span<const std::uint32_t> own = numbers();
      const std::vector<std::string> places =
          ranks_->gather({reinterpret_cast<const char*>(own.data()), own.size_bytes()});
      const std::vector<std::string> parts =
          ranks_->gather({reinterpret_cast<const char*>(sums_[b].data()), sums_[b].size() * sizeof(float)});
      if (ranks_->is_first()) sums_[b].assign(all_entries() * lanes, 0.0F);
      for (std::size_t rank = 0; rank < parts.size(); ++rank)
        for (std::size_t e = 0; e * sizeof(std::uint32_t) < places[rank].size(); ++e) {
          std::uint32_t entry = 0;
          std::memcpy(&entry, places[rank].data() + e * sizeof(entry), sizeof(entry));
          std::memcpy(sums_[b].data() + std::size_t{entry} * lanes,
                      parts[rank].data() + e * lanes * sizeof(float), lanes * sizeof(float));
        }
    }
    if (spread) return;
    SaveArchive archive;
    for (auto& sums : sums_) archive(sums);
    const std::vector<std::string> parts = ranks_->gather(archive.take());
    if (ranks_->is_first()) sums_.clear();
    for (const std::string& part : parts)
      for (LoadArchive load(part); !load.at_end();) load(sums_.emplace_back());
  }

  void gather_totals() {
    SaveArchive archive;
    for (TotalsOf<K>& totals : totals_) totals.visit(archive);
    std::string all;
    for (const std::string& part : ranks_->gather(archive.take())) all += part;
    if (!ranks_->is_first()) return;
    totals_.resize((options_.chains + kernel_.lanes() - 1) / kernel_.lanes());
    LoadArchive load(std::move(all));
    for (TotalsOf<K>& totals : totals_) totals.visit(load);
  }

  void gather_trace() {
    const std::vector<std::string> parts = ranks_->gather(
        {reinterpret_cast<const char*>(trace_.scores.data()), trace_.scores.size() * sizeof(double)});
    if (!ranks_->is_first()) return;
    const std::size_t records = trace_.sweeps.size();
    trace_.scores.clear();
    for (std::size_t r = 0; r < records; ++r)
      for (const std::string& part : parts) {
        const std::size_t bytes = part.size() / records;
        const std::size_t at = trace_.scores.size();
        trace_.scores.resize(at + bytes / sizeof(double));
        if (bytes > 0) std::memcpy(trace_.scores.data() + at, part.data() + r * bytes, bytes);
      }
  }

  // The best of all, of these the one met first, of these that of the first chain: as one process keeps it.
  void gather_best() {
    SaveArchive archive;
    archive(best_log_score_);
    archive(best_sweep_);
    archive(best_state_);
    bool any = false;
    for (std::string& part : ranks_->gather(archive.take())) {
      LoadArchive load(std::move(part));
      double log_score = 0;
      std::uint64_t sweep = 0;
      std::vector<Value> state;
      load(log_score);
      load(sweep);
      load(state);
      if (state.empty() && kernel_.size() > 0) continue;
      if (any && (log_score < best_log_score_ || (log_score == best_log_score_ && sweep >= best_sweep_)))
        continue;
      any = true;
      best_log_score_ = log_score;
      best_sweep_ = sweep;
      best_state_ = std::move(state);
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
    const Diagnostics worst = worst_of_all(has_target ? 20'000 : 300);
    convergence_.push_back({done_, worst.rhat_max, worst.mcse_max});
    reached_target_ = has_target && has_enough_draws(worst) &&
                      (options_.target_rhat == 0 || worst.rhat_max <= options_.target_rhat) &&
                      (options_.target_mcse == 0 || worst.mcse_max <= options_.target_mcse);
  }

  // worst_entry() of the whole run, known to every rank.
  Diagnostics worst_of_all(std::size_t most_entries) const {
    if (ranks_->size() == 1) return worst_entry(store_, most_entries);
    const std::size_t step = std::max<std::size_t>(1, (all_entries() + most_entries - 1) / most_entries);
    std::vector<std::size_t> picked;
    std::vector<std::uint32_t> places;
    for (std::size_t e = 0; e < own_entries(); ++e) {
      const std::size_t number = spread ? numbers()[e] : e;
      if (number % step != 0) continue;
      picked.push_back(e);
      places.push_back(static_cast<std::uint32_t>(number / step));
    }
    const SegmentStore few = store_.picked(picked);
    const std::size_t count = (all_entries() + step - 1) / step;
    const SegmentStore all =
        spread ? few.gather_entries(*ranks_, places, count) : few.gather_groups(*ranks_, options_.chains);
    Diagnostics worst;
    if (ranks_->is_first()) worst = worst_entry(all, count);
    std::string bytes(reinterpret_cast<const char*>(&worst), sizeof(worst));
    ranks_->broadcast(bytes);
    std::memcpy(&worst, bytes.data(), sizeof(worst));
    return worst;
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
  const Ranks* ranks_;
  std::uint32_t first_batch_ = 0;  ///< of those that this rank has
  std::uint32_t own_chains_ = 0;
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
  std::uint64_t best_sweep_ = 0;  ///< when it was met
  std::vector<double> scores_;
  std::vector<Value> draw_;
};

}  // namespace drover
