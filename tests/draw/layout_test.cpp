// What a layout promises, on random networks: nodes apart, arcs downwards and clear of nodes, the same every
// time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "drover/core/random.hpp"
#include "drover/draw/layer_order.hpp"
#include "drover/draw/layer_positions.hpp"
#include "drover/draw/layered_layout.hpp"

namespace drover {
namespace {

struct Drawn {
  std::vector<NodeSize> nodes;
  std::vector<Arc> arcs;
  LayeredLayout layout;
};

/// A network without cycles of `size` nodes, each with up to `parents` earlier ones, mostly near.
Drawn random_network(std::uint32_t size, std::uint32_t parents, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Drawn drawn;
  std::vector<std::uint32_t> name(size);
  for (std::uint32_t v = 0; v < size; ++v) name[v] = v;
  for (std::uint32_t v = size; v-- > 1;) std::swap(name[v], name[random.below(v + 1)]);
  for (std::uint32_t v = 0; v < size; ++v) {
    drawn.nodes.push_back({40 + 100 * random.uniform(), 20 + 60 * random.uniform()});
    std::set<std::uint32_t> chosen;
    for (std::uint64_t p = random.below(parents + 1); p > 0 && v > 0; --p) {
      const std::uint32_t reach = random.uniform() < 0.8 ? std::min(v, 12u) : v;
      chosen.insert(static_cast<std::uint32_t>(v - 1 - random.below(reach)));
    }
    for (std::uint32_t u : chosen) drawn.arcs.push_back({name[u], name[v]});
  }
  drawn.layout = layered_layout(drawn.nodes, drawn.arcs);
  return drawn;
}

void expect_nodes_apart(const Drawn& drawn, double gap) {
  const auto& at = drawn.layout.corners;
  for (std::size_t a = 0; a < drawn.nodes.size(); ++a) {
    EXPECT_GE(at[a].x, -1e-6);
    EXPECT_GE(at[a].y, -1e-6);
    EXPECT_LE(at[a].x + drawn.nodes[a].width, drawn.layout.width + 1e-6);
    EXPECT_LE(at[a].y + drawn.nodes[a].height, drawn.layout.height + 1e-6);
    for (std::size_t b = 0; b < a; ++b) {
      const double beside =
          std::max(at[a].x - at[b].x - drawn.nodes[b].width, at[b].x - at[a].x - drawn.nodes[a].width);
      const double below =
          std::max(at[a].y - at[b].y - drawn.nodes[b].height, at[b].y - at[a].y - drawn.nodes[a].height);
      EXPECT_GE(std::max(beside, below), gap - 1e-6) << a << " and " << b;
    }
  }
}

/// From the middle of the lower edge of its first node to the upper edge of its second, never upwards.
void expect_arcs_run_down(const Drawn& drawn) {
  for (std::size_t a = 0; a < drawn.arcs.size(); ++a) {
    const auto [from, to] = drawn.arcs[a];
    const std::vector<Point>& path = drawn.layout.paths[a];
    ASSERT_GE(path.size(), 2u);
    EXPECT_LT(drawn.layout.layers[from], drawn.layout.layers[to]);
    EXPECT_NEAR(path.front().x, drawn.layout.corners[from].x + drawn.nodes[from].width / 2, 1e-6);
    EXPECT_NEAR(path.front().y, drawn.layout.corners[from].y + drawn.nodes[from].height, 1e-6);
    EXPECT_NEAR(path.back().x, drawn.layout.corners[to].x + drawn.nodes[to].width / 2, 1e-6);
    EXPECT_NEAR(path.back().y, drawn.layout.corners[to].y, 1e-6);
    for (std::size_t i = 1; i < path.size(); ++i) EXPECT_GT(path[i].y, path[i - 1].y - 1e-9);
  }
}

/// No arc enters a node: each piece is tried at 16 places.
void expect_arcs_clear_of_nodes(const Drawn& drawn) {
  for (const std::vector<Point>& path : drawn.layout.paths)
    for (std::size_t i = 1; i < path.size(); ++i)
      for (int step = 0; step <= 16; ++step) {
        const double t = step / 16.0;
        const double x = path[i - 1].x + t * (path[i].x - path[i - 1].x);
        const double y = path[i - 1].y + t * (path[i].y - path[i - 1].y);
        for (std::size_t v = 0; v < drawn.nodes.size(); ++v) {
          const Point& corner = drawn.layout.corners[v];
          const bool inside = x > corner.x + 1e-6 && x < corner.x + drawn.nodes[v].width - 1e-6 &&
                              y > corner.y + 1e-6 && y < corner.y + drawn.nodes[v].height - 1e-6;
          EXPECT_FALSE(inside) << "an arc enters node " << v;
        }
      }
}

TEST(LayeredLayout, KeepsItsPromisesOnRandomNetworks) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto size = static_cast<std::uint32_t>(1 + seed * 7 % 50);
    const Drawn drawn = random_network(size, 1 + seed % 4, seed);
    SCOPED_TRACE(fmt::format("seed {}, {} nodes", seed, size));
    expect_nodes_apart(drawn, LayoutOptions().node_gap);
    expect_arcs_run_down(drawn);
    expect_arcs_clear_of_nodes(drawn);
  }
}

TEST(LayeredLayout, FiveHundredNodes) {
  const Drawn drawn = random_network(500, 4, 3);
  expect_nodes_apart(drawn, LayoutOptions().node_gap);
  expect_arcs_run_down(drawn);
}

TEST(LayeredLayout, TheSameEveryTime) {
  const Drawn one = random_network(80, 3, 11), two = random_network(80, 3, 11);
  for (std::size_t v = 0; v < one.nodes.size(); ++v) {
    EXPECT_EQ(one.layout.corners[v].x, two.layout.corners[v].x);
    EXPECT_EQ(one.layout.corners[v].y, two.layout.corners[v].y);
  }
}

TEST(LayeredLayout, TreesHaveNoCrossings) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomSequence random(seed, Stream::generate);
    const std::vector<NodeSize> nodes(60, {30, 20});
    std::vector<Arc> arcs;
    for (std::uint32_t v = 1; v < 60; ++v) arcs.push_back({static_cast<std::uint32_t>(random.below(v)), v});
    EXPECT_EQ(layered_layout(nodes, arcs).crossings, 0u) << seed;
  }
}

TEST(LayeredLayout, AChainIsUpright) {
  std::vector<Arc> arcs;
  for (std::uint32_t v = 0; v + 1 < 6; ++v) arcs.push_back({v, v + 1});
  const std::vector<NodeSize> nodes(6, {30, 20});
  const LayeredLayout layout = layered_layout(nodes, arcs);
  EXPECT_EQ(layout.width, 30);
  for (const Point& corner : layout.corners) EXPECT_EQ(corner.x, 0);
}

TEST(LayeredLayout, CyclesLoopsRepeatedArcsAndLonelyNodes) {
  Drawn drawn;
  drawn.nodes.assign(7, {40, 20});
  drawn.arcs = {{0, 1}, {1, 2}, {2, 0}, {3, 3}, {4, 5}, {4, 5}};
  drawn.layout = layered_layout(drawn.nodes, drawn.arcs);
  expect_nodes_apart(drawn, LayoutOptions().node_gap);
  EXPECT_TRUE(drawn.layout.paths[3].empty());
  int upwards = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::vector<Point>& path = drawn.layout.paths[a];
    EXPECT_NEAR(path.front().x, drawn.layout.corners[drawn.arcs[a].from].x + 20, 1e-6);
    upwards += path.back().y < path.front().y;
  }
  EXPECT_EQ(upwards, 1);  // of the three arcs of a cycle
  EXPECT_EQ(layered_layout({}, {}).width, 0);
}

TEST(LayerOrder, CountsCrossings) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RandomSequence random(seed, Stream::generate);
    LayeredGraph graph;
    graph.layers = {{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}};
    graph.up.resize(10);
    graph.down.resize(10);
    graph.widths.assign(10, 1);
    graph.first_bend = 10;
    std::vector<Arc> arcs;
    for (std::uint32_t u = 0; u < 5; ++u)
      for (std::uint32_t v = 5; v < 10; ++v)
        if (random.uniform() < 0.4) {
          arcs.push_back({u, v});
          graph.down[u].push_back(v);
          graph.up[v].push_back(u);
        }
    std::uint64_t crossings = 0;
    for (const Arc& a : arcs)
      for (const Arc& b : arcs) crossings += a.from < b.from && a.to > b.to;
    ASSERT_EQ(count_crossings(graph), crossings);
    // No exchange of two neighbours leaves fewer.
    reduce_crossings(graph);
    const std::uint64_t fewest = count_crossings(graph);
    for (auto& layer : graph.layers)
      for (std::size_t k = 0; k + 1 < layer.size(); ++k) {
        std::swap(layer[k], layer[k + 1]);
        EXPECT_GE(count_crossings(graph), fewest) << seed;
        std::swap(layer[k], layer[k + 1]);
      }
  }
}

/// The sum is convex and the constraints are too: between the result and any other placement that keeps the
/// room, it does not fall by more than the sweeps left undone.
TEST(LayerPositions, NoOtherPlacementIsMuchMoreUpright) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomSequence random(seed, Stream::generate);
    LayeredGraph graph;
    graph.layers = {{0, 1, 2}, {3, 4, 5, 6}, {7, 8}, {9, 10, 11}};
    graph.up.resize(12);
    graph.down.resize(12);
    graph.first_bend = 10;
    for (int v = 0; v < 12; ++v) graph.widths.push_back(10 + 50 * random.uniform());
    for (std::size_t layer = 0; layer + 1 < 4; ++layer)
      for (std::uint32_t u : graph.layers[layer])
        for (std::uint32_t v : graph.layers[layer + 1])
          if (random.uniform() < 0.5) {
            graph.down[u].push_back(v);
            graph.up[v].push_back(u);
          }
    const std::vector<double> x = place_nodes(graph);
    const double least = slant(graph, x);
    const auto keeps_room = [&](const std::vector<double>& y) {
      for (const auto& layer : graph.layers)
        for (std::size_t k = 0; k + 1 < layer.size(); ++k) {
          const double room = (graph.widths[layer[k]] + graph.widths[layer[k + 1]]) / 2;
          if (y[layer[k + 1]] - y[layer[k]] < room - 1e-9) return false;
        }
      return true;
    };
    EXPECT_TRUE(keeps_room(x));
    int tried = 0;
    for (int attempt = 0; attempt < 4000; ++attempt) {
      std::vector<double> y = x;
      const double size = std::pow(10.0, 2 - 3 * random.uniform());
      for (const auto& layer : graph.layers) {  // whole layers and single nodes
        const double shift = size * random.normal();
        for (std::uint32_t v : layer) y[v] += shift;
      }
      for (double& place : y)
        if (random.uniform() < 0.3) place += size * random.normal();
      if (!keeps_room(y)) continue;
      ++tried;
      EXPECT_GE(slant(graph, y), least * (1 - 1e-3) - 1e-3) << seed;
    }
    EXPECT_GT(tried, 50) << seed;
  }
}

}  // namespace
}  // namespace drover
