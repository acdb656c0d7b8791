// In which order to remove variables, so that exact inference needs the smallest tables.
//
// Trees hanging off the graph are peeled first (variables with at most one neighbour; always optimal). What
// remains is split into connected components; each gets sweep orders from several starts and greedy orders
// with several random tie-breaks, and keeps the one with the fewest table entries in all. The search is
// deterministic: it is bounded by tries and by counted work, never by a clock, and it stops once it has cost
// as much as solving the model would.
//
// When it fails: finding the best order is NP-hard. When no order within `log2_limit` and the work budget is
// found the result is still a valid order, its figures are upper bounds from a sweep's frontier, and `exact`
// is false: exact inference is out of reach.
#pragma once

#include <cstdint>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct OrderOptions {
  std::uint32_t tries = 200;  ///< greedy orders tried per component, over all heuristics
  std::uint64_t seed = 1;
  double log2_limit = 64;                     ///< give up on orders with a clique above 2^this entries
  std::uint64_t work_budget = 400'000'000;    ///< elementary steps; about a second
  const RunControl* control = &no_control();  ///< its end leaves the best order so far
};

struct EliminationOrder {
  std::vector<VariableId> order;  ///< all variables of the graph, the first is eliminated first
  bool exact = true;              ///< the figures below are those of `order`; otherwise they are upper bounds
  std::uint32_t width = 0;        ///< variables of the largest clique, less one
  std::uint32_t treewidth_bound =
      0;  ///< the least width of any order tried; `order` may be wider but cheaper
  double log2_max_clique = 0;
  double log2_total_table = 0;  ///< entries of all cliques together
};

EliminationOrder find_elimination_order(const Graph& graph, const OrderOptions& options = {});

}  // namespace drover
