// Sweep orders: number the vertices outwards from one of them, so that elimination moves a frontier through
// the graph. A W x L grid needs cliques of W + 1 variables this way, whatever L is.
//
//   cuthill_mckee     breadth first, neighbours by increasing degree (Cuthill and McKee 1969)
//   least_frontier    next is the frontier vertex with the fewest unseen neighbours, the oldest first (after
//                     Sloan 1986: keeps the number of active vertices low)
//   max_cardinality   reversed maximum cardinality search (Tarjan and Yannakakis 1984); perfect on chordal
//                     graphs
//
// All take time linear in the edges (the last two times a logarithm). They assume a connected graph. They
// fail to be good where the graph is tree-like with bushy branches; the greedy orders are best there. A sweep
// that its control ends gives no order: an empty one.
#pragma once

#include "drover/compile/greedy_order.hpp"

namespace drover {

std::uint32_t far_vertex(const OrderGraph& graph, std::uint32_t start);  ///< of the last breadth-first level
std::vector<std::uint32_t> cuthill_mckee(const OrderGraph& graph, std::uint32_t start,
                                         const RunControl& control = no_control());
std::vector<std::uint32_t> least_frontier(const OrderGraph& graph, std::uint32_t start,
                                          const RunControl& control = no_control());
std::vector<std::uint32_t> max_cardinality_search(const OrderGraph& graph, std::uint32_t start,
                                                  const RunControl& control = no_control());

/// The largest frontier of a sweep with the vertex it removes: an upper bound on the cost of `order`, in
/// linear time even where the order itself is far too costly to evaluate.
OrderCost frontier_bound(const OrderGraph& graph, const std::vector<std::uint32_t>& order);

/// The exact cost of an order by symbolic elimination; false when a limit is met first.
bool evaluate_order(const OrderGraph& graph, const std::vector<std::uint32_t>& order, OrderLimits& limits,
                    OrderCost& cost);

}  // namespace drover
