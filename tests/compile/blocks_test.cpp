// Blocks cover everything, respect the limit, and say the truth about connectivity.
#include "drover/compile/blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/stop_questions.hpp"

namespace drover {
namespace {

Model grid(std::uint32_t height, std::uint32_t width) {
  Model model;
  model.cardinalities.assign(std::size_t{height} * width, 2);
  for (VariableId r = 0; r < height; ++r)
    for (VariableId c = 0; c < width; ++c) {
      if (c + 1 < width) model.spin_pairs.add(r * width + c, r * width + c + 1, 0.5);
      if (r + 1 < height) model.spin_pairs.add(r * width + c, (r + 1) * width + c, 0.5);
    }
  return model;
}

void add_equal(Model& model, VariableId i, VariableId j) {
  const double table[4] = {0, log_zero, log_zero, 0};
  const VariableId scope[2] = {i, j};
  model.tables.add(scope, table);
}

/// The largest table of an elimination in the given order, by playing it through with sets.
std::size_t largest_table(const Graph& graph, const std::vector<VariableId>& order) {
  const Adjacency neighbours = adjacency(graph);
  std::vector<std::set<VariableId>> around(graph.size());
  const std::set<VariableId> inside(order.begin(), order.end());
  for (VariableId v : order)
    for (VariableId u : neighbours.of(v))
      if (inside.count(u)) around[v].insert(u);
  std::size_t largest = 0;
  for (VariableId v : order) {
    std::size_t entries = graph.cardinalities[v];
    for (VariableId u : around[v]) {
      entries *= graph.cardinalities[u];
      around[u].erase(v);
      for (VariableId w : around[v])
        if (w != u) around[u].insert(w);
    }
    largest = std::max(largest, entries);
  }
  return largest;
}

void expect_valid(const Graph& graph, const Blocks& blocks) {
  std::size_t next = 0;
  for (std::size_t end : blocks.round_ends) {
    std::vector<int> held(graph.size(), 0);
    for (; next < end; ++next)
      for (VariableId v : blocks.list[next].order) ++held[v];
    EXPECT_GT(*std::min_element(held.begin(), held.end()), 0);
  }
  EXPECT_EQ(next, blocks.list.size());
  for (const Block& block : blocks.list) {
    const std::set<VariableId> distinct(block.order.begin(), block.order.end());
    EXPECT_EQ(distinct.size(), block.order.size());
    EXPECT_EQ(largest_table(graph, block.order), block.largest_table);
    EXPECT_LE(block.largest_table, std::max<std::size_t>(blocks.max_entries, graph.max_cardinality()));
  }
}

/// Wherever it is asked to: an end that comes late would be a Ctrl-C that is not heard.
TEST(Blocks, ChoosingThemEndsWhenItIsToldTo) {
  const Graph graph = compile(grid(300, 300));
  const auto choose = [&](const RunControl& control) { choose_blocks(graph, {}, control); };
  const std::size_t all = testing::count_questions(choose);
  ASSERT_GT(all, 10u);
  for (std::size_t after : {std::size_t{0}, all / 4, all / 2, all - 1})
    testing::expect_end_after(after, choose);
}

TEST(Blocks, RandomModelsAreCoveredWithinTheLimit) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = compile(testing::random_model(
        seed,
        {.variables = 30, .max_states = 4, .max_arity = 3, .factors = 45, .zero_share = 0.1 * (seed % 3)}));
    for (std::size_t limit : {std::size_t{0}, std::size_t{3}, std::size_t{16}, std::size_t{300}}) {
      const Blocks blocks = choose_blocks(graph, {.max_entries = limit});
      expect_valid(graph, blocks);
      if (limit > 0) {
        EXPECT_EQ(blocks.max_entries, limit);
      }
    }
  }
}

TEST(Blocks, ForestsOfAGridHoldMoreThanHalf) {
  const Graph graph = compile(grid(40, 40));
  const Blocks blocks = choose_blocks(graph);
  expect_valid(graph, blocks);
  EXPECT_EQ(blocks.max_entries, 4U);
  EXPECT_LE(blocks.list.size(), 3U);
  EXPECT_GT(blocks.list[0].order.size(), 0.55 * 1600);
  EXPECT_TRUE(blocks.connectivity_known());
  EXPECT_EQ(blocks.warning(), "");
}

TEST(Blocks, ATreeIsOneBlock) {
  Model model;
  model.cardinalities.assign(500, 3);
  for (VariableId v = 1; v < 500; ++v) model.potts_pairs.add(v / 2, v == v / 2 ? 499 : v, 0.3);
  const Blocks blocks = choose_blocks(compile(model));
  ASSERT_EQ(blocks.list.size(), 1U);
  EXPECT_EQ(blocks.list[0].order.size(), 500U);
}

TEST(Blocks, RelatedZerosStayTogether) {
  Model model = grid(10, 10);
  for (VariableId v = 0; v + 11 < 100; v += 7) add_equal(model, v, v + 11);  // diagonals, in short chains
  const Graph graph = compile(model);
  const Blocks blocks = choose_blocks(graph);
  expect_valid(graph, blocks);
  EXPECT_EQ(blocks.hard_factors, 13U);
  EXPECT_EQ(blocks.hard_factors_outside, 0U);
  EXPECT_TRUE(blocks.connectivity_known()) << blocks.warning();
}

TEST(Blocks, SaysWhenConnectivityIsNotKnown) {
  // Equality along a chain, in which blocks of single variables cannot move.
  Model model;
  model.cardinalities.assign(6, 2);
  for (VariableId v = 0; v < 5; ++v) add_equal(model, v, v + 1);
  const Graph graph = compile(model);
  EXPECT_EQ(choose_blocks(graph).warning(), "");
  const Blocks narrow = choose_blocks(graph, {.max_entries = 2});
  EXPECT_EQ(narrow.hard_factors_outside, 5U);
  EXPECT_NE(narrow.warning().find("5 of 5 factors with hard zeros lie inside no block"), std::string::npos);

  // A cycle does not fit into a tree: every factor is in a block, the cycle is in none.
  add_equal(model, 0, 5);
  const Blocks trees = choose_blocks(compile(model), {.max_entries = 4});
  EXPECT_EQ(trees.hard_factors_outside, 0U);
  EXPECT_EQ(trees.round_ends.size(), 8U);
  EXPECT_FALSE(trees.connectivity_known());
  EXPECT_NE(trees.warning().find("1 of 1 groups"), std::string::npos) << trees.warning();
}

TEST(Blocks, CompleteGraphsEndInIndependentSets) {
  Model model;
  model.cardinalities.assign(40, 2);
  for (VariableId i = 0; i < 40; ++i)
    for (VariableId j = i + 1; j < 40; ++j) model.spin_pairs.add(i, j, 0.01);
  const Graph graph = compile(model);
  const Blocks blocks = choose_blocks(graph);
  expect_valid(graph, blocks);
  EXPECT_EQ(blocks.list.size(), 12U + 16U);  // 12 pairs, then 16 single variables
}

}  // namespace
}  // namespace drover
