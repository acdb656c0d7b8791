// Colours such that neighbours differ: the variables of one colour can be updated together.
//
// A bipartite graph (found by breadth-first search) gets two colours. Any other is coloured greedily in
// smallest-last order (Matula and Beck 1983: repeatedly take away a variable of least degree, then colour in
// reverse), which uses at most degeneracy + 1 colours: few on sparse graphs, though not always the fewest.
// Linear time, deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

struct Colouring {
  std::vector<std::uint32_t> colour;  ///< of every variable
  std::vector<std::size_t> offsets;   ///< class c is members[offsets[c] .. offsets[c+1])
  std::vector<VariableId> members;    ///< by colour, ascending in each class

  std::size_t count() const { return offsets.size() - 1; }
  std::span<const VariableId> members_of(std::size_t colour_index) const {
    return {members.data() + offsets[colour_index], offsets[colour_index + 1] - offsets[colour_index]};
  }
};

/// Neighbours of v are neighbours[offsets[v] .. offsets[v+1]), without v itself, in both directions (as in
/// Adjacency and SpinGraph).
Colouring colour_variables(std::span<const std::size_t> offsets, std::span<const VariableId> neighbours);

}  // namespace drover
