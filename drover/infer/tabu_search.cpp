#include "drover/infer/tabu_search.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace drover {

namespace {

constexpr std::uint32_t oscillation = 10;  // steps on one side of the border before the penalty changes
constexpr double penalty_change = 1.3;
constexpr std::uint32_t least_tenure = 5, tenure_spread = 10;

}  // namespace

TabuSearch::TabuSearch(const CostNetwork& network)
    : network_(network),
      cost_(network.unary.size()),
      violated_(network.unary.size()),
      forbidden_until_(network.unary.size(), 0) {
  double range = 0;
  for (VariableId v = 0; v < network.size(); ++v) {
    std::size_t possible = 0;
    for (std::uint32_t k = 0; k < network.cardinalities[v]; ++k)
      possible += network.unary[network.value_offsets[v] + k] < infinite_cost ? 1 : 0;
    if (possible > 1) movable_.push_back(v);
  }
  for (double cost : network.unary)
    if (cost < infinite_cost) range = std::max(range, cost);
  for (double cost : network.tables)
    if (cost < infinite_cost) range = std::max(range, cost);
  penalty_ = std::max(1.0, range);
  patience_ = 1000 + 20 * network.unary.size();
}

void TabuSearch::start(std::span<const Value> state) {
  place(state);
  last_gain_ = step_;
}

void TabuSearch::place(std::span<const Value> state) {
  state_.assign(state.begin(), state.end());
  for (VariableId v = 0; v < state_.size(); ++v) {
    const double* const unary = network_.unary.data() + network_.value_offsets[v];
    if (unary[state_[v]] == infinite_cost)
      state_[v] = static_cast<Value>(std::min_element(unary, unary + network_.cardinalities[v]) - unary);
  }
  compute_costs();
}

void TabuSearch::compute_costs() {
  std::copy(network_.unary.begin(), network_.unary.end(), cost_.begin());
  std::fill(violated_.begin(), violated_.end(), 0);
  state_cost_ = 0;
  state_violated_ = 0;
  for (VariableId v = 0; v < network_.size(); ++v)
    state_cost_ += network_.unary[network_.value_offsets[v] + state_[v]];
  for (std::size_t f = 0; f < network_.factor_count(); ++f) {
    std::size_t at = network_.table_offsets[f];
    for (std::size_t e = network_.scope_offsets[f]; e < network_.scope_offsets[f + 1]; ++e)
      at += network_.stride[e] * state_[network_.variable[e]];
    if (network_.tables[at] < infinite_cost)
      state_cost_ += network_.tables[at];
    else
      ++state_violated_;
    for (std::size_t e = network_.scope_offsets[f]; e < network_.scope_offsets[f + 1]; ++e) {
      const VariableId v = network_.variable[e];
      const double* entry = network_.tables.data() + (at - network_.stride[e] * state_[v]);
      const std::size_t values = network_.value_offsets[v];
      for (std::uint32_t k = 0; k < network_.cardinalities[v]; ++k, entry += network_.stride[e]) {
        if (*entry < infinite_cost)
          cost_[values + k] += *entry;
        else
          ++violated_[values + k];
      }
    }
  }
}

// Ties are broken by chance.
TabuSearch::Change TabuSearch::choose(RandomSequence& random) {
  Change best;
  double least = infinite_cost;
  std::uint32_t ties = 0;
  for (VariableId v : movable_) {
    const std::size_t values = network_.value_offsets[v];
    const double own_cost = cost_[values + state_[v]];
    const std::int32_t own_violated = violated_[values + state_[v]];
    for (std::uint32_t k = 0; k < network_.cardinalities[v]; ++k) {
      if (k == state_[v]) continue;
      const double soft = cost_[values + k] - own_cost;
      const std::int32_t hard = violated_[values + k] - own_violated;
      const double change = soft + penalty_ * hard;
      if (change > least || cost_[values + k] == infinite_cost) continue;
      const bool leads_to_best = state_violated_ + hard == 0 && state_cost_ + soft < best_cost_;
      if (forbidden_until_[values + k] > step_ && !leads_to_best) continue;
      ties = change < least ? 1 : ties + 1;
      if (ties > 1 && random.below(ties) != 0) continue;
      least = change;
      best = {v, static_cast<Value>(k)};
    }
  }
  return best;
}

std::uint64_t TabuSearch::apply(const Change& change) {
  const VariableId v = change.variable;
  const std::size_t values = network_.value_offsets[v];
  const Value old = state_[v];
  state_cost_ += cost_[values + change.value] - cost_[values + old];
  state_violated_ += violated_[values + change.value] - violated_[values + old];
  std::uint64_t work = 0;
  for (std::uint32_t own : network_.edges_of(v)) {
    const std::size_t f = network_.factor[own];
    std::size_t at = network_.table_offsets[f];
    for (std::size_t e = network_.scope_offsets[f]; e < network_.scope_offsets[f + 1]; ++e)
      at += network_.stride[e] * state_[network_.variable[e]];
    const std::ptrdiff_t step =
        static_cast<std::ptrdiff_t>(network_.stride[own]) * (static_cast<std::ptrdiff_t>(change.value) - old);
    for (std::size_t e = network_.scope_offsets[f]; e < network_.scope_offsets[f + 1]; ++e) {
      if (e == own) continue;
      const VariableId w = network_.variable[e];
      const std::size_t others = network_.value_offsets[w];
      const double* before = network_.tables.data() + (at - network_.stride[e] * state_[w]);
      for (std::uint32_t k = 0; k < network_.cardinalities[w]; ++k, before += network_.stride[e]) {
        const double was = before[0], is = before[step];
        cost_[others + k] += (is < infinite_cost ? is : 0) - (was < infinite_cost ? was : 0);
        violated_[others + k] += (is < infinite_cost ? 0 : 1) - (was < infinite_cost ? 0 : 1);
      }
      work += network_.cardinalities[w];
    }
  }
  state_[v] = change.value;
  return work;
}

void TabuSearch::shake(RandomSequence& random) {
  place(best_.empty() ? state_ : best_);
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(2, movable_.size() / 3));
  for (std::uint32_t changes = 2 + random.below(most); changes > 0; --changes) {
    const VariableId v = movable_[random.below(static_cast<std::uint32_t>(movable_.size()))];
    const Value k = static_cast<Value>(random.below(network_.cardinalities[v]));
    if (k != state_[v] && cost_[network_.value_offsets[v] + k] < infinite_cost) apply({v, k});
  }
  std::fill(forbidden_until_.begin(), forbidden_until_.end(), 0);
  last_gain_ = step_;
}

std::uint64_t TabuSearch::run(std::uint64_t work, RandomSequence& random, const RunControl& control) {
  assert(state_.size() == network_.size());
  std::uint64_t done = 0;
  while (!movable_.empty() && done < work && !((step_ & 255) == 0 && control.should_stop())) {
    ++step_;
    done += network_.unary.size();
    const Change change = choose(random);
    if (change.variable == no_variable || step_ - last_gain_ > patience_) {
      shake(random);
      done += network_.tables.size();
      continue;
    }
    const std::size_t left = network_.value_offsets[change.variable] + state_[change.variable];
    forbidden_until_[left] = step_ + least_tenure + random.below(tenure_spread);
    done += apply(change);
    if (state_violated_ == 0) {
      steps_violated_ = 0;
      if (++steps_possible_ % oscillation == 0) penalty_ = std::max(1.0, penalty_ / penalty_change);
      if (state_cost_ < best_cost_) {
        best_cost_ = state_cost_;
        best_ = state_;
        last_gain_ = step_;
      }
    } else {
      steps_possible_ = 0;
      if (++steps_violated_ % oscillation == 0) penalty_ = std::min(0x1p51, penalty_ * penalty_change);
    }
  }
  return done;
}

}  // namespace drover
