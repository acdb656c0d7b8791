#include "drover/sample/dual/primal_dual_chain.hpp"

#include <algorithm>
#include <numeric>

#include "drover/sample/dual/primal_dual_plain.hpp"

namespace drover {

SpinEdges PrimalDualChain::edges_by_direction(const SpinGraph& graph) {
  SpinEdges spins = spin_edges(graph);
  constexpr std::size_t few = 16;
  const auto direction = [](const SpinEdges::Edge& edge) { return edge.second - edge.first; };
  std::vector<std::uint32_t> directions;
  for (const auto& edge : spins.edges) {
    if (std::ranges::find(directions, direction(edge)) != directions.end()) continue;
    directions.push_back(direction(edge));
    if (directions.size() > few) return spins;
  }
  std::ranges::stable_sort(spins.edges, {}, direction);
  return spins;
}

Colouring PrimalDualChain::duals_then_variables(std::size_t variables, std::size_t duals) {
  Colouring colouring;
  colouring.colour.assign(variables, 1);
  colouring.colour.resize(variables + duals, 0);
  colouring.offsets = {0, duals, duals + variables};
  colouring.members.resize(variables + duals);
  const auto middle = colouring.members.begin() + static_cast<std::ptrdiff_t>(duals);
  std::iota(colouring.members.begin(), middle, static_cast<VariableId>(variables));
  std::iota(middle, colouring.members.end(), VariableId{0});
  return colouring;
}

PrimalDualChain::PrimalDualChain(const SpinGraph& graph)
    : spins_(edges_by_direction(graph)),
      joint_(dual_spin_graph(spins_), duals_then_variables(spins_.size(), spins_.edges.size())) {}

void PrimalDualChain::run(State& state, std::uint64_t sweep, float* sums) const {
  if (state.inverse_temperature == 1) {
    joint_.draw_colour(state, 0, sweep, nullptr);
    joint_.draw_colour(state, 1, sweep, sums);
    return;
  }
  std::vector<Value> x(size());
  std::vector<double> p(size());
  read(state, 0, x);
  plain_primal_dual_sweep(spins_, state.inverse_temperature, Random(state.seed, Stream::sweep), state.chain,
                          sweep, x, p);
  write(state, 0, x);
  for (std::size_t i = 0; sums && i < size(); ++i) sums[i] += static_cast<float>(p[i]);
}

void PrimalDualChain::read(const State& state, std::uint32_t, std::span<Value> values) const {
  joint_.read(state, 0, values);
}

void PrimalDualChain::write(State& state, std::uint32_t, std::span<const Value> values) const {
  joint_.write(state, 0, values);
}

void PrimalDualChain::log_scores(const State& state, std::span<double> scores) const {
  const auto all = [](std::uint32_t) { return true; };
  scores[0] = spins_.log_constant + score_of(spins_, joint_.places(), state, all).value();
}

}  // namespace drover
