#include "drover/sample/dual/dynamic_tables.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/compile/mixture.hpp"
#include "drover/sample/dual/bond_law.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

namespace {

double to_unit(std::uint32_t word) {
  return (word + 0.5) * 0x1p-32;
}

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
  }
  assert(log_values.size() == std::size_t{states[0]} * states[1]);

  const FactorDual dual =
      potts_strength > 0 ? potts_dual(states[0], potts_strength) : dual_of_factor(states, log_values);
  for (std::uint32_t side = 0; side < 2; ++side)
    added.unary[side].assign(dual.log_unary[side].begin(), dual.log_unary[side].end());
  for (const Mixture& mixture : dual.mixtures) {
    assert(mixture.residual.empty() && mixture.components <= 255);
    added.mixtures.push_back({mixture.components,
                              {added.mixture_values.size() + mixture.offsets[0],
                               added.mixture_values.size() + mixture.offsets[1]}});
    for (double value : mixture.values) {
      added.mixture_values.push_back(value);
      added.log_mixture_values.push_back(static_cast<float>(std::log(value)));
    }
  }
  added.drawn.resize(added.mixtures.size() * lanes);
  return index;
}

std::uint32_t DynamicTables::remove_factor(std::uint32_t index) {
  for (std::uint32_t side = 0; side < 2; ++side) {
    auto& list = variables_[find(factors_[index].variable[side])].incidences;
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
    const MixturePlace& mixture = factor.mixtures[m];
    const LaneRandom::Words words = random.words(1 + m, sweep, index);
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const double* a =
          factor.mixture_values.data() + mixture.offsets[0] + first.values[lane] * mixture.count;
      const double* b =
          factor.mixture_values.data() + mixture.offsets[1] + second.values[lane] * mixture.count;
      double total = 0;
      for (std::uint32_t r = 0; r < mixture.count; ++r) total += a[r] * b[r];
      double u = to_unit(words[lane]) * total;
      std::uint32_t drawn = 0;
      while (drawn + 1 < mixture.count && (u -= a[drawn] * b[drawn]) >= 0) ++drawn;
      factor.drawn[m * lanes + lane] = static_cast<std::uint8_t>(drawn);
    }
  }
}

void DynamicTables::draw_variable(std::uint32_t index, const float* gains, const LaneRandom& random,
                                  std::uint64_t sweep, double keep) {
  Variable& variable = variables_[index];
  const std::uint32_t states = variable.states();
  thread_local std::vector<float> scratch;
  scratch.resize(std::size_t{states} * lanes);
  float* logs = scratch.data();  // state-major, lane-minor
  for (std::uint32_t k = 0; k < states; ++k) std::fill_n(logs + k * lanes, lanes, variable.unary[k]);
  if (gains != nullptr)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) logs[lanes + lane] += gains[lane];
  for (const Incidence& incidence : variable.incidences) {
    const Factor& factor = factors_[incidence.factor];
    for (std::uint32_t k = 0; k < states; ++k)
      for (std::uint32_t lane = 0; lane < lanes; ++lane)
        logs[k * lanes + lane] += factor.unary[incidence.side][k];
    for (std::size_t m = 0; m < factor.mixtures.size(); ++m) {
      const MixturePlace& mixture = factor.mixtures[m];
      const std::uint8_t* drawn = factor.drawn.data() + m * lanes;
      for (std::uint32_t k = 0; k < states; ++k) {
        const float* row = factor.log_mixture_values.data() + mixture.offsets[incidence.side] +
                           std::size_t{k} * mixture.count;
        for (std::uint32_t lane = 0; lane < lanes; ++lane) logs[k * lanes + lane] += row[drawn[lane]];
      }
    }
  }

  const LaneRandom::Words words = random.words(1, sweep, variable.slot);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    float largest = logs[lane];
    double total = 0;
    for (std::uint32_t k = 1; k < states; ++k) largest = std::max(largest, logs[k * lanes + lane]);
    for (std::uint32_t k = 0; k < states; ++k)
      total += logs[k * lanes + lane] = std::exp(logs[k * lanes + lane] - largest);
    double u = to_unit(words[lane]) * total;
    std::uint32_t drawn = 0;
    while (drawn + 1 < states && (u -= logs[drawn * lanes + lane]) >= 0) ++drawn;
    variable.values[lane] = static_cast<Value>(drawn);
    for (std::uint32_t k = 0; k < states; ++k) logs[k * lanes + lane] /= static_cast<float>(total);
  }
  for (std::uint32_t k = 0; k < states; ++k) {
    double sum = 0, squares = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const double p = logs[k * lanes + lane];
      sum += p;
      squares += p * p;
    }
    const double mean = sum / lanes;
    DynamicAverage& average = variable.averages[k];
    average.weight = keep * average.weight + 1;
    average.sum = keep * average.sum + mean;
    average.variance = keep * average.variance + std::max(0.0, squares / lanes - mean * mean) / (lanes - 1);
  }
}

}  // namespace drover
