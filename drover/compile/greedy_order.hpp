// Greedy elimination orders: remove the vertex that looks cheapest, join its neighbours, repeat.
//
//   min-fill            the number of edges that joining the neighbours adds
//   weighted min-fill   the same, each edge counted with the product of its two cardinalities
//   min-size            the size of the clique that elimination makes
//
// Source: Rose 1970; Kjaerulff 1990; Bodlaender and Koster, Treewidth computations I, 2010. Ties are broken
// at random, so several tries give several orders. A vertex whose neighbours are already joined (simplicial,
// score 0) is always a safe choice for both fill heuristics. Assumption: the graph is simple. It fails to be
// good on grids and other graphs without local structure, where a sweep (sweep_order.hpp) can be far better.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

/// A simple undirected graph with a number of states per vertex.
struct OrderGraph {
  std::vector<std::size_t> offsets{0};
  std::vector<std::uint32_t> list;
  std::vector<std::uint32_t> cardinalities;

  std::size_t size() const { return cardinalities.size(); }
  std::span<const std::uint32_t> of(std::size_t v) const {
    return {list.data() + offsets[v], offsets[v + 1] - offsets[v]};
  }
};

/// What an elimination order costs. Table sizes are whole numbers held in doubles (exact to 2^53).
struct OrderCost {
  std::uint32_t width = 0;
  double log2_max_clique = 0;
  double total_entries = 0;  ///< the sum of the table sizes of all eliminated cliques
};

/// Limits of a search; `work` counts elementary steps and is raised by the search.
struct OrderLimits {
  double log2_max_clique = std::numeric_limits<double>::infinity();
  double total_entries = std::numeric_limits<double>::infinity();
  std::uint64_t work_budget = 0;
  std::uint64_t work = 0;
  const RunControl* control = &no_control();

  bool met() const { return work > work_budget || control->should_stop(); }
};

enum class GreedyScore { fill, weighted_fill, size };

struct GreedyOrder {
  bool complete = false;  ///< false when a limit was met first
  std::vector<std::uint32_t> order;
  OrderCost cost;
};

GreedyOrder greedy_order(const OrderGraph& graph, GreedyScore score, RandomSequence& ties,
                         OrderLimits& limits);

}  // namespace drover
