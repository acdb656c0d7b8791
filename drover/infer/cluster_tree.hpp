// The shape of a junction tree: which variables each cluster joins, which it eliminates, who its parent is.
//
// Symbolic elimination (Rose, Tarjan, Lueker 1976): eliminating v joins its later neighbours and the
// separators of its children; the parent of v is the earliest variable of its separator. A cluster whose
// separator equals its parent's whole scope absorbs the parent, while the eliminated variables have at most
// `merged_states` joint states (so that drawing from p(eliminated | separator) stays cheap).
//
// Inside the tree a variable is its place in the elimination order. Scopes ascend: first the eliminated
// variables, then the separator. Clusters are in postorder: children directly before parents, so that a walk
// from last to first is depth first and few tables are alive at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/elimination.hpp"
#include "drover/compile/graph.hpp"
#include "drover/infer/table_ops.hpp"
#include "drover/infer/tree_schedule.hpp"

namespace drover {

inline constexpr std::size_t merged_states = 16;

struct ClusterTree {
  std::vector<VariableId> variable_at;       ///< place -> variable of the graph
  std::vector<std::uint32_t> place_of;       ///< variable of the graph -> place
  std::vector<std::uint32_t> cardinalities;  ///< by place
  std::vector<std::uint32_t> home;           ///< place -> the cluster that eliminates it

  std::vector<std::size_t> scope_offsets{0};
  std::vector<std::uint32_t> scopes;
  std::vector<std::uint32_t> eliminated_count;
  std::vector<std::uint32_t> parent;  ///< no_node for a root
  std::vector<std::size_t> child_offsets;
  std::vector<std::uint32_t> child_list;

  std::size_t size() const { return parent.size(); }
  std::span<const std::uint32_t> scope(std::size_t c) const {
    return {scopes.data() + scope_offsets[c], scope_offsets[c + 1] - scope_offsets[c]};
  }
  std::span<const std::uint32_t> eliminated(std::size_t c) const {
    return scope(c).first(eliminated_count[c]);
  }
  std::span<const std::uint32_t> separator(std::size_t c) const {
    return scope(c).subspan(eliminated_count[c]);
  }
  std::span<const std::uint32_t> children(std::size_t c) const {
    return {child_list.data() + child_offsets[c], child_offsets[c + 1] - child_offsets[c]};
  }
  /// Entries of all cluster tables together; may be beyond any machine.
  double table_entries() const;
};

ClusterTree build_cluster_tree(const Graph& graph, const std::vector<VariableId>& order);

/// The factors of every cluster, added up into a few tables each (logs).
struct ClusterFactors {
  struct Group {
    std::size_t scope_begin, scope_end;  ///< into scopes
    std::size_t table_begin;             ///< into values
  };
  std::vector<std::size_t> group_offsets;  ///< cluster c: groups[group_offsets[c] .. group_offsets[c + 1])
  std::vector<Group> groups;
  std::vector<std::uint32_t> scopes;
  std::vector<double> values;

  Operand operand(std::size_t group) const {
    const Group& g = groups[group];
    return {{scopes.data() + g.scope_begin, g.scope_end - g.scope_begin}, values.data() + g.table_begin};
  }
};

/// Every factor goes to the cluster that eliminates the first of its variables.
ClusterFactors gather_factors(const Graph& graph, const ClusterTree& tree);

}  // namespace drover
