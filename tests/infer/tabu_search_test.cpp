// Tabu search against enumeration: on models so small that it must meet the best state, with hard zeros, more
// than two values and factors of several variables.
#include "drover/infer/tabu_search.hpp"

#include <gtest/gtest.h>

#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

Model small_tabu_model(std::uint64_t seed) {
  testing::RandomModelOptions options;
  options.variables = 6 + static_cast<std::uint32_t>(seed % 5);
  options.max_states = seed % 2 == 0 ? 3 : 2;
  options.max_arity = seed % 3 == 0 ? 4 : 2;
  options.factors = 8 + static_cast<std::uint32_t>(seed % 9);
  options.scale = seed % 7 == 0 ? 5.0 : 1.0;
  options.zero_share = seed % 2 == 0 ? 0.3 : 0.0;
  return testing::random_model(seed, options);
}

// At most 3^10 states; a step in ten thousand would be enough by chance.
TEST(TabuSearchTest, MeetsTheBestStateOfSmallModels) {
  int with_zeros = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Graph graph = compile(small_tabu_model(seed), {}, PairTables::kept);
    if (graph.size() == 0) continue;
    const CostNetwork network = cost_network(graph);
    TabuSearch search(network);
    RandomSequence random(seed, Stream::start);
    search.start(std::vector<Value>(graph.size(), 0));
    search.run(150'000, random, RunControl{});
    const double truth = log_score(graph, enumerate(graph).best);
    ASSERT_FALSE(search.best().empty()) << "seed " << seed;
    EXPECT_EQ(search.best_cost(), network.cost(search.best())) << "seed " << seed;
    EXPECT_NEAR(log_score(graph, search.best()), truth, 1e-8 * (1 + std::abs(truth))) << "seed " << seed;
    with_zeros += graph.is_strictly_positive() ? 0 : 1;
  }
  EXPECT_GT(with_zeros, 100);
}

// Whatever was changed, shaken and started anew, what is said of the best state is true.
TEST(TabuSearchTest, CostsAreKeptWithoutDrift) {
  const Graph graph = compile(random_tables(40, 3, 60, 3, Draw::normal(0, 2), 0.2, 5), {}, PairTables::kept);
  const CostNetwork network = cost_network(graph);
  TabuSearch search(network);
  RandomSequence random(5, Stream::start);
  double last = infinite_cost;
  for (int part = 0; part < 20; ++part) {
    if (part % 4 == 0) search.start(std::vector<Value>(graph.size(), static_cast<Value>(part / 4 % 3)));
    search.run(300'000, random, RunControl{});
    if (search.best().empty()) continue;
    EXPECT_EQ(search.best_cost(), network.cost(search.best()));
    EXPECT_LE(search.best_cost(), last);
    last = search.best_cost();
  }
  EXPECT_LT(last, infinite_cost);
}

// The same seed and work, the same states.
TEST(TabuSearchTest, DependsOnTheSeedAlone) {
  const Graph graph = compile(random_tables(30, 2, 45, 3, Draw::normal(0, 2), 0.1, 6), {}, PairTables::kept);
  const CostNetwork network = cost_network(graph);
  const auto run = [&](std::uint64_t seed) {
    TabuSearch search(network);
    RandomSequence random(seed, Stream::start);
    search.start(std::vector<Value>(graph.size(), 0));
    search.run(100'000, random, RunControl{});
    return search.best();
  };
  EXPECT_EQ(run(1), run(1));
}

TEST(TabuSearchTest, NothingToChange) {
  Model model;
  model.cardinalities = {2, 2};
  model.unaries.add(0, std::vector<double>{0, log_zero});
  model.tables.add(std::vector<VariableId>{0, 1}, std::vector<double>{0.5, log_zero, 0, 0});
  const Graph graph = compile(model, {}, PairTables::kept);
  const CostNetwork network = cost_network(graph);
  if (graph.size() == 0) return;
  TabuSearch search(network);
  RandomSequence random(1, Stream::start);
  search.start(std::vector<Value>(graph.size(), 1));
  search.run(1000, random, RunControl{});
  EXPECT_EQ(search.best_cost(), network.cost(search.best()));
}

}  // namespace
}  // namespace drover
