#include "drover/compile/colouring.hpp"

#include <gtest/gtest.h>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"

namespace drover {
namespace {

Graph graph_of(std::uint32_t size, const std::vector<std::pair<VariableId, VariableId>>& pairs) {
  Model model;
  model.cardinalities.assign(size, 2);
  for (auto [i, j] : pairs) model.spin_pairs.add(i, j, 0.5);
  return compile(model);
}

Colouring checked_colouring(const Graph& graph) {
  const Adjacency rows = adjacency(graph);
  const Colouring colouring = colour_variables(rows.offsets, rows.list);
  std::size_t members = 0;
  for (VariableId v = 0; v < rows.size(); ++v)
    for (VariableId u : rows.of(v)) EXPECT_NE(colouring.colour[v], colouring.colour[u]);
  for (std::size_t c = 0; c < colouring.count(); ++c) {
    const auto group = colouring.members_of(c);
    EXPECT_FALSE(group.empty());
    EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
    for (VariableId v : group) EXPECT_EQ(colouring.colour[v], c);
    members += group.size();
  }
  EXPECT_EQ(members, rows.size());
  return colouring;
}

TEST(Colouring, RandomGraphsNeedNoMoreThanTheirDegeneracyPlusOne) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomSequence random(seed, Stream::generate);
    const std::uint32_t size = 2 + random.below(30);
    std::vector<std::pair<VariableId, VariableId>> pairs;
    for (VariableId i = 0; i < size; ++i)
      for (VariableId j = 0; j < i; ++j)
        if (random.below(8) <= seed % 8) pairs.emplace_back(i, j);
    const Graph graph = graph_of(size, pairs);
    const std::size_t colours = checked_colouring(graph).count();

    // The degeneracy by its definition: the largest least degree while such variables are taken away.
    const Adjacency rows = adjacency(graph);
    std::vector<bool> gone(size, false);
    std::size_t degeneracy = 0;
    for (std::uint32_t step = 0; step < size; ++step) {
      std::size_t least = size, chosen = 0;
      for (VariableId v = 0; v < size; ++v) {
        std::size_t degree = 0;
        for (VariableId u : rows.of(v)) degree += !gone[u];
        if (!gone[v] && degree < least) least = degree, chosen = v;
      }
      degeneracy = std::max(degeneracy, least);
      gone[chosen] = true;
    }
    EXPECT_LE(colours, degeneracy + 1) << "seed " << seed;
  }
}

TEST(Colouring, TwoColoursForBipartiteGraphs) {
  // A 5 x 4 torus is not bipartite, a 6 x 4 torus is.
  for (std::uint32_t width : {5U, 6U}) {
    std::vector<std::pair<VariableId, VariableId>> pairs;
    for (VariableId y = 0; y < 4; ++y)
      for (VariableId x = 0; x < width; ++x) {
        pairs.emplace_back(y * width + x, y * width + (x + 1) % width);
        pairs.emplace_back(y * width + x, (y + 1) % 4 * width + x);
      }
    const std::size_t colours = checked_colouring(graph_of(width * 4, pairs)).count();
    EXPECT_EQ(colours == 2, width == 6);
    EXPECT_LE(colours, 4U);
  }
}

TEST(Colouring, CompleteAndEmptyGraphs) {
  std::vector<std::pair<VariableId, VariableId>> pairs;
  for (VariableId i = 0; i < 6; ++i)
    for (VariableId j = 0; j < i; ++j) pairs.emplace_back(i, j);
  EXPECT_EQ(checked_colouring(graph_of(6, pairs)).count(), 6U);
  EXPECT_EQ(checked_colouring(graph_of(6, {})).count(), 1U);
  EXPECT_EQ(checked_colouring(graph_of(0, {})).count(), 0U);
}

}  // namespace
}  // namespace drover
