#include "drover/infer/spin_forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/core/stop_check.hpp"

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

SpinForest strongest_forest(const SpinEdges& graph, const RunControl& control) {
  StopCheck check(control, "a forest", "was found");
  SpinForest forest = no_forest(graph);
  const std::size_t n = graph.size();
  // Sorted by what they hold: looking at the edges in the sort would miss the cache at every step.
  struct Strength {
    double strength;
    std::uint32_t edge;
  };
  std::vector<Strength> edges;
  edges.reserve(graph.edges.size());
  for (std::uint32_t e = 0; e < graph.edges.size(); ++e)
    edges.push_back({std::abs(graph.edges[e].coupling), e});
  check.ask();
  std::sort(edges.begin(), edges.end(), [](const Strength& a, const Strength& b) {
    return a.strength != b.strength ? a.strength > b.strength : a.edge < b.edge;
  });
  check.ask();
  std::vector<std::uint32_t> root(forest.parent), taken;
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  std::vector<std::size_t> offsets(n + 1, 0);
  for (const Strength& one : edges) {
    check.step();
    const auto& edge = graph.edges[one.edge];
    const std::uint32_t a = find(edge.first), b = find(edge.second);
    if (a == b) continue;
    root[a] = b;
    forest.has_edge[one.edge] = 1;
    ++forest.size;
    taken.push_back(one.edge);
    ++offsets[edge.first + 1];
    ++offsets[edge.second + 1];
  }
  for (std::size_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
  std::vector<std::uint32_t> links(offsets[n]);  // of every variable, the strongest first
  std::vector<std::size_t> cursor(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t e : taken) {
    check.step();
    links[cursor[graph.edges[e].first]++] = e;
    links[cursor[graph.edges[e].second]++] = e;
  }
  forest.order.clear();
  std::vector<std::uint8_t> seen(n, 0);
  for (std::uint32_t start = 0; start < n; ++start) {
    if (seen[start] != 0) continue;
    seen[start] = 1;
    forest.order.push_back(start);
    for (std::size_t at = forest.order.size() - 1; at < forest.order.size(); ++at) {
      const std::uint32_t i = forest.order[at];
      check.step();
      for (std::size_t at_link = offsets[i]; at_link < offsets[i + 1]; ++at_link) {
        const std::uint32_t e = links[at_link];
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
