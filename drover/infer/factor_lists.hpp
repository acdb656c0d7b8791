// The factors that each variable is in, as flat lists: what algorithms that move through a graph from
// neighbour to neighbour walk along.
#pragma once

#include <cstdint>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

/// The pairs of variable v: neighbours and couplings [offsets[v] .. offsets[v + 1]).
struct PairLists {
  std::vector<std::size_t> offsets;
  std::vector<VariableId> neighbours;
  std::vector<double> couplings;

  PairLists(const Pairs& pairs, std::size_t variables);
};

/// The tables of variable v: factors [offsets[v] .. offsets[v + 1]).
struct TableLists {
  std::vector<std::size_t> offsets;
  std::vector<std::uint32_t> factors;

  TableLists(const Tables& tables, std::size_t variables);
};

}  // namespace drover
