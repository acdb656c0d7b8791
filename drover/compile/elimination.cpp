#include "drover/compile/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/compile/sweep_order.hpp"

namespace drover {
namespace {

// Above this size a component gets sweep orders only: the greedy search would need minutes and gigabytes.
constexpr std::size_t greedy_limit = std::size_t{1} << 21;
constexpr std::size_t large_component = 20'000;
constexpr std::uint32_t sweep_starts = 4;

struct Found {
  bool exact = false;
  std::vector<std::uint32_t> order;
  OrderCost cost;
  std::uint32_t least_width = std::numeric_limits<std::uint32_t>::max();
};

// Tries sweep orders, then greedy ones, on one connected component.
class ComponentSearch {
 public:
  ComponentSearch(const OrderGraph& graph, const OrderOptions& options, OrderLimits& limits)
      : graph_(graph), options_(options), limits_(limits), first_work_(limits.work) {
    limits_.log2_max_clique = options.log2_limit;
    limits_.total_entries = std::numeric_limits<double>::infinity();
    // A step on a large component misses the cache and takes several times as long. However much earlier
    // components have used, each may evaluate a sweep of moderate width.
    const std::uint64_t share =
        graph.size() > large_component ? options.work_budget / 4 : options.work_budget;
    limits_.work_budget = std::max(share, limits.work + 20 * (graph.size() + graph.list.size()));
  }

  Found run() {
    try_sweeps();
    if (graph_.size() <= greedy_limit) try_greedy();
    if (best_.order.empty()) take_any();
    return std::move(best_);
  }

 private:
  // Searching longer than the solution takes would be waste; a step costs about as much as a table entry.
  bool enough() const {
    if (limits_.work > limits_.work_budget || options_.control->should_stop()) return true;
    return best_.exact && static_cast<double>(limits_.work - first_work_) > best_.cost.total_entries / 2;
  }

  void offer(std::vector<std::uint32_t> order, const OrderCost& cost) {
    best_ = {true, std::move(order), cost, std::min(best_.least_width, cost.width)};
    limits_.total_entries = cost.total_entries;
  }

  // The search was ended before it had an order.
  void take_any() {
    best_.order.resize(graph_.size());
    std::iota(best_.order.begin(), best_.order.end(), 0U);
    best_.cost = frontier_bound(graph_, best_.order);
    best_.least_width = best_.cost.width;
  }

  void try_sweep(std::vector<std::uint32_t> order) {
    if (order.empty()) return;
    OrderCost cost;
    if (evaluate_order(graph_, order, limits_, cost)) {
      offer(std::move(order), cost);
    } else if (!best_.exact) {
      cost = frontier_bound(graph_, order);
      best_.least_width = std::min(best_.least_width, cost.width);
      if (best_.order.empty() || cost.log2_max_clique < best_.cost.log2_max_clique)
        best_ = {false, std::move(order), cost, best_.least_width};
    }
  }

  void try_sweeps() {
    RandomSequence random(options_.seed, Stream::tie_break, 0);
    std::uint32_t start = far_vertex(graph_, 0);
    for (std::uint32_t s = 0; s < sweep_starts; ++s) {
      try_sweep(cuthill_mckee(graph_, start, *options_.control));
      if (enough() || graph_.size() > greedy_limit) return;
      try_sweep(least_frontier(graph_, start, *options_.control));
      if (enough()) return;
      if (s == 0) {
        std::vector<std::uint32_t> reversed = cuthill_mckee(graph_, start, *options_.control);
        std::reverse(reversed.begin(), reversed.end());
        try_sweep(std::move(reversed));
        try_sweep(max_cardinality_search(graph_, start, *options_.control));
        if (!best_.exact && graph_.size() > large_component) return;
      }
      start = s == 0 ? far_vertex(graph_, start)
                     : far_vertex(graph_, random.below(static_cast<std::uint32_t>(graph_.size())));
    }
  }

  // Orders of one heuristic differ by orders of magnitude, so many cheap tries beat few. The fill heuristics
  // win on every model measured; min-size is the fast one for large components. A component that defeats the
  // first few tries is hopeless.
  void try_greedy() {
    const bool equal = std::all_of(graph_.cardinalities.begin(), graph_.cardinalities.end(),
                                   [&](std::uint32_t k) { return k == graph_.cardinalities[0]; });
    const bool large = graph_.size() > large_component;
    for (std::uint32_t t = 0; t < options_.tries && !enough(); ++t) {
      if (!best_.exact && t >= (large ? 1 : 4)) return;
      const GreedyScore score = large && t == 0       ? GreedyScore::size
                                : equal || t % 2 == 0 ? GreedyScore::fill
                                                      : GreedyScore::weighted_fill;
      RandomSequence ties(options_.seed, Stream::tie_break, t + 1);
      GreedyOrder found = greedy_order(graph_, score, ties, limits_);
      if (found.complete) offer(std::move(found.order), found.cost);
    }
  }

  const OrderGraph& graph_;
  const OrderOptions& options_;
  OrderLimits& limits_;
  std::uint64_t first_work_;
  Found best_;
};

}  // namespace

EliminationOrder find_elimination_order(const Graph& graph, const OrderOptions& options) {
  const std::size_t n = graph.size();
  const Adjacency around = adjacency(graph);
  EliminationOrder result;
  result.order.reserve(n);
  double total = 0;

  // Peel: `order` is also the queue of variables with at most one neighbour left.
  std::vector<std::uint32_t> degree(n);
  std::vector<bool> gone(n, false);
  for (std::size_t v = 0; v < n; ++v) {
    degree[v] = static_cast<std::uint32_t>(around.of(static_cast<VariableId>(v)).size());
    if (degree[v] <= 1) result.order.push_back(static_cast<VariableId>(v));
  }
  for (std::size_t at = 0; at < result.order.size(); ++at) {
    const VariableId v = result.order[at];
    gone[v] = true;
    double entries = graph.cardinalities[v];
    for (VariableId u : around.of(v))
      if (!gone[u]) {
        entries *= graph.cardinalities[u];
        result.width = result.treewidth_bound = 1;
        if (--degree[u] == 1) result.order.push_back(u);
      }
    total += entries;
    result.log2_max_clique = std::max(result.log2_max_clique, std::log2(entries));
  }

  OrderLimits limits;
  limits.control = options.control;
  std::vector<std::uint32_t> local(n, 0);
  std::vector<VariableId> members;
  for (std::size_t first = 0; first < n; ++first) {
    if (gone[first]) continue;
    members.assign(1, static_cast<VariableId>(first));
    gone[first] = true;
    for (std::size_t at = 0; at < members.size(); ++at) {
      local[members[at]] = static_cast<std::uint32_t>(at);
      for (VariableId u : around.of(members[at]))
        if (!gone[u]) {
          gone[u] = true;
          members.push_back(u);
        }
    }
    OrderGraph component;
    for (VariableId v : members) {
      component.cardinalities.push_back(graph.cardinalities[v]);
      for (VariableId u : around.of(v))
        if (degree[u] > 1) component.list.push_back(local[u]);
      component.offsets.push_back(component.list.size());
    }
    const Found found = ComponentSearch(component, options, limits).run();
    for (std::uint32_t v : found.order) result.order.push_back(members[v]);
    result.exact &= found.exact;
    result.width = std::max(result.width, found.cost.width);
    result.treewidth_bound = std::max(result.treewidth_bound, found.least_width);
    result.log2_max_clique = std::max(result.log2_max_clique, found.cost.log2_max_clique);
    total += found.cost.total_entries;
  }
  // exp2 of a hopeless frontier overflows; the largest clique bounds the total well enough then.
  result.log2_total_table = std::isinf(total) ? result.log2_max_clique + std::log2(static_cast<double>(n))
                                              : std::log2(std::max(total, 1.0));
  return result;
}

}  // namespace drover
