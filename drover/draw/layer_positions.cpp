#include "drover/draw/layer_positions.hpp"

#include <algorithm>

namespace drover {

namespace {

using Nodes = std::vector<std::uint32_t>;

double weight(const LayeredGraph& graph, std::uint32_t u, std::uint32_t v) {
  const int bends = graph.is_bend(u) + graph.is_bend(v);
  return bends == 2 ? 8 : bends == 1 ? 2 : 1;
}

/// Nodes that touch, and so move together.
struct Pool {
  double sum = 0, weight = 0;  ///< of wishes, less the room to the left
  std::size_t end = 0;         ///< one past its last node
  double place() const { return sum / weight; }
};

void place_layer(const LayeredGraph& graph, const Nodes& layer, std::vector<double>& x,
                 std::vector<Pool>& pools) {
  pools.clear();
  double room = 0;
  for (std::size_t k = 0; k < layer.size(); ++k) {
    const std::uint32_t v = layer[k];
    if (k > 0) room += (graph.widths[layer[k - 1]] + graph.widths[v]) / 2;
    Pool pool{0, 0, k + 1};
    for (const auto* neighbours : {&graph.up[v], &graph.down[v]})
      for (std::uint32_t u : *neighbours) {
        const double w = weight(graph, u, v);
        pool.sum += w * (x[u] - room);
        pool.weight += w;
      }
    if (pool.weight == 0) pool = {x[v] - room, 1, k + 1};  // a node alone stays where it is
    while (!pools.empty() && pools.back().place() >= pool.place()) {
      pool.sum += pools.back().sum;
      pool.weight += pools.back().weight;
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  room = 0;
  for (std::size_t k = 0, p = 0; k < layer.size(); ++k) {
    if (k > 0) room += (graph.widths[layer[k - 1]] + graph.widths[layer[k]]) / 2;
    if (k == pools[p].end) ++p;
    x[layer[k]] = pools[p].place() + room;
  }
}

}  // namespace

std::vector<double> place_nodes(const LayeredGraph& graph) {
  std::vector<double> x(graph.size());
  for (const Nodes& layer : graph.layers) {  // side by side, centred
    double end = 0;
    for (std::uint32_t v : layer) end += graph.widths[v];
    double left = -end / 2;
    for (std::uint32_t v : layer) {
      x[v] = left + graph.widths[v] / 2;
      left += graph.widths[v];
    }
  }
  std::vector<Pool> pools;
  constexpr int sweeps = 100;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t layer = 0; layer < graph.layers.size(); ++layer)
      place_layer(graph, graph.layers[layer], x, pools);
    for (std::size_t layer = graph.layers.size(); layer-- > 0;)
      place_layer(graph, graph.layers[layer], x, pools);
  }
  return x;
}

double slant(const LayeredGraph& graph, const std::vector<double>& x) {
  double sum = 0;
  for (std::uint32_t u = 0; u < graph.size(); ++u)
    for (std::uint32_t v : graph.down[u]) sum += weight(graph, u, v) * (x[u] - x[v]) * (x[u] - x[v]);
  return sum;
}

}  // namespace drover
