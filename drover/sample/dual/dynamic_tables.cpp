#include "drover/sample/dual/dynamic_tables.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/compile/mixture.hpp"
#include "drover/core/aligned.hpp"
#include "drover/sample/dual/bond_law.hpp"
#include "drover/sample/dual/dynamic_tables_draw.hpp"

namespace drover {

namespace {

// exp(strength [x = y]) up to a constant: one component per state, which its own state likes better.
FactorDual potts_dual(std::uint32_t states, double strength) {
  const double gain = std::exp(bond_law(strength, 0, states).gain);
  Mixture mixture;
  mixture.components = states;
  for (int end = 0; end < 2; ++end) {
    mixture.offsets.push_back(static_cast<std::uint32_t>(mixture.values.size()));
    for (std::uint32_t k = 0; k < states; ++k)
      for (std::uint32_t r = 0; r < states; ++r) mixture.values.push_back(k == r ? gain : 1);
  }
  FactorDual dual;
  dual.log_unary.assign(2, std::vector<double>(states, 0.0));
  dual.mixtures.push_back(std::move(mixture));
  return dual;
}

}  // namespace

void DynamicTables::add_variable(std::uint32_t slot, std::span<const double> log_values) {
  assert(find(slot) == none);
  if (slot >= places_.size()) places_.resize(slot + 1, none);
  places_[slot] = static_cast<std::uint32_t>(variables_.size());
  Variable& added = variables_.emplace_back();
  added.slot = slot;
  added.unary.assign(log_values.begin(), log_values.end());
  added.averages.resize(log_values.size());
}

void DynamicTables::set_unary(std::uint32_t index, std::span<const double> log_values) {
  variables_[index].unary.assign(log_values.begin(), log_values.end());
  variables_[index].total.clear();
}

void DynamicTables::remove_variable(std::uint32_t slot) {
  const std::uint32_t index = find(slot);
  assert(index != none && variables_[index].incidences.empty());
  places_[slot] = none;
  if (index + 1 != variables_.size()) {
    variables_[index] = std::move(variables_.back());
    places_[variables_[index].slot] = index;
  }
  variables_.pop_back();
}

std::uint32_t DynamicTables::add_factor(std::uint32_t slot, std::uint32_t first, std::uint32_t second,
                                        std::span<const double> log_values, double potts_strength) {
  const auto index = static_cast<std::uint32_t>(factors_.size());
  Factor& added = factors_.emplace_back();
  added.variable = {first, second};
  added.slot = slot;
  added.log_values.assign(log_values.begin(), log_values.end());
  std::uint32_t states[2];
  for (std::uint32_t side = 0; side < 2; ++side) {
    Variable& end = variables_[find(added.variable[side])];
    states[side] = end.states();
    added.place[side] = static_cast<std::uint32_t>(end.incidences.size());
    end.incidences.push_back({index, side});
    end.total.clear();
  }
  assert(log_values.size() == std::size_t{states[0]} * states[1]);

  const FactorDual dual =
      potts_strength > 0 ? potts_dual(states[0], potts_strength) : dual_of_factor(states, log_values);
  for (std::uint32_t side = 0; side < 2; ++side)
    added.unary[side].assign(dual.log_unary[side].begin(), dual.log_unary[side].end());
  for (const Mixture& mixture : dual.mixtures) {
    assert(mixture.residual.empty() && mixture.components <= 255);
    const std::size_t begin = added.weights.size(), count = mixture.components;
    added.mixtures.push_back({mixture.components, {begin + mixture.offsets[0], begin + mixture.offsets[1]}});
    added.weights.resize(begin + mixture.values.size());
    added.logs.resize(begin + mixture.values.size());
    for (std::uint32_t side = 0; side < 2; ++side)
      for (std::size_t x = 0; x < states[side]; ++x)
        for (std::size_t r = 0; r < count; ++r) {
          const std::size_t end = begin + mixture.offsets[side];
          const double value = mixture.values[mixture.offsets[side] + x * count + r];
          added.weights[end + r * states[side] + x] = static_cast<float>(value);
          added.logs[end + x * count + r] = static_cast<float>(std::log(value));
        }
  }
  added.weights.resize(added.weights.size() + table_slack);
  added.logs.resize(added.logs.size() + table_slack);
  added.drawn.resize(added.mixtures.size() * lanes);
  return index;
}

std::uint32_t DynamicTables::remove_factor(std::uint32_t index) {
  for (std::uint32_t side = 0; side < 2; ++side) {
    Variable& end = variables_[find(factors_[index].variable[side])];
    auto& list = end.incidences;
    end.total.clear();
    const std::uint32_t place = factors_[index].place[side];
    list[place] = list.back();
    list.pop_back();
    if (place < list.size()) factors_[list[place].factor].place[list[place].side] = place;
  }
  const bool is_last = index + 1 == factors_.size();
  if (!is_last) {
    factors_[index] = std::move(factors_.back());
    for (std::uint32_t side = 0; side < 2; ++side)
      variables_[find(factors_[index].variable[side])].incidences[factors_[index].place[side]].factor = index;
  }
  factors_.pop_back();
  return is_last ? none : factors_[index].slot;
}

void DynamicTables::draw_duals(std::uint32_t index, const LaneRandom& random, std::uint64_t sweep) {
  Factor& factor = factors_[index];
  const Variable& first = variables_[find(factor.variable[0])];
  const Variable& second = variables_[find(factor.variable[1])];
  for (std::uint32_t m = 0; m < factor.mixtures.size(); ++m) {
    const MixturePlace& place = factor.mixtures[m];
    const MixtureTables mixture{
        place.count,
        {first.states(), second.states()},
        {factor.weights.data() + place.offsets[0], factor.weights.data() + place.offsets[1]}};
    draw_components(mixture, first.values.data(), second.values.data(), random, 1 + m, sweep, index,
                    factor.drawn.data() + m * lanes);
  }
}

void DynamicTables::add_up(Variable& variable) const {
  variable.total = variable.unary;
  for (std::uint32_t k = 0; k < variable.states(); ++k)
    for (const Incidence& incidence : variable.incidences)
      variable.total[k] += factors_[incidence.factor].unary[incidence.side][k];
}

// Factors are anywhere in memory: they are asked for one variable ahead, where to find their numbers two.
void DynamicTables::fetch_after(std::uint32_t index) const {
  if (index + 2 < variables_.size())
    for (const Incidence& incidence : variables_[index + 2].incidences) {
      __builtin_prefetch(&factors_[incidence.factor].mixtures);
      __builtin_prefetch(&factors_[incidence.factor].drawn);
    }
  if (index + 1 < variables_.size())
    for (const Incidence& incidence : variables_[index + 1].incidences) {
      const Factor& factor = factors_[incidence.factor];
      __builtin_prefetch(factor.mixtures.data());
      __builtin_prefetch(factor.logs.data());
      for (std::size_t m = 0; m < factor.mixtures.size(); ++m)
        __builtin_prefetch(factor.drawn.data() + m * lanes);
    }
}

void DynamicTables::draw_variable(std::uint32_t index, const float* gains, const LaneRandom& random,
                                  std::uint64_t sweep, double keep) {
  Variable& variable = variables_[index];
  const std::uint32_t states = variable.states();
  thread_local AlignedFloats scratch;
  scratch.resize(std::size_t{states} * lanes);
  float* const logs = scratch.data();  // state-major, lane-minor
  fetch_after(index);
  if (variable.total.empty()) add_up(variable);
  for (std::uint32_t k = 0; k < states; ++k) std::fill_n(logs + k * lanes, lanes, variable.total[k]);
  if (gains != nullptr)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) logs[lanes + lane] += gains[lane];
  for (const Incidence& incidence : variable.incidences) {
    const Factor& factor = factors_[incidence.factor];
    for (std::size_t m = 0; m < factor.mixtures.size(); ++m)
      add_drawn_terms(factor.logs.data() + factor.mixtures[m].offsets[incidence.side],
                      factor.mixtures[m].count, states, factor.drawn.data() + m * lanes, logs);
  }
  draw_states(logs, states, random, 1, sweep, variable.slot, variable.values.data());
  for (std::uint32_t k = 0; k < states; ++k) {
    const LaneMoments moments = lane_moments(logs + k * lanes);
    DynamicAverage& average = variable.averages[k];
    average.weight = keep * average.weight + 1;
    average.sum = keep * average.sum + moments.mean;
    average.variance = keep * average.variance + moments.variance / (lanes - 1);
  }
}

}  // namespace drover
