// A Graph as costs to be made small: what branch and bound and its bounds work on.
//
//   cost(x) = sum over variables u_i(x_i) + sum over factors c_f(x_f)
//   log score(x) = (top - cost(x)) / scale
//
// Every cost is a whole number held in a double: log-factors are subtracted from the largest of their table,
// multiplied by a power of two and rounded. Sums and differences of whole numbers below 2^53 are exact, so
// costs can be moved between factors and variables any number of times, and back, without drift; a hard zero
// is plus infinity and stays so. The scale is as large as that allows; `tolerance` bounds what all roundings
// together can do to a log score.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

inline constexpr double infinite_cost = std::numeric_limits<double>::infinity();

struct CostNetwork {
  std::vector<std::uint32_t> cardinalities;
  std::vector<std::size_t> value_offsets;  ///< values of variable v: value_offsets[v] .. value_offsets[v + 1]
  std::vector<double> unary;               ///< by value

  std::vector<std::size_t>
      scope_offsets;                  ///< factor f has the edges scope_offsets[f] .. scope_offsets[f + 1]
  std::vector<VariableId> variable;   ///< of every edge
  std::vector<std::uint32_t> factor;  ///< of every edge
  std::vector<std::size_t>
      stride;  ///< of every edge: between table entries that differ by one in its variable
  std::vector<std::size_t>
      delta_offsets;  ///< of every edge, and the end: room for a number per value of its variable
  std::vector<std::size_t> table_offsets;
  std::vector<double> tables;

  std::vector<std::size_t> edge_offsets;  ///< variable v is in the edges edge_list[edge_offsets[v] ..]
  std::vector<std::uint32_t> edge_list;

  double scale = 1;
  double top = 0;
  double tolerance = 0;

  std::size_t size() const { return cardinalities.size(); }
  std::size_t factor_count() const { return table_offsets.size() - 1; }
  std::size_t edge_count() const { return variable.size(); }
  std::span<const VariableId> scope(std::size_t f) const {
    return {variable.data() + scope_offsets[f], scope_offsets[f + 1] - scope_offsets[f]};
  }
  std::span<const std::uint32_t> edges_of(VariableId v) const {
    return {edge_list.data() + edge_offsets[v], edge_offsets[v + 1] - edge_offsets[v]};
  }
  double cost(std::span<const Value> x) const;
  double log_score(double cost) const { return (top - cost) / scale; }
};

/// Gates must be small enough for tables.
CostNetwork cost_network(const Graph& graph);

}  // namespace drover
