#include "drover/sample/spread/spin_spread.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace drover {

namespace {

constexpr std::size_t most_neighbours = 30'000'000;  // beyond, no division is good

}  // namespace

WorkGraph unit_graph(const SpinGraph& pairs, const GibbsSpinChain::Places& places,
                     std::span<const std::uint32_t> units) {
  WorkGraph work;
  work.work.assign(units.size(), 1);
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  for (std::size_t k = 0; k < units.size(); ++k) number[units[k]] = static_cast<std::uint32_t>(k);
  std::vector<std::uint32_t> shared(units.size(), 0), touched;
  work.offsets.push_back(0);
  for (std::size_t k = 0; k < units.size(); ++k) {
    touched.clear();
    places.for_members(units[k], [&](VariableId v) {
      work.work[k] += 2 + static_cast<std::uint32_t>(pairs.degree(v));
      for (VariableId w : pairs.neighbours(v)) {
        const std::uint32_t other = number.at(places.position_of[w] / 64);
        if (other == k) continue;
        if (shared[other]++ == 0) touched.push_back(other);
      }
    });
    for (std::uint32_t other : touched) {
      work.neighbours.push_back(other);
      work.shared.push_back(shared[other]);
      shared[other] = 0;
    }
    work.offsets.push_back(work.neighbours.size());
    if (work.neighbours.size() > most_neighbours)
      return {{0}, {}, {}, std::vector<std::uint32_t>(units.size(), 1)};
  }
  return work;
}

void sweep_shares(const GibbsSpinChain& kernel, const SpreadPlan& plan, const std::vector<bool>& twice,
                  const UnitExchanges& exchanges, GibbsSpinChain::State& state, std::uint64_t sweep,
                  float* all_sums) {
  for (std::size_t c = 0; c < plan.shares.size(); ++c) {
    const ColourShare& share = plan.shares[c];
    float* const sums = twice[c] ? nullptr : all_sums;
    kernel.draw_units(state, share.boundary, sweep, sums);
    if (exchanges[c])
      exchanges[c]->begin([&](std::uint32_t unit, std::uint64_t* words) { *words = state.words[unit]; });
    kernel.draw_units(state, share.inner, sweep, sums);
    if (exchanges[c])
      exchanges[c]->finish(
          [&](std::uint32_t unit, const std::uint64_t* words) { state.words[unit] = *words; });
  }
}

SpinSpread::SpinSpread(const SpinGraph& graph, Colouring colouring, std::vector<bool> twice,
                       const SpinGraph& pairs, const Ranks& ranks)
    : ranks_(ranks), twice_(std::move(twice)) {
  GibbsSpinChain::Places places = GibbsSpinChain::places(graph, std::move(colouring));
  std::vector<std::uint32_t> units;
  for (std::size_t c = 0; c + 1 < places.colour_begin.size(); ++c)
    for (std::size_t u = places.colour_begin[c]; !twice_[c] && u < places.colour_begin[c + 1]; ++u)
      units.push_back(static_cast<std::uint32_t>(u));
  owner_.assign(places.units(), ranks.size());
  const std::vector<std::uint32_t> parts = ranks.divide(unit_graph(pairs, places, units));
  for (std::size_t k = 0; k < units.size(); ++k) owner_[units[k]] = parts[k];

  plan_ = spread_plan(ranks, places.colour_begin, owner_, twice_, [&](std::size_t unit, const auto& see) {
    places.for_members(unit, [&](VariableId v) {
      for (VariableId w : graph.neighbours(v)) see(places.position_of[w] / 64);
    });
  });
  for (std::uint32_t unit : plan_.own)
    places.for_members(unit, [&](VariableId v) { own_variables_.push_back(v); });
  std::ranges::sort(own_variables_);
  std::vector<std::uint32_t> entry_of(graph.size(), 0);
  for (std::size_t e = 0; e < own_variables_.size(); ++e)
    entry_of[own_variables_[e]] = static_cast<std::uint32_t>(e);

  std::vector<bool> held(places.units(), false);
  for (const ColourShare& share : plan_.shares)
    for (const auto* list : {&share.boundary, &share.inner})
      for (std::uint32_t unit : *list) held[unit] = true;
  kernel_ = std::make_unique<GibbsSpinChain>(graph, std::move(places), held, std::move(entry_of));
  exchanges_ = unit_exchanges(ranks, plan_, 1);
}

void SpinSpread::gather(State& state) const {
  std::string bytes;
  for (std::uint32_t unit : plan_.own) {
    bytes.append(reinterpret_cast<const char*>(&unit), sizeof(unit));
    bytes.append(reinterpret_cast<const char*>(&state.words[unit]), sizeof(std::uint64_t));
  }
  constexpr std::size_t record = sizeof(std::uint32_t) + sizeof(std::uint64_t);
  for (const std::string& part : ranks_.gather(std::move(bytes)))
    for (std::size_t at = 0; at < part.size(); at += record) {
      std::uint32_t unit = 0;
      std::memcpy(&unit, part.data() + at, sizeof(unit));
      std::memcpy(&state.words[unit], part.data() + at + sizeof(unit), sizeof(std::uint64_t));
    }
}

double SpinSpread::inner_share() const {
  std::size_t inner = 0, all = 0;
  for (std::size_t c = 0; c < plan_.shares.size(); ++c) {
    inner += exchanges_[c] ? plan_.shares[c].inner.size() : 0;
    all += plan_.shares[c].inner.size() + plan_.shares[c].boundary.size();
  }
  return static_cast<double>(inner) / static_cast<double>(std::max<std::size_t>(1, all));
}

void SpinSpread::read(const State& state, std::span<Value> values) const {
  State whole = state;
  gather(whole);
  if (ranks_.is_first()) kernel_->read(whole, 0, values);
}

}  // namespace drover
