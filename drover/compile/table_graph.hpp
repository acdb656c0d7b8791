// The layout of a Graph for Gibbs kernels: for every variable its unary, its Potts links and its table links,
// flat, in float, with every stride computed beforehand.
//
//   field_v(k) = unary_v(k) + sum over Potts links (u, c) of c [x_u = k]
//              + sum over table links of entries[base + k * own_stride + sum over others (u, s) of s x_u]
//
// Everything is stored in units of log 2 (log2 of the factors), so that a kernel exponentiates with exp2. A
// spin pair J is the Potts link 2J: their difference, the constant -J, cancels in a conditional. Each table
// is copied once per axis of its scope with that axis slowest or fastest, whichever the kernel streams over,
// and tied tables share their copies; a table of more than `largest_copied_table` entries for each factor
// that uses it is kept once and read with strides instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/aligned.hpp"

namespace drover {

struct PottsLink {
  VariableId neighbour;
  float coupling;
};

struct TableLink {
  std::size_t base;              ///< the entry at which every variable of the scope is 0
  std::uint32_t own_stride;      ///< between entries that differ by one in the variable's own value
  std::uint32_t configurations;  ///< of the other variables if these are contiguous at each own value, or 0
  std::uint32_t others_begin;    ///< others[others_begin .. others_end)
  std::uint32_t others_end;
};

struct LinkedVariable {
  VariableId variable;
  std::uint32_t stride;
};

struct TableGraph {
  std::vector<std::uint32_t> cardinalities;
  std::vector<std::size_t> unary_offsets;
  std::vector<float> unary;
  std::vector<std::size_t> potts_offsets;  ///< variable v: potts[potts_offsets[v] .. potts_offsets[v+1])
  std::vector<PottsLink> potts;
  std::vector<std::size_t> link_offsets;  ///< variable v: links[link_offsets[v] .. link_offsets[v+1])
  std::vector<TableLink> links;
  std::vector<LinkedVariable> others;
  AlignedFloats entries;  ///< followed by entry_padding entries, so that whole vectors can be loaded

  std::size_t size() const { return cardinalities.size(); }
  std::span<const PottsLink> potts_of(VariableId v) const {
    return {potts.data() + potts_offsets[v], potts_offsets[v + 1] - potts_offsets[v]};
  }
  std::span<const TableLink> links_of(VariableId v) const {
    return {links.data() + link_offsets[v], link_offsets[v + 1] - link_offsets[v]};
  }
};

inline constexpr std::size_t largest_copied_table = 4096;
inline constexpr std::size_t entry_padding = 64;

enum class OwnAxis { slowest, fastest };

enum class WithUnary { no, yes };

/// Variable p of the result is variable order[p] of the graph; without its unaries for a kernel that lays
/// them out itself.
TableGraph make_table_graph(const Graph& graph, OwnAxis own_axis, std::span<const VariableId> order,
                            WithUnary with_unary = WithUnary::yes);

/// The unit of all numbers here.
float log2_of(double natural);

/// 0, 1, 2, ...
std::vector<VariableId> natural_order(const Graph& graph);

/// Where the entries of each variable begin in ConditionalSums (see sample/kernel.hpp): one entry for a
/// binary variable, one per value for any other; size + 1 offsets.
std::vector<std::size_t> conditional_offsets(const Graph& graph);

/// Whether some table has a hard zero (zeros of unaries alone do not count).
bool has_table_zeros(const Graph& graph);

}  // namespace drover
