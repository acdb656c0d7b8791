#include "drover/compile/sweep_order.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace drover {
namespace {

constexpr std::uint32_t unseen = std::numeric_limits<std::uint32_t>::max();

/// Asked for every vertex, and asks the control for few.
bool ends_at(std::size_t vertex, const RunControl& control) {
  constexpr std::size_t between = 1U << 14;
  return vertex % between == between - 1 && control.should_stop();
}

}  // namespace

std::vector<std::uint32_t> cuthill_mckee(const OrderGraph& graph, std::uint32_t start,
                                         const RunControl& control) {
  std::vector<std::uint32_t> order{start};
  std::vector<bool> seen(graph.size(), false);
  seen[start] = true;
  order.reserve(graph.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (ends_at(at, control)) return {};
    const std::size_t first = order.size();
    for (std::uint32_t u : graph.of(order[at]))
      if (!seen[u]) {
        seen[u] = true;
        order.push_back(u);
      }
    std::stable_sort(
        order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
        [&](std::uint32_t a, std::uint32_t b) { return graph.of(a).size() < graph.of(b).size(); });
  }
  return order;
}

std::uint32_t far_vertex(const OrderGraph& graph, std::uint32_t start) {
  std::vector<std::uint32_t> level(graph.size(), unseen);
  std::vector<std::uint32_t> order{start};
  level[start] = 0;
  for (std::size_t at = 0; at < order.size(); ++at)
    for (std::uint32_t u : graph.of(order[at]))
      if (level[u] == unseen) {
        level[u] = level[order[at]] + 1;
        order.push_back(u);
      }
  std::uint32_t best = order.back();
  for (std::size_t at = order.size(); at-- > 0 && level[order[at]] == level[order.back()];)
    if (graph.of(order[at]).size() < graph.of(best).size()) best = order[at];
  return best;
}

std::vector<std::uint32_t> least_frontier(const OrderGraph& graph, std::uint32_t start,
                                          const RunControl& control) {
  struct Entry {
    std::uint32_t missing, age, vertex;
    bool operator>(const Entry& other) const {
      return missing != other.missing ? missing > other.missing : age > other.age;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<std::uint32_t> missing(graph.size()), age(graph.size(), unseen), order;
  std::vector<bool> done(graph.size(), false);
  for (std::size_t v = 0; v < graph.size(); ++v) missing[v] = static_cast<std::uint32_t>(graph.of(v).size());
  std::uint32_t clock = 0;
  // A vertex that enters the frontier is no longer missing for its neighbours.
  const auto enter = [&](std::uint32_t v) {
    age[v] = clock++;
    for (std::uint32_t u : graph.of(v)) {
      --missing[u];
      if (age[u] != unseen && !done[u]) queue.push({missing[u], age[u], u});
    }
    queue.push({missing[v], age[v], v});
  };
  enter(start);
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    const std::uint32_t v = entry.vertex;
    if (done[v] || entry.missing != missing[v]) continue;
    if (ends_at(order.size(), control)) return {};
    done[v] = true;
    order.push_back(v);
    for (std::uint32_t u : graph.of(v))
      if (age[u] == unseen) enter(u);
  }
  return order;
}

std::vector<std::uint32_t> max_cardinality_search(const OrderGraph& graph, std::uint32_t start,
                                                  const RunControl& control) {
  std::vector<std::vector<std::uint32_t>> with_count(1);
  std::vector<std::uint32_t> count(graph.size(), 0), order;
  std::vector<bool> done(graph.size(), false);
  const auto put = [&](std::uint32_t v) {
    if (count[v] >= with_count.size()) with_count.resize(count[v] + 1);
    with_count[count[v]].push_back(v);
  };
  put(start);
  while (!with_count.empty()) {
    if (with_count.back().empty()) {
      with_count.pop_back();
      continue;
    }
    const std::uint32_t v = with_count.back().back();
    with_count.back().pop_back();
    if (done[v] || count[v] + 1 < with_count.size()) continue;
    if (ends_at(order.size(), control)) return {};
    done[v] = true;
    order.push_back(v);
    for (std::uint32_t u : graph.of(v))
      if (!done[u]) {
        ++count[u];
        put(u);
      }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

OrderCost frontier_bound(const OrderGraph& graph, const std::vector<std::uint32_t>& order) {
  OrderCost cost;
  std::vector<bool> seen(graph.size(), false);
  double bits = 0;
  std::uint32_t active = 0;
  const auto enter = [&](std::uint32_t v) {
    if (seen[v]) return;
    seen[v] = true;
    ++active;
    bits += std::log2(graph.cardinalities[v]);
  };
  for (std::uint32_t v : order) {
    enter(v);
    for (std::uint32_t u : graph.of(v)) enter(u);
    cost.width = std::max(cost.width, active - 1);
    cost.log2_max_clique = std::max(cost.log2_max_clique, bits);
    cost.total_entries += std::exp2(bits);
    --active;
    bits -= std::log2(graph.cardinalities[v]);
  }
  return cost;
}

bool evaluate_order(const OrderGraph& graph, const std::vector<std::uint32_t>& order, OrderLimits& limits,
                    OrderCost& cost) {
  cost = {};
  const std::size_t n = graph.size();
  std::vector<std::uint32_t> position(n);
  for (std::size_t at = 0; at < n; ++at) position[order[at]] = static_cast<std::uint32_t>(at);
  // By position: the separators of eliminated children that wait at their parent, merged into one list.
  std::vector<std::vector<std::uint32_t>> waiting(n);
  std::vector<std::uint32_t> stamp(n, unseen), separator;
  for (std::uint32_t at = 0; at < n; ++at) {
    separator.clear();
    stamp[at] = at;
    const auto add = [&](std::uint32_t p) {
      if (p <= at || stamp[p] == at) return;
      stamp[p] = at;
      separator.push_back(p);
    };
    for (std::uint32_t u : graph.of(order[at])) add(position[u]);
    for (std::uint32_t p : waiting[at]) add(p);
    limits.work += graph.of(order[at]).size() + waiting[at].size() + 1;
    std::vector<std::uint32_t>().swap(waiting[at]);

    double bits = std::log2(graph.cardinalities[order[at]]);
    std::uint32_t parent = unseen;
    for (std::uint32_t p : separator) {
      bits += std::log2(graph.cardinalities[order[p]]);
      parent = std::min(parent, p);
    }
    cost.width = std::max(cost.width, static_cast<std::uint32_t>(separator.size()));
    cost.log2_max_clique = std::max(cost.log2_max_clique, bits);
    cost.total_entries += std::exp2(bits);
    if (bits > limits.log2_max_clique || cost.total_entries >= limits.total_entries ||
        limits.work > limits.work_budget || ends_at(at, *limits.control))
      return false;
    if (parent == unseen) continue;
    if (waiting[parent].empty())
      waiting[parent] = separator;
    else
      waiting[parent].insert(waiting[parent].end(), separator.begin(), separator.end());
  }
  return true;
}

}  // namespace drover
