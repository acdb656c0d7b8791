// The pairs of a graph as cluster samplers see them: how strongly each wants its variables equal, or, for
// spins, opposite.
//
// exp(w [x_i = x_j]) for w >= 0, and exp(J s_i s_j) of either sign, which is exp(2 |J| [satisfied]) up to a
// constant, where a negative J is satisfied by opposite spins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

struct ClusterBond {
  VariableId first, second;
  float strength;      ///< log factor gained when satisfied; > 0, or < 0 for Potts pairs that want to differ
  std::uint32_t flip;  ///< 1: satisfied by opposite spins; else by equal values
};

/// The spin and Potts pairs, those of the same two variables added up, ordered by variables; zero ones left
/// out.
std::vector<ClusterBond> cluster_bonds(const Graph& graph);

/// The names of a factor's variables, for messages: (a, b, c).
std::string scope_name(const Graph& graph, std::span<const VariableId> scope);

/// Why no relabelling of spins (s_i -> -s_i for some i) makes all pairs attractive: names a pair that closes
/// a frustrated cycle, or a Potts pair that wants to differ. Empty when there is such a relabelling.
std::string frustration(const Graph& graph);

}  // namespace drover
