#include "drover/methods/sweep_cost.hpp"

#include <array>

namespace drover {

SweepSize sweep_size(const Graph& graph) {
  SweepSize size;
  size.variables = static_cast<double>(graph.size());
  for (const Pairs* pairs :
       {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)})
    for (std::size_t p = 0; p < pairs->size(); ++p) {
      size.links += graph.cardinalities[pairs->first[p]] + graph.cardinalities[pairs->second[p]];
      size.reads += 4;
    }
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    for (VariableId v : scope) size.links += graph.cardinalities[v];
    size.reads += static_cast<double>(scope.size() * scope.size());
    size.entries += static_cast<double>(graph.tables.values(f).size());
  }
  return size;
}

std::span<const SweepCost> sweep_costs() {
  static constexpr std::array rows = {
      SweepCost{"gibbs", true, 0.139, 0.00394, 0, 0},
      SweepCost{"gibbs", false, 1, 0.0139, 0.0675, 0.00728},
      SweepCost{"blocked-gibbs", true, 0, 0.135, 0, 0.336},
      SweepCost{"blocked-gibbs", false, 0, 0.156, 0.513, 0.764},
      SweepCost{"tempering", true, 1.04, 0.00932, 0, 0},
      SweepCost{"tempering", false, 2.3, 0.19, 0.11, 0.0081},
      SweepCost{"gwg", true, 157, 3.13, 0, 0},
      SweepCost{"primal-dual", true, 0.126, 0.025, 0, 0},
      SweepCost{"primal-dual", false, 26.5, 1.63, 0, 0.7},
      SweepCost{"tree-primal-dual", true, 24.3, 4.4, 0, 0},
      SweepCost{"tree-primal-dual", false, 23.2, 2.28, 0, 0.65},
      SweepCost{"swendsen-wang", true, 40.5, 2.27, 0, 0},
      SweepCost{"swendsen-wang", false, 34.9, 2.97, 0.822, 0},
      SweepCost{"partial-swendsen-wang", true, 33.3, 6.84, 0, 0},
      SweepCost{"partial-swendsen-wang", false, 64.1, 3.73, 0.697, 0},
      SweepCost{"generalized-swendsen-wang", true, 60.5, 5.24, 0, 0},
      SweepCost{"generalized-swendsen-wang", false, 49.8, 0.745, 0.621, 0},
  };
  return rows;
}

double sweep_cost(std::string_view method, bool spins, const SweepSize& size) {
  const std::span<const SweepCost> rows = sweep_costs();
  const SweepCost* found = &rows[spins ? 0 : 1];
  for (const SweepCost& row : rows)
    if (row.method == method && row.spins == spins) found = &row;
  return found->per_variable * size.variables + found->per_link * size.links + found->per_read * size.reads +
         found->per_entry * size.entries;
}

}  // namespace drover
