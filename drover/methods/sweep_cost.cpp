#include "drover/methods/sweep_cost.hpp"

#include <array>

namespace drover {

SweepSize sweep_size(const Graph& graph) {
  SweepSize size;
  size.variables = static_cast<double>(graph.size());
  for (const Pairs* pairs :
       {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)})
    for (std::size_t p = 0; p < pairs->size(); ++p)
      size.links += graph.cardinalities[pairs->first[p]] + graph.cardinalities[pairs->second[p]];
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    for (VariableId v : graph.tables.scope(f)) size.links += graph.cardinalities[v];
    size.entries += static_cast<double>(graph.tables.values(f).size());
  }
  return size;
}

std::span<const SweepCost> sweep_costs() {
  static constexpr std::array rows = {
      SweepCost{"gibbs", true, 0.188, 0.0145, 0},
      SweepCost{"gibbs", false, 1.55, 0.151, 0.0167},
      SweepCost{"blocked-gibbs", true, 0.885, 0.157, 0.26},
      SweepCost{"blocked-gibbs", false, 14.4, 0, 1},
      SweepCost{"tempering", true, 1.22, 0.0229, 0},
      SweepCost{"tempering", false, 4.56, 0.138, 0.00994},
      SweepCost{"gwg", true, 195, 3.65, 0},
      SweepCost{"primal-dual", true, 0.277, 0.0427, 0},
      SweepCost{"primal-dual", false, 49.6, 2.07, 1.43},
      SweepCost{"tree-primal-dual", true, 34.6, 4.25, 0},
      SweepCost{"tree-primal-dual", false, 13.2, 7.04, 0.775},
      SweepCost{"swendsen-wang", true, 35.3, 3.72, 0},
      SweepCost{"swendsen-wang", false, 51.5, 2.93, 0},
      SweepCost{"partial-swendsen-wang", true, 38.5, 6.63, 0},
      SweepCost{"partial-swendsen-wang", false, 63.6, 4.94, 0},
      SweepCost{"generalized-swendsen-wang", true, 74.5, 5.49, 0},
      SweepCost{"generalized-swendsen-wang", false, 55.7, 1.8, 0},
  };
  return rows;
}

double sweep_cost(std::string_view method, bool spins, const SweepSize& size) {
  const std::span<const SweepCost> rows = sweep_costs();
  const SweepCost* found = &rows[spins ? 0 : 1];
  for (const SweepCost& row : rows)
    if (row.method == method && row.spins == spins) found = &row;
  return found->per_variable * size.variables + found->per_link * size.links +
         found->per_entry * size.entries;
}

}  // namespace drover
