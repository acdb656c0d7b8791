#include "drover/run/chain_run.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

void ScoreTrace::halve(std::uint32_t chains) {
  std::size_t kept = 0;
  every *= 2;
  for (std::size_t r = 0; r < sweeps.size(); ++r) {
    if (sweeps[r] % every != 0) continue;
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(r * chains), chains,
                scores.begin() + static_cast<std::ptrdiff_t>(kept * chains));
    sweeps[kept++] = sweeps[r];
  }
  sweeps.resize(kept);
  scores.resize(kept * chains);
}

ChainRun::ChainRun(std::unique_ptr<ChainStates> states, const ChainOptions& options,
                   const RunControl& control)
    : states_(std::move(states)), options_(options), ranks_(&control.ranks()) {
  StopCheck check(control, "the chains", "were started");
  const std::uint32_t lanes = shape().lanes;
  const std::uint32_t batches = (options.chains + lanes - 1) / lanes;
  const std::size_t entries = all_entries();
  std::uint32_t last_batch = batches;
  if (!spread()) {
    // A group of chains stays together.
    const std::uint32_t group =
        SegmentStore::planned_group(entries, options.chains, options.estimator_memory);
    const std::uint32_t step = std::lcm(group, lanes) / lanes, steps = (batches + step - 1) / step;
    const auto begin = [&](std::uint32_t rank) {
      return std::min(batches, step * static_cast<std::uint32_t>(part_begin(steps, rank, ranks_->size())));
    };
    first_batch_ = begin(ranks_->rank());
    last_batch = begin(ranks_->rank() + 1);
  }
  own_chains_ = std::min(options.chains, last_batch * lanes) - std::min(options.chains, first_chain());
  for (std::uint32_t b = first_batch_; b < last_batch; ++b) {
    states_->start(options.seed, b * lanes, control);
    check.ask();
  }
  sums_.resize(states_->batches());
  for (LaneSums& sums : sums_) assign_large(sums, own_entries() * lanes, 0.0F, check);
  // Like the rhythm of scores chosen without looking at `sweeps`, so that a resumed run keeps what an
  // uninterrupted one would.
  store_ = SegmentStore(entries, options.chains, options.estimator_memory, {own_entries(), own_chains_},
                        options.burn_in == ChainOptions::unlimited ? 0 : options.burn_in / options.thin);
  burn_in_ = options.burn_in;
  trace_.capacity = std::clamp<std::size_t>((std::size_t{1} << 24) / options.chains, 16, 1024);
  // A record costs about as much as a sweep, and more where the state is the best so far and read.
  if (options.score_every > 0)
    trace_.every = options.score_every;
  else if (options.burn_in != ChainOptions::unlimited)
    trace_.every = std::max<std::uint64_t>(updates_per_sweep() >= 5e5 ? 16 : 1, options.burn_in / 32);
}

ChainRun::ChainRun(const ChainRun& other)
    : states_(other.states_->copy()),
      options_(other.options_),
      ranks_(other.ranks_),
      first_batch_(other.first_batch_),
      own_chains_(other.own_chains_),
      sums_(other.sums_),
      store_(other.store_),
      trace_(other.trace_),
      convergence_(other.convergence_),
      burn_in_(other.burn_in_),
      discarded_(other.discarded_),
      done_(other.done_),
      open_draws_(other.open_draws_),
      unabsorbed_(other.unabsorbed_),
      ahead_(other.ahead_),
      reached_target_(other.reached_target_),
      shortened_burn_in_(other.shortened_burn_in_),
      best_state_(other.best_state_),
      best_log_score_(other.best_log_score_),
      best_sweep_(other.best_sweep_) {}

void ChainRun::start_at(std::span<const Value> x) {
  for (std::size_t b = 0; b < states_->batches(); ++b)
    for (std::uint32_t lane = 0; lane < shape().lanes; ++lane) states_->write(b, lane, x);
}

void ChainRun::start_at(std::uint32_t chain, std::span<const Value> x) {
  states_->write(chain / shape().lanes - first_batch_, chain % shape().lanes, x);
}

void ChainRun::read(std::uint32_t chain, std::span<Value> x) const {
  states_->read(chain / shape().lanes - first_batch_, chain % shape().lanes, x);
}

void ChainRun::discard_before(std::uint64_t sweep) {
  std::size_t count = 0;
  while (count + 1 < store_.segments() && burn_in() < sweep)
    discarded_ += store_.draws_of_segments()[count++] * options_.thin;
  store_.drop_first(count);
}

void ChainRun::run(const RunControl& control, const DrawCallback& on_draw, bool own_draws) {
  Ballot ballot(*ranks_);
  while (!finished()) {
    const std::uint32_t wishes = ballot.next(wishes_of(control));
    if (wishes & stop) break;
    const bool between_sweeps = ahead_.empty();  // else some have made the next one as burn-in
    if (between_sweeps && burn_in_ == ChainOptions::unlimited &&
        (wishes & past_third || done_ >= options_.longest_burn_in))
      burn_in_ = done_;
    if (between_sweeps && done_ < burn_in_ && wishes & past_half) {  // it would leave nothing to count
      burn_in_ = done_;
      shortened_burn_in_ = true;
    }
    const std::uint64_t stride = sweeps_to_next_event(on_draw != nullptr);
    if (!advance(stride, control)) break;
    if (on_draw && done_ > burn_in_ && is_kept(done_ - 1)) deliver(on_draw, own_draws);
    if (done_ % trace_.every == 0) record_scores();
    if (open_draws_ == store_.segment_length())
      close_segment();
    else if (unabsorbed_ >= absorb_every)
      absorb();
    report(control);
  }
}

void ChainRun::finish() {
  even_out();
  if (open_draws_ > 0) close_segment();
  if (burn_in_grows()) discard_before(done_ / 3);
  if (trace_.sweeps.empty() && done_ > 0) record_scores();
}

void ChainRun::gather(bool with_states) {
  if (ranks_->size() == 1) return;
  if (with_states) {
    gather_states();
    if (unabsorbed_ > 0) gather_sums();
  }
  store_ = spread() ? store_.gather_entries(*ranks_, shape().own_entries, all_entries())
                    : store_.gather_groups(*ranks_, options_.chains);
  if (!spread()) {
    gather_totals();
    gather_trace();
    gather_best();
  }
  ranks_ = &one_process();
  own_chains_ = options_.chains;
  first_batch_ = 0;
}

ChainRun ChainRun::whole() const {
  return {states_->empty(), options_};
}

void ChainRun::take_part_of(ChainRun&& whole) {
  states_->take(*whole.states_, first_batch_);
  if (ranks_->size() == 1) {
    sums_ = std::move(whole.sums_);
    store_ = std::move(whole.store_);
    trace_.scores = std::move(whole.trace_.scores);
  } else {
    const std::uint32_t lanes = shape().lanes;
    const std::vector<std::uint32_t> entries = own_numbers();
    for (std::size_t b = 0; b < sums_.size(); ++b)
      for (std::size_t e = 0; e < entries.size(); ++e)
        std::copy_n(whole.sums_[first_batch_ + b].data() + std::size_t{entries[e]} * lanes, lanes,
                    sums_[b].data() + e * lanes);
    store_ = whole.store_.part(entries, first_chain(), own_chains_);
    trace_.scores.clear();
    for (std::size_t r = 0; r < whole.trace_.sweeps.size(); ++r)
      for (std::uint32_t c = 0; c < own_chains_; ++c)
        trace_.scores.push_back(whole.trace_.scores[r * options_.chains + first_chain() + c]);
  }
  trace_.every = whole.trace_.every;
  trace_.sweeps = std::move(whole.trace_.sweeps);
  unabsorbed_ = whole.unabsorbed_;
  ahead_ = std::move(whole.ahead_);
  convergence_ = std::move(whole.convergence_);
  burn_in_ = whole.burn_in_;
  discarded_ = whole.discarded_;
  done_ = whole.done_;
  open_draws_ = whole.open_draws_;
  best_state_ = std::move(whole.best_state_);
  best_log_score_ = whole.best_log_score_;
  best_sweep_ = 0;
}

void ChainRun::for_numbers(std::span<const std::uint32_t> entries,
                           const std::function<void(std::span<float>)>& take) {
  const std::uint32_t lanes = shape().lanes;
  if (unabsorbed_ > 0)  // else they are all zero
    for (LaneSums& sums : sums_)
      for (std::uint32_t entry : entries)
        take(std::span<float>(sums.data() + std::size_t{entry} * lanes, lanes));
  store_.for_means(entries, take);
}

template <class Archive>
void ChainRun::visit_the_rest(Archive& archive) {
  archive(unabsorbed_);
  if (unabsorbed_ > 0)  // else they are all zero
    for (auto& sums : sums_) archive(sums);
  store_.visit(archive);
  visit_counts(archive);
  archive(ahead_);
  archive(best_state_);
  archive(best_log_score_);
}

void ChainRun::visit(SaveArchive& archive) {
  states_->visit_states(archive);
  states_->visit_totals(archive);
  visit_the_rest(archive);
}

void ChainRun::visit(LoadArchive& archive) {
  for (std::size_t b = 0; b < states_->batches(); ++b) states_->visit_state(b, archive);
  states_->visit_totals(archive);
  visit_the_rest(archive);
}

std::uint32_t ChainRun::wishes_of(const RunControl& control) {
  const double time = control.time_fraction();
  return (control.should_stop() ? stop : 0) | (time >= 1.0 / 3 ? past_third : 0) |
         (time >= 1.0 / 2 ? past_half : 0);
}

std::vector<std::uint32_t> ChainRun::own_numbers() const {
  std::vector<std::uint32_t> list(shape().own_entries.begin(), shape().own_entries.end());
  if (!spread()) {
    list.resize(all_entries());
    std::iota(list.begin(), list.end(), 0U);
  }
  return list;
}

// Events are: the end of burn-in or of the run, a score record, a full segment, a delivered draw, and (so
// that the control is asked often enough) a number of updates.
std::uint64_t ChainRun::sweeps_to_next_event(bool deliver_draws) const {
  std::uint64_t stride = trace_.every - done_ % trace_.every;
  if (!ahead_.empty()) return 1;
  const double most = shape().at_once ? fast_updates : slow_updates;
  stride = std::min(stride, 1 + static_cast<std::uint64_t>(most / updates_per_sweep()));
  if (done_ < burn_in_) return std::min(stride, burn_in_ - done_);
  const std::uint64_t after = done_ - burn_in_;
  const std::uint64_t to_draw = options_.thin - after % options_.thin;
  const std::uint64_t draws_left =
      std::min(store_.segment_length() - open_draws_, absorb_every - unabsorbed_);
  stride = std::min(stride, to_draw + (draws_left - 1) * options_.thin);
  if (deliver_draws) stride = std::min(stride, to_draw);
  return std::min(stride, total_sweeps() - done_);
}

bool ChainRun::advance(std::uint64_t stride, const RunControl& control) {
  const bool breakable = stride == 1 && is_breakable();
  if (breakable && ahead_.empty()) ahead_.assign(states_->batches(), 0);
  std::atomic<bool> whole = true;
  for_each_batch([&](std::size_t b) {
    if (!ahead_.empty() && ahead_[first_batch_ + b] != 0) return;
    if (breakable && control.should_stop()) {
      whole = false;
      return;
    }
    for (std::uint64_t s = done_; s < done_ + stride;) {
      std::uint64_t next = s + 1;
      while (next < done_ + stride && is_kept(next) == is_kept(s)) ++next;
      if (!sweep_alike(b, s, next - s, breakable ? control : no_control())) {
        whole = false;
        return;
      }
      s = next;
    }
    if (breakable) ahead_[first_batch_ + b] = 1;
  });
  if (!whole) return false;
  ahead_.clear();
  for (std::uint64_t s = done_; s < done_ + stride; ++s) {
    open_draws_ += is_kept(s) ? 1 : 0;
    unabsorbed_ += is_kept(s) ? 1 : 0;
  }
  done_ += stride;
  return true;
}

// Batches that are a sweep ahead of others at the end have a draw more in their sums, which then count as those of
// the others do.
void ChainRun::even_out() {
  for (std::size_t b = 0; !ahead_.empty() && b < sums_.size(); ++b) {
    if (ahead_[first_batch_ + b] == 0 || !is_kept(done_)) continue;
    const auto draws = static_cast<float>(unabsorbed_);
    for (float& sum : sums_[b]) sum *= draws / (draws + 1);
  }
  ahead_.clear();
}

// Sweeps that are all kept or all not. False when the control ended the last of them.
bool ChainRun::sweep_alike(std::size_t batch, std::uint64_t first, std::uint64_t count,
                           const RunControl& control) {
  if (!is_kept(first)) return states_->sweep(batch, first, count, control);
  if (sums_values())
    return states_->sweep(batch, first, count, control, ValueSums{sums_[batch], options_.state_values});
  return states_->sweep(batch, first, count, control, ConditionalSums{sums_[batch]});
}

// One after the other where they lie on several ranks, so that all exchange what belongs together.
void ChainRun::for_each_batch(const std::function<void(std::size_t)>& body) {
  if (spread())
    for (std::size_t b = 0; b < states_->batches(); ++b) body(b);
  else
    parallel_for(std::size_t{0}, states_->batches(), body);
}

void ChainRun::score_all(std::vector<double>& scores) {
  const std::uint32_t lanes = shape().lanes;
  scores.resize(states_->batches() * lanes);
  for_each_batch(
      [&](std::size_t b) { states_->log_scores(b, std::span<double>(scores.data() + b * lanes, lanes)); });
  scores.resize(own_chains_);
  if (!shape().whole_states) return;
  const auto best = std::max_element(scores.begin(), scores.end());
  if (best != scores.end() && (best_state_.empty() || *best > best_log_score_)) {
    best_sweep_ = done_;
    const auto chain = static_cast<std::uint32_t>(best - scores.begin());
    best_state_.resize(shape().size);
    states_->read(chain / lanes, chain % lanes, best_state_);
    best_log_score_ = *best;
  }
}

void ChainRun::record_scores() {
  score_all(scores_);
  trace_.sweeps.push_back(done_);
  trace_.scores.insert(trace_.scores.end(), scores_.begin(), scores_.end());
  if (trace_.sweeps.size() >= trace_.capacity) trace_.halve(own_chains_);
}

void ChainRun::deliver(const DrawCallback& on_draw, bool own_draws) {
  score_all(scores_);
  draw_.resize(shape().size);
  const bool travel = !spread() && !own_draws && ranks_->size() > 1;
  const bool heard = !spread() || ranks_->is_first();
  SaveArchive archive;
  for (std::uint32_t c = 0; c < own_chains_; ++c) {
    states_->read(c / shape().lanes, c % shape().lanes, draw_);
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

void ChainRun::gather_states() {
  if (spread()) return states_->gather();
  SaveArchive archive;
  states_->visit_states(archive);
  const std::vector<std::string> parts = ranks_->gather(archive.take());
  if (!ranks_->is_first()) return;
  // Totals follow in gather_totals().
  SaveArchive own_totals;
  states_->visit_totals(own_totals);
  const std::size_t own = states_->batches();
  std::unique_ptr<ChainStates> all = states_->empty();
  for (const std::string& part : parts)
    for (LoadArchive load(part); !load.at_end();) {
      const std::size_t batch = all->batches();
      all->start(options_.seed, static_cast<std::uint32_t>(batch) * shape().lanes, no_control());
      all->visit_state(batch, load);
    }
  all->resize_totals(own);
  LoadArchive totals(own_totals.take());
  all->visit_totals(totals);
  states_ = std::move(all);
}

void ChainRun::gather_sums() {
  const std::uint32_t lanes = shape().lanes;
  if (!spread()) {
    SaveArchive archive;
    for (auto& sums : sums_) archive(sums);
    const std::vector<std::string> parts = ranks_->gather(archive.take());
    if (ranks_->is_first()) sums_.clear();
    for (const std::string& part : parts)
      for (LoadArchive load(part); !load.at_end();) load(sums_.emplace_back());
    return;
  }
  for (LaneSums& sums : sums_) {
    const std::span<const std::uint32_t> own = shape().own_entries;
    const std::vector<std::string> places =
        ranks_->gather({reinterpret_cast<const char*>(own.data()), own.size_bytes()});
    const std::vector<std::string> parts =
        ranks_->gather({reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(float)});
    if (ranks_->is_first()) sums.assign(all_entries() * lanes, 0.0F);
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      for (std::size_t e = 0; e * sizeof(std::uint32_t) < places[rank].size(); ++e) {
        std::uint32_t entry = 0;
        std::memcpy(&entry, places[rank].data() + e * sizeof(entry), sizeof(entry));
        std::memcpy(sums.data() + std::size_t{entry} * lanes, parts[rank].data() + e * lanes * sizeof(float),
                    lanes * sizeof(float));
      }
  }
}

void ChainRun::gather_totals() {
  SaveArchive archive;
  states_->visit_totals(archive);
  std::string all;
  for (const std::string& part : ranks_->gather(archive.take())) all += part;
  if (!ranks_->is_first()) return;
  states_->resize_totals((options_.chains + shape().lanes - 1) / shape().lanes);
  LoadArchive load(std::move(all));
  states_->visit_totals(load);
}

void ChainRun::gather_trace() {
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
void ChainRun::gather_best() {
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
    if (state.empty() && shape().size > 0) continue;
    if (any && (log_score < best_log_score_ || (log_score == best_log_score_ && sweep >= best_sweep_)))
      continue;
    any = true;
    best_log_score_ = log_score;
    best_sweep_ = sweep;
    best_state_ = std::move(state);
  }
}

void ChainRun::absorb() {
  store_.absorb(sums_, shape().lanes, unabsorbed_);
  unabsorbed_ = 0;
}

void ChainRun::close_segment() {
  store_.close_segment(sums_, shape().lanes, unabsorbed_);
  open_draws_ = 0;
  unabsorbed_ = 0;
  if (store_.segments() < 4 || sums_values()) return;  // R-hat is for probabilities
  // A diagnosis costs as much as many sweeps: only when the run grew by half since the last one.
  if (!convergence_.empty() && 2 * (done_ - burn_in_) < 3 * (convergence_.back().sweep - burn_in_)) return;
  if (burn_in_grows()) discard_before(done_ / 3);
  const bool has_target = (options_.target_rhat > 0 || options_.target_mcse > 0) &&
                          (!burn_in_grows() || done_ >= 3 * options_.longest_burn_in);
  const Diagnostics worst = worst_of_all(has_target ? 20'000 : 300);
  convergence_.push_back({done_, worst.rhat_max, worst.mcse_max});
  reached_target_ = has_target && has_enough_draws(worst) &&
                    (options_.target_rhat == 0 || worst.rhat_max <= options_.target_rhat) &&
                    (options_.target_mcse == 0 || worst.mcse_max <= options_.target_mcse);
}

// worst_entry() of the whole run, known to every rank.
Diagnostics ChainRun::worst_of_all(std::size_t most_entries) const {
  if (ranks_->size() == 1) return worst_entry(store_, most_entries);
  const std::size_t step = std::max<std::size_t>(1, (all_entries() + most_entries - 1) / most_entries);
  std::vector<std::size_t> picked;
  std::vector<std::uint32_t> places;
  for (std::size_t e = 0; e < own_entries(); ++e) {
    const std::size_t number = spread() ? shape().own_entries[e] : e;
    if (number % step != 0) continue;
    picked.push_back(e);
    places.push_back(static_cast<std::uint32_t>(number / step));
  }
  const SegmentStore few = store_.picked(picked);
  const std::size_t count = (all_entries() + step - 1) / step;
  const SegmentStore all =
      spread() ? few.gather_entries(*ranks_, places, count) : few.gather_groups(*ranks_, options_.chains);
  Diagnostics worst;
  if (ranks_->is_first()) worst = worst_entry(all, count);
  std::string bytes(reinterpret_cast<const char*>(&worst), sizeof(worst));
  ranks_->broadcast(bytes);
  std::memcpy(&worst, bytes.data(), sizeof(worst));
  return worst;
}

void ChainRun::report(const RunControl& control) const {
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

}  // namespace drover
