#include "drover/sample/spread/primal_dual_mixture_spread.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "drover/compile/table_graph.hpp"
#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr std::uint32_t unit_variables = 16, lane_count = TreePrimalDual::lane_count;

/// use(v) for the variables of a unit.
template <class Use>
void for_variables(std::size_t unit, std::size_t size, Use use) {
  for (std::size_t v = unit * unit_variables; v < std::min(size, (unit + 1) * unit_variables); ++v)
    use(static_cast<VariableId>(v));
}

/// Units of neighbouring variables, and how many factors lie between two of them.
WorkGraph mixture_work(const Graph& graph, const Adjacency& near, std::size_t units) {
  WorkGraph work;
  std::vector<std::uint32_t> shared(units, 0), touched;
  work.offsets.push_back(0);
  for (std::size_t u = 0; u < units; ++u) {
    touched.clear();
    std::uint32_t cost = 0;
    for_variables(u, graph.size(), [&](VariableId v) {
      cost += graph.cardinalities[v] * static_cast<std::uint32_t>(1 + near.of(v).size());
      for (VariableId w : near.of(v)) {
        const std::uint32_t other = w / unit_variables;
        if (other == u) continue;
        if (shared[other]++ == 0) touched.push_back(other);
      }
    });
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

// The values of a unit; the last one may have fewer.
template <class Values>
auto values_of(Values& values, std::uint32_t unit) {
  const std::size_t first = std::size_t{unit} * unit_variables * lane_count;
  return std::span(values).subspan(first,
                                   std::min<std::size_t>(unit_variables * lane_count, values.size() - first));
}

}  // namespace

PrimalDualMixtureSpread::PrimalDualMixtureSpread(const Graph& graph, std::vector<std::vector<Value>> starts,
                                                 const Ranks& ranks)
    : ranks_(ranks),
      kernel_(graph, ForestChoice::none, std::move(starts)),
      wide_(graph.max_cardinality() > 256) {
  const std::size_t units = (graph.size() + unit_variables - 1) / unit_variables;
  const Adjacency near = adjacency(graph);
  const std::vector<std::uint32_t> owner = ranks.divide(mixture_work(graph, near, units));
  const std::size_t colour_begin[] = {0, units};
  SpreadPlan plan = spread_plan(ranks, colour_begin, owner, {false}, [&](std::size_t unit, const auto& see) {
    for_variables(unit, graph.size(), [&](VariableId v) {
      for (VariableId w : near.of(v)) see(w / unit_variables);
    });
  });
  exchanges_ = unit_exchanges(ranks, plan, words_per_unit());
  const auto list = [&](std::span<const std::uint32_t> some, std::vector<VariableId>& variables) {
    for (std::uint32_t unit : some)
      for_variables(unit, graph.size(), [&](VariableId v) { variables.push_back(v); });
  };
  list(plan.shares[0].boundary, boundary_);
  list(plan.shares[0].inner, inner_);
  own_units_ = std::move(plan.own);

  std::vector<bool> own(graph.size(), false), touched(graph.size(), false);
  for (const auto* variables : {&boundary_, &inner_})
    for (VariableId v : *variables) own[v] = touched[v] = true;
  const std::vector<std::size_t> offsets = conditional_offsets(graph);
  share_.conditional_offset.assign(graph.size(), 0);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    share_.conditional_offset[v] = own_entries_.size();
    for (std::size_t e = offsets[v]; own[v] && e < offsets[v + 1]; ++e)
      own_entries_.push_back(static_cast<std::uint32_t>(e));
  }
  const DualPlan& duals = kernel_.plan();
  for (std::size_t l = 0; l < duals.links.size(); ++l) {
    const DualLink& link = duals.links[l];
    if (!own[link.first] && !own[link.second]) continue;
    share_.links.push_back(static_cast<std::uint32_t>(l));
    touched[link.first] = touched[link.second] = true;
  }
  for (std::size_t m = duals.first_free_mixture; m < duals.mixtures.size(); ++m) {
    const PlacedMixture& mixture = duals.mixtures[m];
    const std::span scope(duals.scopes.data() + mixture.scope_begin, mixture.scope_end - mixture.scope_begin);
    if (std::ranges::none_of(scope, [&](VariableId v) { return own[v]; })) continue;
    share_.mixtures.push_back(static_cast<std::uint32_t>(m));
    for (VariableId v : scope) touched[v] = true;
  }
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (touched[v]) share_.touched.push_back(static_cast<VariableId>(v));
}

std::size_t PrimalDualMixtureSpread::words_per_unit() const {
  return unit_variables * lane_count * (wide_ ? 2 : 1) / sizeof(std::uint64_t);
}

void PrimalDualMixtureSpread::load(const State& state, std::uint32_t unit, std::uint64_t* words) const {
  const auto values = values_of(state.values, unit);
  std::fill_n(words, words_per_unit(), 0);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words);
  if (wide_)
    std::memcpy(bytes, values.data(), values.size_bytes());
  else
    for (std::size_t k = 0; k < values.size(); ++k) bytes[k] = static_cast<std::uint8_t>(values[k]);
}

void PrimalDualMixtureSpread::store(State& state, std::uint32_t unit, const std::uint64_t* words) const {
  const auto values = values_of(state.values, unit);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words);
  if (wide_)
    std::memcpy(values.data(), bytes, values.size_bytes());
  else
    std::copy_n(bytes, values.size(), values.begin());
}

void PrimalDualMixtureSpread::run(State& state, std::uint64_t sweep, float* sums) const {
  kernel_.draw_duals(state, sweep, share_);
  kernel_.draw_variables(state, sweep, share_, boundary_, sums);
  if (exchanges_[0])
    exchanges_[0]->begin([&](std::uint32_t unit, std::uint64_t* words) { load(state, unit, words); });
  kernel_.draw_variables(state, sweep, share_, inner_, sums);
  if (exchanges_[0])
    exchanges_[0]->finish([&](std::uint32_t unit, const std::uint64_t* words) { store(state, unit, words); });
}

void PrimalDualMixtureSpread::gather(State& state) const {
  gather_units(
      ranks_, own_units_, words_per_unit(),
      [&](std::uint32_t unit, std::uint64_t* words) { load(state, unit, words); },
      [&](std::uint32_t unit, const std::uint64_t* words) { store(state, unit, words); });
}

void PrimalDualMixtureSpread::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  read_whole(*this, kernel_, state, lane, values);
}

void PrimalDualMixtureSpread::log_scores(const State& state, std::span<double> scores) const {
  score_whole(*this, kernel_, state, scores);
}

void PrimalDualMixtureSpread::set_inverse_temperatures(State& state,
                                                       std::span<const float> inverse_temperatures) const {
  if (inverse_temperatures[0] != 1)
    throw Error(ErrorKind::misfit, "primal-dual sampling on several ranks knows temperature 1 only");
  kernel_.set_inverse_temperatures(state, inverse_temperatures);
}

}  // namespace drover
