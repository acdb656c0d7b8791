// The layout of a Graph for message passing: factors, their edges, and the edges of every variable.
//
// An edge joins a factor with one variable of its scope and carries one message in each direction. Messages
// of an edge have one log value per state of its variable and lie together for all edges of a factor, in the
// order of its scope. Numbers of factors are those of the Graph: spin pairs first, then Potts pairs, tables,
// gates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

enum class FactorKind : std::uint8_t { spin_pair, potts_pair, table, truncated_linear, gate };

/// log factor = constant - min(slope |a - b|, limit), recognised among the tables of two variables.
struct TruncatedLinear {
  double constant = 0;
  double slope = 0;
  double limit = 0;
};

struct FactorGraph {
  const Graph* graph = nullptr;  ///< holds the parameters; must outlive this

  std::vector<FactorKind> kind;  ///< of every factor
  std::vector<std::uint32_t>
      index;  ///< of every factor, in its kind's list (truncated_linear: below, shared by ties)
  std::vector<std::size_t> edge_offsets;      ///< factor f: edges edge_offsets[f] .. edge_offsets[f + 1]
  std::vector<VariableId> variable;           ///< of every edge
  std::vector<std::uint32_t> factor;          ///< of every edge
  std::vector<std::size_t> message_offsets;   ///< edge e: message_offsets[e] .. message_offsets[e + 1]
  std::vector<std::size_t> variable_offsets;  ///< variable v: edges_of[variable_offsets[v] ...]
  std::vector<std::size_t> edges_of;
  std::vector<TruncatedLinear> truncated_linear;
  std::size_t largest_factor = 0;  ///< message entries of the factor that has most

  std::size_t factor_count() const { return kind.size(); }
  std::size_t edge_count() const { return variable.size(); }
  std::size_t variable_count() const { return variable_offsets.size() - 1; }
  std::size_t message_entries() const { return message_offsets.back(); }
  std::span<const VariableId> scope(std::size_t f) const {
    return {variable.data() + edge_offsets[f], edge_offsets[f + 1] - edge_offsets[f]};
  }
  std::span<const std::size_t> edges(VariableId v) const {
    return {edges_of.data() + variable_offsets[v], variable_offsets[v + 1] - variable_offsets[v]};
  }
};

/// With `chosen`, only the factors f with chosen[f] != 0 get edges; the others have an empty scope. Raises stopped
/// (interrupted) when the control ends it.
FactorGraph factor_graph(const Graph& graph, std::span<const char> chosen = {},
                         const RunControl& control = no_control());
FactorGraph factor_graph(Graph&&, std::span<const char> chosen = {},
                         const RunControl& control = no_control()) = delete;

/// Factors in breadth-first order from the first variable of every component, and whether no cycle was met.
struct FactorOrder {
  std::vector<std::uint32_t> factors;
  std::vector<VariableId> variables;
  bool is_forest = true;
};
FactorOrder breadth_first(const FactorGraph& graph, const RunControl& control = no_control());

}  // namespace drover
