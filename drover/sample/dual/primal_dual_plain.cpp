#include "drover/sample/dual/primal_dual_plain.hpp"

#include <cmath>

namespace drover {

void plain_primal_dual_sweep(const SpinEdges& graph, double inverse_temperature, const Random& random,
                             std::uint32_t chain, std::uint64_t sweep, std::span<Value> x,
                             std::span<double> p) {
  for (std::size_t i = 0; i < graph.size(); ++i) p[i] = inverse_temperature * graph.field[i];
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto& edge = graph.edges[e];
    const SpinDual dual = dual_of_coupling(inverse_temperature * edge.coupling);
    const bool agree = (x[edge.first] == x[edge.second]) != dual.flip;
    const bool noise =
        random.uniform(chain, sweep, static_cast<std::uint32_t>(e)) < (agree ? dual.noise : 0.5);
    const double field = (x[edge.first] == 1) != noise ? dual.strength : -dual.strength;
    p[edge.first] += field;
    p[edge.second] += dual.flip ? -field : field;
  }
  const std::size_t first_site = graph.edges.size();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    p[i] = 1 / (1 + std::exp(-p[i]));
    x[i] = random.uniform(chain, sweep, static_cast<std::uint32_t>(first_site + i)) < p[i];
  }
}

double log_score(const SpinEdges& graph, std::span<const Value> x) {
  double total = graph.log_constant;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (x[i] == 1) total += graph.field[i];
  for (const auto& edge : graph.edges)
    total += x[edge.first] == x[edge.second] ? edge.coupling : -edge.coupling;
  return total;
}

}  // namespace drover
