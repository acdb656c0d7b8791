// Elimination orders: valid, honest about their cost, optimal where the optimum is known.
#include "drover/compile/elimination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "drover/compile/sweep_order.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

struct Cost {
  std::uint32_t width = 0;
  double log2_max = 0, total = 0;
};

// Plays the elimination with sets: the definition.
Cost play(const Graph& graph, const std::vector<VariableId>& order) {
  const Adjacency around = adjacency(graph);
  std::vector<std::set<VariableId>> neighbours(graph.size());
  for (VariableId v = 0; v < graph.size(); ++v) neighbours[v] = {around.of(v).begin(), around.of(v).end()};
  Cost cost;
  for (VariableId v : order) {
    double entries = graph.cardinalities[v];
    for (VariableId u : neighbours[v]) entries *= graph.cardinalities[u];
    cost.width = std::max(cost.width, static_cast<std::uint32_t>(neighbours[v].size()));
    cost.log2_max = std::max(cost.log2_max, std::log2(entries));
    cost.total += entries;
    for (VariableId u : neighbours[v]) {
      neighbours[u].erase(v);
      for (VariableId w : neighbours[v])
        if (w != u) neighbours[u].insert(w);
    }
  }
  return cost;
}

// What eliminating v costs: joining its neighbours, by the number or the weight of the new edges, or the clique itself.
double greedy_score(const Graph& graph, const std::vector<std::set<VariableId>>& neighbours, VariableId v,
                    GreedyScore kind) {
  double score = kind == GreedyScore::size ? std::log2(graph.cardinalities[v]) : 0;
  for (VariableId u : neighbours[v]) {
    if (kind == GreedyScore::size) score += std::log2(graph.cardinalities[u]);
    for (VariableId w : neighbours[v])
      if (u < w && !neighbours[u].contains(w))
        score += kind == GreedyScore::size   ? 0
                 : kind == GreedyScore::fill ? 1
                                             : graph.cardinalities[u] * graph.cardinalities[w];
  }
  return score;
}

// Whether every vertex of the order was a cheapest one of those left; sizes are compared to 20 bits.
bool is_greedy(const Graph& graph, const std::vector<VariableId>& order, GreedyScore kind) {
  const Adjacency around = adjacency(graph);
  std::vector<std::set<VariableId>> neighbours(graph.size());
  for (VariableId v = 0; v < graph.size(); ++v) neighbours[v] = {around.of(v).begin(), around.of(v).end()};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double score = greedy_score(graph, neighbours, order[i], kind);
    for (std::size_t j = i + 1; j < order.size(); ++j)
      if (greedy_score(graph, neighbours, order[j], kind) < score - 0x1p-20) return false;
    for (VariableId u : neighbours[order[i]]) {
      neighbours[u].erase(order[i]);
      for (VariableId w : neighbours[order[i]])
        if (w != u) neighbours[u].insert(w);
    }
  }
  return true;
}

bool is_permutation_of_all(const std::vector<VariableId>& order, std::size_t n) {
  std::vector<VariableId> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t v = 0; v < sorted.size(); ++v)
    if (sorted[v] != v) return false;
  return sorted.size() == n;
}

Graph grid_graph(std::uint32_t rows, std::uint32_t columns) {
  Model model;
  model.cardinalities.assign(std::size_t{rows} * columns, 2);
  for (VariableId v = 0; v < rows * columns; ++v) {
    if (v % columns + 1 < columns) model.spin_pairs.add(v, v + 1, 1);
    if (v / columns + 1 < rows) model.spin_pairs.add(v, v + columns, 1);
  }
  return compile(model);
}

TEST(Elimination, FiguresAreThoseOfTheOrder) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 2 + static_cast<std::uint32_t>(seed % 40);
    options.max_states = 2 + static_cast<std::uint32_t>(seed % 4);
    options.max_arity = 2 + static_cast<std::uint32_t>(seed % 3);
    options.factors = static_cast<std::uint32_t>(seed % 61);
    const Graph graph = compile(testing::random_model(seed, options));
    const EliminationOrder found = find_elimination_order(graph);
    ASSERT_TRUE(is_permutation_of_all(found.order, graph.size())) << "seed " << seed;
    ASSERT_TRUE(found.exact);
    const Cost cost = play(graph, found.order);
    EXPECT_EQ(found.width, cost.width) << "seed " << seed;
    EXPECT_NEAR(found.log2_max_clique, cost.log2_max, 1e-9) << "seed " << seed;
    EXPECT_NEAR(found.log2_total_table, std::log2(cost.total), 1e-9) << "seed " << seed;
  }
}

// Every heuristic alone states the cost that symbolic elimination finds for its order.
TEST(Elimination, GreedyCostEqualsSymbolicCost) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 30;
    options.max_states = 4;
    options.max_arity = 3;
    options.factors = 30;
    const Graph graph = compile(testing::random_model(seed, options));
    const Adjacency around = adjacency(graph);
    OrderGraph order_graph;
    order_graph.offsets = around.offsets;
    order_graph.list = around.list;
    order_graph.cardinalities = graph.cardinalities;
    for (GreedyScore score : {GreedyScore::fill, GreedyScore::weighted_fill, GreedyScore::size}) {
      OrderLimits limits;
      limits.work_budget = 1'000'000'000;
      RandomSequence ties(seed, Stream::tie_break);
      const GreedyOrder greedy = greedy_order(order_graph, score, ties, limits);
      RunControl control;
      int asked = 0;
      control.stop_when([&] { return ++asked > 3; });
      OrderLimits ended = limits;
      ended.control = &control;
      EXPECT_FALSE(greedy_order(order_graph, score, ties, ended).complete);
      ASSERT_TRUE(greedy.complete);
      OrderCost cost;
      ASSERT_TRUE(evaluate_order(order_graph, greedy.order, limits, cost));
      EXPECT_EQ(greedy.cost.width, cost.width);
      EXPECT_EQ(greedy.cost.total_entries, cost.total_entries);
      EXPECT_EQ(greedy.cost.width, play(graph, greedy.order).width);
      EXPECT_TRUE(is_greedy(graph, greedy.order, score)) << "seed " << seed;
    }
  }
}

// The scores kept up to date through eliminations are the scores counted afresh: on a chordal graph min-fill
// never adds an edge.
TEST(Elimination, MinFillIsPerfectOnChordalGraphs) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    // A random k-tree: every vertex joins a random existing clique of three.
    RandomSequence random(seed, Stream::generate);
    std::vector<std::vector<VariableId>> cliques{{0, 1, 2}};
    Model model;
    model.cardinalities.assign(60, 2);
    for (VariableId i = 0; i < 3; ++i)
      for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(j, i, 1);
    for (VariableId v = 3; v < 60; ++v) {
      const std::vector<VariableId> base = cliques[random.below(static_cast<std::uint32_t>(cliques.size()))];
      for (std::size_t skip = 0; skip < 3; ++skip) {
        std::vector<VariableId> next{v};
        for (std::size_t k = 0; k < 3; ++k)
          if (k != skip) next.push_back(base[k]);
        cliques.push_back(next);
        model.spin_pairs.add(base[skip], v, 1);
      }
    }
    const Graph graph = compile(model);
    EXPECT_EQ(find_elimination_order(graph).width, 3u) << "seed " << seed;
  }
}

TEST(Elimination, KnownWidths) {
  EXPECT_EQ(find_elimination_order(grid_graph(1, 500)).treewidth_bound, 1u);
  EXPECT_EQ(find_elimination_order(grid_graph(2, 500)).treewidth_bound, 2u);
  EXPECT_EQ(find_elimination_order(grid_graph(8, 8)).treewidth_bound, 8u);
  EXPECT_EQ(find_elimination_order(grid_graph(20, 20)).treewidth_bound,
            20u);  // plain min-fill finds 26 to 28
  EXPECT_EQ(find_elimination_order(grid_graph(5, 2000)).treewidth_bound, 5u);
}

TEST(Elimination, EmptyAndIsolated) {
  Model model;
  EXPECT_TRUE(find_elimination_order(compile(model)).order.empty());
  model.cardinalities = {2, 3, 4};
  const EliminationOrder found = find_elimination_order(compile(model));
  EXPECT_EQ(found.width, 0u);
  EXPECT_EQ(found.log2_max_clique, 2);
  EXPECT_NEAR(found.log2_total_table, std::log2(9.0), 1e-12);
}

TEST(Elimination, GivesUpWithAnUpperBound) {
  const Graph graph = grid_graph(200, 200);
  OrderOptions options;
  options.log2_limit = 30;
  const EliminationOrder found = find_elimination_order(graph, options);
  EXPECT_FALSE(found.exact);
  EXPECT_TRUE(is_permutation_of_all(found.order, graph.size()));
  EXPECT_GE(found.width, 200u);
  EXPECT_LE(found.width, 210u);
  EXPECT_GE(found.treewidth_bound, 200u);
  EXPECT_LE(found.treewidth_bound, found.width);  // the least of several orders, of which this is one
}

TEST(Elimination, SameSeedSameOrderAndStopEndsTheSearch) {
  const Graph graph = grid_graph(12, 12);
  EXPECT_EQ(find_elimination_order(graph).order, find_elimination_order(graph).order);
  OrderOptions options;
  int asked = 0;
  RunControl control;
  control.stop_when([&] { return ++asked >= 1; });
  options.control = &control;
  const EliminationOrder found = find_elimination_order(graph, options);
  EXPECT_TRUE(is_permutation_of_all(found.order, graph.size()));
  EXPECT_EQ(asked, 2);  // once after the first sweep, once before the greedy tries
}

// In the midst of a sweep, whichever it is: what is left is an order of all variables, and no claim about it.
TEST(Elimination, StopEndsASweep) {
  const Graph graph = grid_graph(200, 200);
  for (int last = 1; last <= 12; ++last) {
    int asked = 0;
    RunControl control;
    control.stop_when([&] { return ++asked >= last; });
    OrderOptions options;
    options.control = &control;
    const EliminationOrder found = find_elimination_order(graph, options);
    EXPECT_TRUE(is_permutation_of_all(found.order, graph.size())) << last;
    EXPECT_FALSE(found.exact) << last;
    EXPECT_LE(asked, last + 8) << last;
  }
}

}  // namespace
}  // namespace drover
