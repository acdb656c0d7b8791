#include "drover/sample/spread/gibbs_table_spread.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace drover {

namespace {

constexpr std::uint32_t group_sites = 16, unit_groups = 4, most_groups = 64;

/// The first group of every unit: at most four groups, of one colour.
std::vector<std::uint32_t> unit_begins(const ChainLayout& layout) {
  std::vector<std::uint32_t> begins;
  for (std::size_t c = 0; c + 1 < layout.colour_groups.size(); ++c)
    for (std::uint32_t g = layout.colour_groups[c]; g < layout.colour_groups[c + 1]; ++g)
      if (g == layout.colour_groups[c] || g % unit_groups == 0) begins.push_back(g);
  begins.push_back(static_cast<std::uint32_t>(layout.groups.size()));
  return begins;
}

WorkGraph work_graph(const Graph& graph, const Adjacency& near, const ChainLayout& layout,
                     std::span<const std::uint32_t> begins, std::span<const std::uint32_t> unit_of) {
  WorkGraph work;
  std::vector<std::uint32_t> shared(begins.size() - 1, 0), touched;
  work.offsets.push_back(0);
  for (std::size_t u = 0; u + 1 < begins.size(); ++u) {
    touched.clear();
    std::uint32_t cost = 0;
    for (std::uint32_t g = begins[u]; g < begins[u + 1]; ++g)
      for (std::uint32_t s = 0; s < layout.groups[g].count; ++s) {
        const VariableId v = layout.order[layout.groups[g].first + s];
        cost += graph.cardinalities[v] * static_cast<std::uint32_t>(1 + near.of(v).size());
        for (VariableId w : near.of(v)) {
          const std::uint32_t other = unit_of[layout.slot_of[w] / group_sites];
          if (other == u) continue;
          if (shared[other]++ == 0) touched.push_back(other);
        }
      }
    work.work.push_back(cost);
    for (std::uint32_t other : touched) {
      work.neighbours.push_back(other);
      work.shared.push_back(shared[other]);
      shared[other] = 0;
    }
    work.offsets.push_back(work.neighbours.size());
  }
  return work;
}

/// Neighbouring groups together, but no more than one task takes.
std::vector<GibbsTableChain::GroupRange> ranges_of(std::span<const std::uint32_t> groups) {
  std::vector<GibbsTableChain::GroupRange> ranges;
  for (std::uint32_t g : groups)
    if (!ranges.empty() && ranges.back().end == g && g - ranges.back().begin < most_groups)
      ++ranges.back().end;
    else
      ranges.push_back({g, g + 1});
  return ranges;
}

}  // namespace

GibbsTableSpread::GibbsTableSpread(const Graph& graph, GibbsTableChain::Options options, const Ranks& ranks)
    : ranks_(ranks), kernel_(graph, std::move(options)), wide_(graph.max_cardinality() > 256) {
  const ChainLayout& layout = kernel_.layout();
  const Adjacency near = adjacency(graph);
  const std::vector<std::uint32_t> begins = unit_begins(layout);
  std::vector<std::uint32_t> unit_of(layout.groups.size());
  for (std::size_t u = 0; u + 1 < begins.size(); ++u)
    for (std::uint32_t g = begins[u]; g < begins[u + 1]; ++g) unit_of[g] = static_cast<std::uint32_t>(u);
  const std::vector<std::uint32_t> parts = ranks.divide(work_graph(graph, near, layout, begins, unit_of));
  std::vector<std::uint32_t> owner(layout.groups.size());
  for (std::size_t g = 0; g < owner.size(); ++g) owner[g] = parts[unit_of[g]];

  const std::vector<std::size_t> colour_begin(layout.colour_groups.begin(), layout.colour_groups.end());
  const std::vector<bool> once(kernel_.colours(), false);
  SpreadPlan plan = spread_plan(ranks, colour_begin, owner, once, [&](std::size_t g, const auto& see) {
    for (std::uint32_t s = 0; s < layout.groups[g].count; ++s)
      for (VariableId w : near.of(layout.order[layout.groups[g].first + s]))
        see(layout.slot_of[w] / group_sites);
  });
  own_groups_ = std::move(plan.own);
  for (std::size_t c = 0; c < kernel_.colours(); ++c) {
    boundary_.push_back(ranges_of(plan.shares[c].boundary));
    inner_.push_back(ranges_of(plan.shares[c].inner));
  }
  exchanges_ = unit_exchanges(ranks, plan, wide_ ? 4 : 2);
  std::vector<bool> own(graph.size(), false);
  for (std::uint32_t g : own_groups_)
    for (std::uint32_t s = 0; s < layout.groups[g].count; ++s)
      own[layout.order[layout.groups[g].first + s]] = true;
  const std::vector<std::size_t> offsets = conditional_offsets(graph);
  std::vector<std::size_t> places(graph.size(), 0);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    places[v] = own_entries_.size();
    for (std::size_t e = offsets[v]; own[v] && e < offsets[v + 1]; ++e)
      own_entries_.push_back(static_cast<std::uint32_t>(e));
  }
  kernel_.place_conditionals(places);
}

void GibbsTableSpread::load(const State& state, std::uint32_t group, std::uint64_t* words) const {
  const std::int32_t* const values = state.values.data() + std::size_t{group} * group_sites;
  if (wide_) {
    std::array<std::uint16_t, group_sites> two{};
    for (std::size_t s = 0; s < group_sites; ++s) two[s] = static_cast<std::uint16_t>(values[s]);
    std::memcpy(words, two.data(), sizeof(two));
  } else {
    std::array<std::uint8_t, group_sites> one{};
    for (std::size_t s = 0; s < group_sites; ++s) one[s] = static_cast<std::uint8_t>(values[s]);
    std::memcpy(words, one.data(), sizeof(one));
  }
}

void GibbsTableSpread::store(State& state, std::uint32_t group, const std::uint64_t* words) const {
  std::int32_t* const values = state.values.data() + std::size_t{group} * group_sites;
  if (wide_) {
    std::array<std::uint16_t, group_sites> two{};
    std::memcpy(two.data(), words, sizeof(two));
    std::copy(two.begin(), two.end(), values);
  } else {
    std::array<std::uint8_t, group_sites> one{};
    std::memcpy(one.data(), words, sizeof(one));
    std::copy(one.begin(), one.end(), values);
  }
}

void GibbsTableSpread::run(State& state, std::uint64_t sweep, float* sums) const {
  for (std::size_t c = 0; c < inner_.size(); ++c) {
    kernel_.draw_groups(state, boundary_[c], sweep, sums);
    if (exchanges_[c])
      exchanges_[c]->begin([&](std::uint32_t group, std::uint64_t* words) { load(state, group, words); });
    kernel_.draw_groups(state, inner_[c], sweep, sums);
    if (exchanges_[c])
      exchanges_[c]->finish(
          [&](std::uint32_t group, const std::uint64_t* words) { store(state, group, words); });
  }
}

void GibbsTableSpread::gather(State& state) const {
  gather_units(
      ranks_, own_groups_, wide_ ? 4 : 2,
      [&](std::uint32_t unit, std::uint64_t* words) { load(state, unit, words); },
      [&](std::uint32_t unit, const std::uint64_t* words) { store(state, unit, words); });
}

void GibbsTableSpread::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  read_whole(*this, kernel_, state, lane, values);
}

void GibbsTableSpread::log_scores(const State& state, std::span<double> scores) const {
  score_whole(*this, kernel_, state, scores);
}

}  // namespace drover
