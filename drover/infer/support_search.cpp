#include "drover/infer/support_search.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace drover {

namespace {
constexpr std::size_t candidates_looked_at = 64;
constexpr std::size_t first_restart = 50;
}  // namespace

SupportSearch::SupportSearch(const Graph& graph, StopCheck* check) : graph_(graph), check_(check) {
  const Tables& tables = graph.tables;
  std::vector<char> has_zero(tables.table_count());
  for (std::size_t t = 0; t < has_zero.size(); ++t) {
    const auto values = tables.table(t);
    has_zero[t] = std::find(values.begin(), values.end(), log_zero) != values.end();
  }
  hard_offsets_.assign(graph.size() + 1, 0);
  for (std::size_t f = 0; f < tables.size(); ++f) {
    if (!has_zero[tables.table_of[f]]) continue;
    hard_factors_.push_back(f);
    for (VariableId v : tables.scope(f)) ++hard_offsets_[v + 1];
  }
  for (std::size_t v = 0; v < graph.size(); ++v) hard_offsets_[v + 1] += hard_offsets_[v];
  hard_list_.resize(hard_offsets_.back());
  std::vector<std::size_t> cursor(hard_offsets_.begin(), hard_offsets_.end() - 1);
  for (std::size_t h = 0; h < hard_factors_.size(); ++h)
    for (VariableId v : tables.scope(hard_factors_[h]))
      hard_list_[cursor[v]++] = static_cast<std::uint32_t>(h);

  live_.resize(graph.unary.size());
  live_count_.assign(graph.size(), 0);
  for (std::size_t e = 0; e < live_.size(); ++e) live_[e] = graph.unary[e] != log_zero;
  open_position_.assign(graph.size(), 0);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    for (std::size_t k = 0; k < graph.cardinalities[v]; ++k)
      live_count_[v] += is_live(static_cast<VariableId>(v), k);
    if (hard_offsets_[v + 1] > hard_offsets_[v] && live_count_[v] > 1) {
      open_position_[v] = open_.size();
      open_.push_back(static_cast<VariableId>(v));
    }
  }
  open_size_ = open_.size();
  failures_.assign(graph.size(), 1.0);
  queued_.assign(hard_factors_.size(), 0);
}

std::optional<SupportSearch::Culprit> SupportSearch::propagate_constraints() {
  for (std::size_t h = 0; h < hard_factors_.size(); ++h) {
    queue_.push_back(static_cast<std::uint32_t>(h));
    queued_[h] = 1;
  }
  if (!propagate()) return culprit_;
  trail_.clear();
  return std::nullopt;
}

SupportSearch::Outcome SupportSearch::search(std::uint64_t seed, std::uint32_t number,
                                             std::size_t max_dead_ends, std::span<Value> x) {
  assert(x.size() == graph_.size());
  RandomSequence random(seed, Stream::start, number);
  std::vector<Choice> choices;
  std::size_t dead_ends = 0, restart_limit = first_restart, since_restart = 0;
  const std::size_t root_open = open_size_;
  Outcome outcome = Outcome::found;
  while (open_size_ > 0) {
    const VariableId variable = pick_variable(random);
    const Value value = pick_value(variable, random);
    if (check_ != nullptr) check_->step(64);
    choices.push_back({variable, value, trail_.size(), open_size_});
    bool consistent = assign(variable, value);
    while (!consistent && !choices.empty()) {
      ++dead_ends;
      ++since_restart;
      const Choice last = choices.back();
      choices.pop_back();
      undo(last.trail_size, last.open_size);
      consistent = remove(last.variable, last.value) && propagate();
    }
    if (!consistent) {
      outcome = Outcome::impossible;
      break;
    }
    if (dead_ends >= max_dead_ends) {
      outcome = Outcome::gave_up;
      break;
    }
    // What was removed below the first choice rests on that choice; a restart forgets it, but not the
    // failures.
    if (since_restart >= restart_limit && !choices.empty()) {
      undo(choices.front().trail_size, choices.front().open_size);
      choices.clear();
      since_restart = 0;
      restart_limit += restart_limit / 2;
    }
  }
  if (outcome == Outcome::found)
    for (std::size_t v = 0; v < graph_.size(); ++v) x[v] = pick_value(static_cast<VariableId>(v), random);
  undo(0, root_open);
  return outcome;
}

VariableId SupportSearch::pick_variable(RandomSequence& random) const {
  VariableId best = open_[0];
  double best_score = -1;
  const bool sample = open_size_ > candidates_looked_at;
  const std::size_t count = sample ? candidates_looked_at : open_size_;
  for (std::size_t c = 0; c < count; ++c) {
    const VariableId v = open_[sample ? random.below(static_cast<std::uint32_t>(open_size_)) : c];
    const double score = failures_[v] / live_count_[v] * (1 + 0.01 * random.uniform());
    if (score > best_score) {
      best_score = score;
      best = v;
    }
  }
  return best;
}

Value SupportSearch::pick_value(VariableId variable, RandomSequence& random) const {
  std::uint32_t skip = live_count_[variable] > 1 ? random.below(live_count_[variable]) : 0;
  std::size_t value = 0;
  while (!is_live(variable, value) || skip-- > 0) ++value;
  return static_cast<Value>(value);
}

bool SupportSearch::assign(VariableId variable, Value value) {
  for (std::size_t k = 0; k < graph_.cardinalities[variable]; ++k)
    if (k != value && is_live(variable, k)) remove(variable, static_cast<Value>(k));
  return propagate();
}

// False when the variable has no value left.
bool SupportSearch::remove(VariableId variable, Value value) {
  live_[graph_.unary_offsets[variable] + value] = 0;
  trail_.push_back({variable, value});
  if (--live_count_[variable] == 1) close(variable);
  enqueue_factors_of(variable);
  return live_count_[variable] > 0;
}

void SupportSearch::close(VariableId variable) {
  const std::size_t at = open_position_[variable];
  if (at >= open_size_ || open_[at] != variable) return;
  --open_size_;
  const VariableId moved = open_[open_size_];
  std::swap(open_[at], open_[open_size_]);
  open_position_[moved] = at;
  open_position_[variable] = open_size_;
}

void SupportSearch::undo(std::size_t trail_size, std::size_t open_size) {
  while (trail_.size() > trail_size) {
    const Removal removal = trail_.back();
    trail_.pop_back();
    live_[graph_.unary_offsets[removal.variable] + removal.value] = 1;
    ++live_count_[removal.variable];
  }
  open_size_ = open_size;
  for (std::uint32_t h : queue_) queued_[h] = 0;
  queue_.clear();
}

void SupportSearch::enqueue_factors_of(VariableId variable) {
  for (std::size_t e = hard_offsets_[variable]; e < hard_offsets_[variable + 1]; ++e) {
    const std::uint32_t h = hard_list_[e];
    if (queued_[h]) continue;
    queued_[h] = 1;
    queue_.push_back(h);
  }
}

bool SupportSearch::propagate() {
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const std::uint32_t h = queue_[next];
    queued_[h] = 0;
    if (check_ != nullptr) check_->step(16 + graph_.tables.values(hard_factors_[h]).size());
    if (!revise(h)) {
      culprit_.factor = hard_factors_[h];
      for (VariableId v : graph_.tables.scope(hard_factors_[h])) failures_[v] += 1;
      for (std::uint32_t waiting : queue_) queued_[waiting] = 0;
      queue_.clear();
      return false;
    }
  }
  queue_.clear();
  return true;
}

// Removes the values of one factor's variables that no positive entry supports.
bool SupportSearch::revise(std::size_t hard) {
  const auto scope = graph_.tables.scope(hard_factors_[hard]);
  const auto table = graph_.tables.values(hard_factors_[hard]);
  const std::size_t arity = scope.size();
  if (values_.size() < arity) {
    values_.resize(arity);
    supported_.resize(arity);
    digits_.resize(arity);
  }
  std::size_t unsupported = 0;
  for (std::size_t a = 0; a < arity; ++a) {
    values_[a].clear();
    for (std::size_t k = 0; k < graph_.cardinalities[scope[a]]; ++k)
      if (is_live(scope[a], k)) values_[a].push_back(static_cast<Value>(k));
    supported_[a].assign(values_[a].size(), 0);
    digits_[a] = 0;
    unsupported += values_[a].size();
    if (values_[a].empty()) {
      culprit_.variable = scope[a];
      return false;
    }
  }
  for (bool more = true; more && unsupported > 0;) {
    std::size_t index = 0;
    for (std::size_t a = 0; a < arity; ++a)
      index = index * graph_.cardinalities[scope[a]] + values_[a][digits_[a]];
    if (table[index] != log_zero)
      for (std::size_t a = 0; a < arity; ++a) unsupported -= !std::exchange(supported_[a][digits_[a]], 1);
    more = false;
    for (std::size_t a = arity; a-- > 0 && !more;) {
      if (++digits_[a] < values_[a].size())
        more = true;
      else
        digits_[a] = 0;
    }
  }
  if (unsupported == 0) return true;
  queued_[hard] = 1;  // what follows need not bring this factor back: one pass made it consistent
  bool consistent = true;
  for (std::size_t a = 0; a < arity && consistent; ++a)
    for (std::size_t d = 0; d < values_[a].size() && consistent; ++d)
      if (!supported_[a][d] && !remove(scope[a], values_[a][d])) {
        culprit_.variable = scope[a];
        consistent = false;
      }
  queued_[hard] = 0;
  return consistent;
}

}  // namespace drover
