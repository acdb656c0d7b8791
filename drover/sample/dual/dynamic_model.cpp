#include "drover/sample/dual/dynamic_model.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "drover/compile/dual.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/dual/dynamic_model.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

void draw_dynamic_duals(const DynamicModel::Edge* edges, std::size_t begin, std::size_t end,
                        const std::uint64_t* HWY_RESTRICT words, const LaneRandom& random,
                        std::uint64_t sweep, std::uint64_t* HWY_RESTRICT duals) {
  const LaneWords lane_words(random, 0, sweep);
  const WordTag d;
  WordVector row[vector_count];
  for (std::size_t e = begin; e < end; ++e) {
    const DynamicModel::Edge& edge = edges[e];
    lane_words.draw(static_cast<std::uint32_t>(e), row);
    std::uint64_t noise = 0, coin = 0;
    for (std::size_t k = 0; k < vector_count; ++k) {
      noise |= bits_of(d, hn::Lt(row[k], hn::Set(d, edge.noise)), k);
      coin |= bits_of(d, hn::Lt(row[k], hn::Set(d, 0x80000000U)), k);
    }
    // The noise is at most one half, so that its lanes are among the coin's.
    const std::uint64_t differ = words[edge.first] ^ words[edge.second] ^ (std::uint64_t{0} - edge.flip);
    duals[e] = words[edge.first] ^ (noise | (coin & differ));
  }
}

void draw_dynamic_variables(const DynamicModel::VariableView& view, std::size_t begin, std::size_t end,
                            const std::uint64_t* HWY_RESTRICT duals, const LaneRandom& random,
                            std::uint64_t sweep, std::uint64_t* HWY_RESTRICT words,
                            DynamicModel::Average* HWY_RESTRICT averages) {
  const LaneWords lane_words(random, 0, sweep);
  const FloatTag d;
  WordVector row[vector_count];
  FloatVector totals[vector_count];
  for (std::size_t i = begin; i < end; ++i) {
    if (view.modes[i] != DynamicModel::Mode::free) continue;
    for (std::size_t k = 0; k < vector_count; ++k) totals[k] = hn::Set(d, view.log_odds[i]);
    for (const DynamicModel::Incidence& incidence : view.incidences[i]) {
      const std::uint64_t dual = duals[incidence.edge];
      const FloatVector if_one = hn::Set(d, incidence.if_one), if_zero = hn::Set(d, incidence.if_zero);
      for (std::size_t k = 0; k < vector_count; ++k)
        totals[k] = hn::Add(totals[k], hn::IfThenElse(mask_of(dual, k), if_one, if_zero));
    }
    lane_words.draw(static_cast<std::uint32_t>(i), row);
    words[i] = draw_word(totals, row);
    FloatVector sum = hn::Zero(d), squares = hn::Zero(d);
    for (std::size_t k = 0; k < vector_count; ++k) {
      const FloatVector p = probability_of(totals[k]);
      sum = hn::Add(sum, p);
      squares = hn::MulAdd(p, p, squares);
    }
    const double mean = hn::GetLane(hn::SumOfLanes(d, sum)) / 64.0;
    const double square = hn::GetLane(hn::SumOfLanes(d, squares)) / 64.0;
    DynamicModel::Average& average = averages[i];
    average.weight = view.keep * average.weight + 1;
    average.sum = view.keep * average.sum + mean;
    average.variance = view.keep * average.variance + std::max(0.0, square - mean * mean) / 63;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(draw_dynamic_duals);
HWY_EXPORT(draw_dynamic_variables);

constexpr std::size_t grain = 4096;  // factors or variables that one task takes

std::uint32_t as_threshold(double probability) {
  return static_cast<std::uint32_t>(std::min(std::floor(0x1p32 * probability + 0.5), 0x1p32 - 1));
}

}  // namespace

DynamicModel::DynamicModel(std::uint64_t seed, double half_life)
    : seed_(seed), keep_(std::exp2(-1 / half_life)) {
  assert(half_life > 0);
}

DynamicModel::Id DynamicModel::add_variable(double log_odds) {
  const Id id = variables_.take();
  const std::uint32_t slot = SlotTable::slot_of(id);
  if (slot == modes_.size()) {
    modes_.emplace_back();
    log_odds_.emplace_back();
    words_.emplace_back();
    incidences_.emplace_back();
    averages_.emplace_back();
  }
  modes_[slot] = Mode::free;
  log_odds_[slot] = static_cast<float>(log_odds);
  averages_[slot] = {};
  const Random::Block coins =
      Random(seed_, Stream::start).block(static_cast<std::uint32_t>(id >> 32), sweeps_, slot);
  words_[slot] = std::uint64_t{coins[0]} << 32 | coins[1];
  ++variable_count_;
  return id;
}

void DynamicModel::remove_variable(Id variable) {
  assert(has_variable(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable);
  for (Id factor : factors_of(variable)) remove_factor(factor);
  if (is_wide(slot)) tables_.remove_variable(slot);
  modes_[slot] = Mode::absent;
  variables_.give_back(variable);
  --variable_count_;
}

void DynamicModel::set_unary(Id variable, double log_odds) {
  assert(has_variable(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable), index = tables_.find(slot);
  log_odds_[slot] = static_cast<float>(log_odds);
  if (index != DynamicTables::none) tables_.set_unary(index, std::array<double, 2>{0, log_odds_[slot]});
}

void DynamicModel::clamp(Id variable, Value value) {
  assert(has_variable(variable) && value < states(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable);
  modes_[slot] = Mode::clamped;
  words_[slot] = value != 0 ? ~std::uint64_t{0} : 0;
  if (is_wide(slot)) tables_.variable(tables_.find(slot)).values.fill(static_cast<std::uint8_t>(value));
}

void DynamicModel::release(Id variable) {
  assert(has_variable(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable);
  if (modes_[slot] != Mode::clamped) return;
  const std::uint32_t index = tables_.find(slot);
  modes_[slot] = index == DynamicTables::none ? Mode::free : Mode::tabled;
  averages_[slot] = {};
  if (index != DynamicTables::none) std::ranges::fill(tables_.variable(index).averages, Average{});
}

bool DynamicModel::is_clamped(Id variable) const {
  assert(has_variable(variable));
  return modes_[SlotTable::slot_of(variable)] == Mode::clamped;
}

DynamicModel::Id DynamicModel::add_factor(Id first, Id second, double coupling) {
  return add_edge(first, second, coupling, {0, 0});
}

std::uint32_t DynamicModel::take_slot(Id factor) {
  const std::uint32_t slot = SlotTable::slot_of(factor);
  if (slot == edge_of_slot_.size()) edge_of_slot_.emplace_back();
  return slot;
}

DynamicModel::Id DynamicModel::add_edge(Id first, Id second, double coupling, std::array<double, 2> fields) {
  assert(has_variable(first) && has_variable(second) && first != second);
  const Id id = factors_.take();
  const std::uint32_t slot = take_slot(id);
  const auto edge = static_cast<std::uint32_t>(edges_.size());
  edge_of_slot_[slot] = edge;
  const SpinDual dual = dual_of_coupling(coupling);
  edges_.push_back(
      {SlotTable::slot_of(first), SlotTable::slot_of(second), as_threshold(dual.noise), dual.flip ? 1U : 0U});
  records_.push_back({{0, 0}, slot, coupling, fields});
  attach(edge, 0, dual.strength);
  attach(edge, 1, dual.flip ? -dual.strength : dual.strength);
  return id;
}

void DynamicModel::attach(std::uint32_t edge, unsigned side, double strength) {
  auto& list = incidences_[side == 0 ? edges_[edge].first : edges_[edge].second];
  const double field = records_[edge].field[side];
  records_[edge].place[side] = static_cast<std::uint32_t>(list.size());
  list.push_back({edge, static_cast<float>(field + strength), static_cast<float>(field - strength)});
}

void DynamicModel::detach(std::uint32_t edge, unsigned side) {
  const std::uint32_t variable = side == 0 ? edges_[edge].first : edges_[edge].second;
  auto& list = incidences_[variable];
  const std::uint32_t place = records_[edge].place[side];
  const Incidence last = list.back();
  list[place] = last;
  records_[last.edge].place[edges_[last.edge].first == variable ? 0 : 1] = place;
  list.pop_back();
}

void DynamicModel::remove_factor(Id factor) {
  assert(has_factor(factor));
  const std::uint32_t edge = edge_of_slot_[SlotTable::slot_of(factor)];
  if ((edge & table_bit) != 0) {
    remove_table(edge & ~table_bit);
    factors_.give_back(factor);
    return;
  }
  detach(edge, 0);
  detach(edge, 1);
  edges_[edge] = edges_.back();
  records_[edge] = records_.back();
  edges_.pop_back();
  records_.pop_back();
  factors_.give_back(factor);
  if (edge == edges_.size()) return;
  edge_of_slot_[records_[edge].slot] = edge;
  incidences_[edges_[edge].first][records_[edge].place[0]].edge = edge;
  incidences_[edges_[edge].second][records_[edge].place[1]].edge = edge;
}

void DynamicModel::set_coupling(Id factor, double coupling) {
  assert(has_factor(factor));
  const std::uint32_t place = edge_of_slot_[SlotTable::slot_of(factor)];
  assert((place & table_bit) == 0);
  Edge& edge = edges_[place];
  EdgeRecord& record = records_[place];
  const SpinDual dual = dual_of_coupling(coupling);
  edge.noise = as_threshold(dual.noise);
  edge.flip = dual.flip ? 1U : 0U;
  record.coupling = coupling;
  for (unsigned side = 0; side < 2; ++side) {
    const double strength = side == 1 && dual.flip ? -dual.strength : dual.strength;
    Incidence& incidence = incidences_[side == 0 ? edge.first : edge.second][record.place[side]];
    incidence.if_one = static_cast<float>(record.field[side] + strength);
    incidence.if_zero = static_cast<float>(record.field[side] - strength);
  }
}

std::vector<DynamicModel::Id> DynamicModel::variables() const {
  std::vector<Id> ids;
  for (std::uint32_t slot = 0; slot < variables_.slots(); ++slot)
    if (variables_.holds_slot(slot)) ids.push_back(variables_.id_of(slot));
  return ids;
}

std::vector<DynamicModel::Id> DynamicModel::factors() const {
  std::vector<Id> ids;
  for (std::uint32_t slot = 0; slot < factors_.slots(); ++slot)
    if (factors_.holds_slot(slot)) ids.push_back(factors_.id_of(slot));
  return ids;
}

std::vector<DynamicModel::Id> DynamicModel::factors_of(Id variable) const {
  assert(has_variable(variable));
  std::vector<Id> ids;
  for (const Incidence& incidence : incidences_[SlotTable::slot_of(variable)])
    ids.push_back(factors_.id_of(records_[incidence.edge].slot));
  const std::uint32_t index = tables_.find(SlotTable::slot_of(variable));
  if (index != DynamicTables::none)
    for (const DynamicTables::Incidence& incidence : tables_.variable(index).incidences)
      ids.push_back(factors_.id_of(tables_.factor(incidence.factor).slot));
  return ids;
}

void DynamicModel::sweep() {
  duals_.resize(edges_.size());
  const LaneRandom dual_random(seed_, Stream::hidden_units), random(seed_, Stream::sweep);
  parallel_blocks(edges_.size(), grain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(draw_dynamic_duals)
    (edges_.data(), begin, end, words_.data(), dual_random, sweeps_, duals_.data());
  });
  parallel_blocks(modes_.size(), grain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(draw_dynamic_variables)
    ({modes_.data(), log_odds_.data(), incidences_.data(), keep_}, begin, end, duals_.data(), random, sweeps_,
     words_.data(), averages_.data());
  });
  if (tables_.size() > 0) sweep_tables();
  ++sweeps_;
}

DynamicModel::Estimate DynamicModel::marginal(Id variable, Value value) const {
  assert(has_variable(variable) && value < states(variable));
  const std::uint32_t slot = SlotTable::slot_of(variable), index = tables_.find(slot);
  const auto share = [&] {
    double chains = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) chains += this->value(variable, lane) == value ? 1 : 0;
    return chains / lanes;
  };
  if (modes_[slot] == Mode::clamped) return {share(), 0};
  const bool tabled = index != DynamicTables::none;
  const Average& average = tabled ? tables_.variable(index).averages[value] : averages_[slot];
  if (average.weight == 0) return {share(), 0.5};
  const double probability = average.sum / average.weight;
  return {tabled || value == 1 ? probability : 1 - probability, std::sqrt(average.variance / average.weight)};
}

void DynamicModel::forget() {
  std::ranges::fill(averages_, Average{});
  for (std::uint32_t index = 0; index < tables_.size(); ++index)
    std::ranges::fill(tables_.variable(index).averages, Average{});
}

void DynamicModel::set_word(Id variable, std::uint64_t word) {
  assert(has_variable(variable) && !is_clamped(variable));
  words_[SlotTable::slot_of(variable)] = word;
}

}  // namespace drover
#endif
