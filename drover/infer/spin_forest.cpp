#include "drover/infer/spin_forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace drover {

SpinForest no_forest(const SpinEdges& graph) {
  SpinForest forest;
  forest.has_edge.assign(graph.edges.size(), 0);
  forest.order.resize(graph.size());
  std::iota(forest.order.begin(), forest.order.end(), 0U);
  forest.parent = forest.order;
  forest.coupling.assign(graph.size(), 0);
  return forest;
}

SpinForest strongest_forest(const SpinEdges& graph) {
  SpinForest forest = no_forest(graph);
  const std::size_t n = graph.size();
  std::vector<std::uint32_t> edges(graph.edges.size()), root(forest.parent);
  std::iota(edges.begin(), edges.end(), 0U);
  std::stable_sort(edges.begin(), edges.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::abs(graph.edges[a].coupling) > std::abs(graph.edges[b].coupling);
  });
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  std::vector<std::vector<std::uint32_t>> links(n);
  for (std::uint32_t e : edges) {
    const std::uint32_t a = find(graph.edges[e].first), b = find(graph.edges[e].second);
    if (a == b) continue;
    root[a] = b;
    forest.has_edge[e] = 1;
    ++forest.size;
    links[graph.edges[e].first].push_back(e);
    links[graph.edges[e].second].push_back(e);
  }
  forest.order.clear();
  std::vector<std::uint8_t> seen(n, 0);
  for (std::uint32_t start = 0; start < n; ++start) {
    if (seen[start] != 0) continue;
    seen[start] = 1;
    forest.order.push_back(start);
    for (std::size_t at = forest.order.size() - 1; at < forest.order.size(); ++at) {
      const std::uint32_t i = forest.order[at];
      for (std::uint32_t e : links[i]) {
        const std::uint32_t j = graph.edges[e].first == i ? graph.edges[e].second : graph.edges[e].first;
        if (seen[j] != 0) continue;
        seen[j] = 1;
        forest.parent[j] = i;
        forest.coupling[j] = graph.edges[e].coupling;
        forest.order.push_back(j);
      }
    }
  }
  return forest;
}

}  // namespace drover
