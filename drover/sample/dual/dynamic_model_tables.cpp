// What a DynamicModel does beyond pairs of binary variables, and its conversions from and to a Model.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/sample/dual/dynamic_model.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

namespace {

/// body(index), some factors or variables a task.
template <class Body>
void for_each_index(std::size_t count, const Body& body) {
  parallel_blocks(count, 32, [&](std::size_t begin, std::size_t end) {
    for (std::size_t index = begin; index < end; ++index) body(static_cast<std::uint32_t>(index));
  });
}

}  // namespace

std::string DynamicModel::why_not(const Graph& graph) {
  for (VariableId v = 0; v < graph.size(); ++v)
    if (graph.cardinalities[v] > most_states)
      return fmt::format("variables have at most {} states; {} has {}", most_states, graph.name(v),
                         graph.cardinalities[v]);
  if (!graph.is_strictly_positive()) return "all factors must be strictly positive";
  if (!graph.is_pairwise()) return "factors have at most two variables";
  const auto is_far = [&](VariableId first, VariableId second, double spread) {
    return (graph.cardinalities[first] > 2 || graph.cardinalities[second] > 2) && !(spread <= most_spread);
  };
  const auto too_far = [&](VariableId first, VariableId second) {
    return fmt::format("the factor of {} and {} has entries more than a factor of exp({}) apart",
                       graph.name(first), graph.name(second), most_spread);
  };
  const PottsPairs& potts = graph.potts_pairs;
  for (std::size_t p = 0; p < potts.size(); ++p)
    if (is_far(potts.first[p], potts.second[p], std::abs(potts.couplings[p])))
      return too_far(potts.first[p], potts.second[p]);
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    const auto [least, most] = std::ranges::minmax(graph.tables.values(f));
    if (is_far(scope[0], scope[1], most - least)) return too_far(scope[0], scope[1]);
  }
  return "";
}

DynamicModel::DynamicModel(const Graph& graph, std::uint64_t seed, double half_life,
                           const RunControl& control)
    : DynamicModel(seed, half_life) {
  assert(why_not(graph).empty());
  StopCheck check(control, "the model", "was laid out");
  for (VariableId v = 0; v < graph.size(); ++v) {
    check.step();
    add_variable(graph.unary_of(v));
  }
  const SpinPairs& spins = graph.spin_pairs;
  for (std::size_t p = 0; p < spins.size(); ++p) {
    check.step();
    add_factor(spins.first[p], spins.second[p], spins.couplings[p]);
  }
  const PottsPairs& potts = graph.potts_pairs;
  for (std::size_t p = 0; p < potts.size(); ++p) {
    check.step();
    add_potts(potts.first[p], potts.second[p], potts.couplings[p]);
  }
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    check.step(graph.tables.values(f).size());
    add_factor(graph.tables.scope(f)[0], graph.tables.scope(f)[1], graph.tables.values(f));
  }
}

bool DynamicModel::is_wide(std::uint32_t slot) const {
  const std::uint32_t index = tables_.find(slot);
  return index != DynamicTables::none && tables_.variable(index).states() > 2;
}

std::uint32_t DynamicModel::states(Id variable) const {
  assert(has_variable(variable));
  const std::uint32_t index = tables_.find(SlotTable::slot_of(variable));
  return index == DynamicTables::none ? 2 : tables_.variable(index).states();
}

std::size_t DynamicModel::degree(Id variable) const {
  assert(has_variable(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable), index = tables_.find(slot);
  return incidences_[slot].size() +
         (index == DynamicTables::none ? 0 : tables_.variable(index).incidences.size());
}

DynamicModel::Id DynamicModel::add_variable(std::span<const double> log_unary) {
  assert(log_unary.size() >= 2 && log_unary.size() <= most_states);
  if (log_unary.size() == 2) return add_variable(log_unary[1] - log_unary[0]);
  const Id id = add_variable();
  const std::uint32_t slot = SlotTable::slot_of(id);
  tables_.add_variable(slot, log_unary);
  modes_[slot] = Mode::tabled;
  const LaneRandom::Words words =
      LaneRandom(seed_, Stream::start).words(static_cast<std::uint32_t>(id >> 32), sweeps_, slot);
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    tables_.variable(tables_.find(slot)).values[lane] =
        static_cast<std::uint8_t>(std::uint64_t{words[lane]} * log_unary.size() >> 32);
  return id;
}

void DynamicModel::set_unary(Id variable, std::span<const double> log_unary) {
  assert(log_unary.size() == states(variable));
  if (log_unary.size() == 2) {
    set_unary(variable, log_unary[1] - log_unary[0]);
    return;
  }
  const std::uint32_t index = tables_.find(SlotTable::slot_of(variable));
  tables_.set_unary(index, log_unary);
}

DynamicModel::Id DynamicModel::add_factor(Id first, Id second, std::span<const double> log_values) {
  assert(log_values.size() == std::size_t{states(first)} * states(second));
  if (states(first) > 2 || states(second) > 2) return add_table(first, second, log_values, 0);
  // A 2x2 table is a coupling, two unaries and a constant, which changes no probability.
  const double l00 = log_values[0], l01 = log_values[1], l10 = log_values[2], l11 = log_values[3];
  return add_edge(first, second, ((l00 - l01) + (l11 - l10)) / 4,
                  {((l10 - l00) + (l11 - l01)) / 2, ((l01 - l00) + (l11 - l10)) / 2});
}

DynamicModel::Id DynamicModel::add_potts(Id first, Id second, double strength) {
  assert(states(first) == states(second));
  const std::uint32_t count = states(first);
  if (count == 2) return add_edge(first, second, strength / 2, {0, 0});
  std::vector<double> log_values(std::size_t{count} * count, 0.0);
  for (std::uint32_t k = 0; k < count; ++k) log_values[std::size_t{k} * count + k] = strength;
  return add_table(first, second, log_values, strength);
}

DynamicModel::Id DynamicModel::add_table(Id first, Id second, std::span<const double> log_values,
                                         double potts_strength) {
  assert(first != second);
  const Id id = factors_.take();
  const std::uint32_t slot = take_slot(id);
  const std::uint32_t ends[2] = {SlotTable::slot_of(first), SlotTable::slot_of(second)};
  for (std::uint32_t end : ends) enter_tables(end);
  edge_of_slot_[slot] = table_bit | tables_.add_factor(slot, ends[0], ends[1], log_values, potts_strength);
  return id;
}

void DynamicModel::remove_table(std::uint32_t index) {
  const auto ends = tables_.factor(index).variable;
  const std::uint32_t moved = tables_.remove_factor(index);
  if (moved != DynamicTables::none) edge_of_slot_[moved] = table_bit | index;
  for (std::uint32_t end : ends)
    if (!is_wide(end) && tables_.variable(tables_.find(end)).incidences.empty()) leave_tables(end);
}

// A binary variable gets its first factor there, or loses its last.
void DynamicModel::enter_tables(std::uint32_t slot) {
  if (tables_.find(slot) != DynamicTables::none) return;
  const double log_unary[2] = {0, log_odds_[slot]};
  tables_.add_variable(slot, log_unary);
  const Average& one = averages_[slot];
  tables_.variable(tables_.find(slot)).averages = {{one.weight, one.weight - one.sum, one.variance}, one};
  if (modes_[slot] == Mode::free) modes_[slot] = Mode::tabled;
}

void DynamicModel::leave_tables(std::uint32_t slot) {
  averages_[slot] = tables_.variable(tables_.find(slot)).averages[1];
  tables_.remove_variable(slot);
  if (modes_[slot] == Mode::tabled) modes_[slot] = Mode::free;
}

Value DynamicModel::value(Id variable, std::uint32_t lane) const {
  const std::uint32_t slot = SlotTable::slot_of(variable);
  if (is_wide(slot)) return tables_.variable(tables_.find(slot)).values[lane];
  return static_cast<Value>(words_[slot] >> lane & 1);
}

void DynamicModel::set_value(Id variable, std::uint32_t lane, Value value) {
  assert(value < states(variable) && !is_clamped(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable);
  if (is_wide(slot))
    tables_.variable(tables_.find(slot)).values[lane] = static_cast<std::uint8_t>(value);
  else
    words_[slot] = (words_[slot] & ~(std::uint64_t{1} << lane)) | std::uint64_t{value} << lane;
}

// After the duals of binary pairs were drawn: binary variables that are here too have pairs of that kind.
void DynamicModel::sweep_tables() {
  // Batch 0 of these belongs to pairs of binary variables.
  const LaneRandom dual_random(seed_, Stream::hidden_units), random(seed_, Stream::sweep);
  for_each_index(tables_.size(), [&](std::uint32_t index) {
    DynamicTables::Variable& variable = tables_.variable(index);
    if (variable.states() > 2) return;
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      variable.values[lane] = static_cast<std::uint8_t>(words_[variable.slot] >> lane & 1);
  });
  for_each_index(tables_.factor_count(),
                 [&](std::uint32_t factor) { tables_.draw_duals(factor, dual_random, sweeps_); });
  for_each_index(tables_.size(), [&](std::uint32_t index) {
    const DynamicTables::Variable& variable = tables_.variable(index);
    if (modes_[variable.slot] != Mode::tabled) return;
    if (variable.states() > 2) {
      tables_.draw_variable(index, nullptr, random, sweeps_, keep_);
      return;
    }
    float gains[lanes] = {};
    for (const Incidence& incidence : incidences_[variable.slot])
      for (std::uint32_t lane = 0; lane < lanes; ++lane)
        gains[lane] += (duals_[incidence.edge] >> lane & 1) != 0 ? incidence.if_one : incidence.if_zero;
    tables_.draw_variable(index, gains, random, sweeps_, keep_);
    std::uint64_t word = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) word |= std::uint64_t{variable.values[lane]} << lane;
    words_[variable.slot] = word;
  });
}

Model DynamicModel::model() const {
  Model model;
  std::vector<VariableId> number(modes_.size(), no_variable);
  for (std::uint32_t slot = 0; slot < modes_.size(); ++slot) {
    if (modes_[slot] == Mode::absent) continue;
    number[slot] = static_cast<VariableId>(model.cardinalities.size());
    std::vector<double> unary = {0, log_odds_[slot]};
    if (is_wide(slot)) {
      const auto& own = tables_.variable(tables_.find(slot)).unary;
      unary.assign(own.begin(), own.end());
    }
    model.cardinalities.push_back(static_cast<std::uint32_t>(unary.size()));
    model.unaries.add(number[slot], unary);
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const VariableId ends[2] = {number[edges_[e].first], number[edges_[e].second]};
    model.spin_pairs.add(ends[0], ends[1], records_[e].coupling);
    for (unsigned side = 0; side < 2; ++side) {
      const double unary[2] = {0, records_[e].field[side]};
      if (unary[1] != 0) model.unaries.add(ends[side], unary);
    }
  }
  for (std::uint32_t f = 0; f < tables_.factor_count(); ++f) {
    const DynamicTables::Factor& factor = tables_.factor(f);
    const VariableId scope[2] = {number[factor.variable[0]], number[factor.variable[1]]};
    model.tables.add(scope, factor.log_values);
  }
  return model;
}

Evidence DynamicModel::evidence() const {
  Evidence evidence;
  VariableId number = 0;
  for (std::uint32_t slot = 0; slot < modes_.size(); ++slot) {
    if (modes_[slot] == Mode::absent) continue;
    if (modes_[slot] == Mode::clamped) evidence.add(number, value(variables_.id_of(slot), 0));
    ++number;
  }
  return evidence;
}

}  // namespace drover
