// The ways to a best state, each on its own against enumeration: hundreds of random small models with zeros,
// more than two values and factors of several variables.
#include "drover/infer/best_state_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/infer/branch_and_bound.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/infer/maximum_reduction.hpp"
#include "drover/infer/sequential_reweighting.hpp"
#include "drover/infer/tree_neighbourhoods.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

// Even seeds have hard zeros; every third has factors of up to four variables, every fifth more values.
Model small_model(std::uint64_t seed) {
  testing::RandomModelOptions options;
  options.variables = 5 + static_cast<std::uint32_t>(seed % 4);
  options.max_states = seed % 5 == 0 ? 4 : seed % 2 == 0 ? 3 : 2;
  options.max_arity = seed % 3 == 0 ? 4 : 2;
  options.factors = 6 + static_cast<std::uint32_t>(seed % 9);
  options.scale = seed % 7 == 0 ? 5.0 : 1.0;
  options.zero_share = seed % 2 == 0 ? 0.3 : 0.0;
  return testing::random_model(seed, options);
}

std::vector<VariableId> natural_order(std::size_t size) {
  std::vector<VariableId> order(size);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void expect_score(double score, double expected) {
  EXPECT_NEAR(score, expected, 1e-8 * (1 + std::abs(expected)));
}

// Every state's score, best first; the states of probability zero left out.
std::vector<double> sorted_scores(const Graph& graph) {
  std::vector<double> scores;
  std::vector<Value> x(graph.size(), 0);
  for (bool more = true; more;) {
    const double score = log_score(graph, x);
    if (score > log_zero) scores.push_back(score);
    std::size_t v = graph.size();
    while (v > 0 && ++x[v - 1] == graph.cardinalities[v - 1]) x[--v] = 0;
    more = v > 0;
  }
  std::sort(scores.rbegin(), scores.rend());
  return scores;
}

TEST(CostNetworkTest, CostsAreScores) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph graph =
        compile(small_model(seed), {}, seed % 3 == 0 ? PairTables::kept : PairTables::recognised);
    const CostNetwork network = cost_network(graph);
    RandomSequence random(seed, Stream::start);
    std::vector<Value> x(graph.size());
    for (int k = 0; k < 20; ++k) {
      for (std::size_t v = 0; v < x.size(); ++v)
        x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
      const double cost = network.cost(x);
      if (log_score(graph, x) == log_zero) {
        EXPECT_EQ(cost, infinite_cost);
      } else {
        EXPECT_EQ(cost, std::floor(cost));
        EXPECT_NEAR(network.log_score(cost), log_score(graph, x), network.tolerance + 1e-12);
      }
    }
  }
}

// Whatever is moved, pruned and undone, the network stays the same function, its bound a bound.
TEST(SoftConsistencyTest, BoundsEveryLiveState) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = compile(small_model(seed), {}, PairTables::kept);
    const CostNetwork network = cost_network(graph);
    SoftConsistency consistency(network, natural_order(graph.size()));
    const Enumeration all = enumerate(graph);
    const double best = network.cost(all.best);
    ASSERT_TRUE(consistency.propagate(best + 1)) << seed;
    EXPECT_LE(consistency.lower(), best) << seed;
    for (VariableId v = 0; v < graph.size(); ++v) EXPECT_TRUE(consistency.is_live(v, all.best[v])) << seed;
    const double lower = consistency.lower();
    std::vector<double> unary;
    for (VariableId v = 0; v < graph.size(); ++v)
      for (Value k = 0; k < graph.cardinalities[v]; ++k)
        unary.push_back(consistency.is_live(v, k) ? consistency.unary(v, k) : infinite_cost);
    // Fix variables at the best state one by one: it must never be cut off; then all is undone.
    for (VariableId v = 0; v < graph.size(); ++v) {
      consistency.push();
      consistency.assign(v, all.best[v]);
      ASSERT_TRUE(consistency.propagate(best + 1)) << seed;
      EXPECT_LE(consistency.lower(), best) << seed;
    }
    EXPECT_EQ(consistency.lower(), best) << seed;
    EXPECT_FALSE(consistency.propagate(best)) << seed;
    while (consistency.level() > 0) consistency.pop();
    EXPECT_EQ(consistency.lower(), lower);
    std::size_t at = 0;
    for (VariableId v = 0; v < graph.size(); ++v)
      for (Value k = 0; k < graph.cardinalities[v]; ++k, ++at)
        EXPECT_EQ(consistency.is_live(v, k) ? consistency.unary(v, k) : infinite_cost, unary[at]);
  }
}

TEST(SequentialReweightingTest, NeverLowersTheBoundAndIsExactOnTrees) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Model model = small_model(seed);
    const bool tree = seed % 4 == 1;
    if (tree) {  // a chain in a random order of the variables, pairs only
      model.tables = {};
      model.spin_pairs = {};
      model.potts_pairs = {};
      RandomSequence random(seed, Stream::generate, 7);
      for (VariableId v = 1; v < model.cardinalities.size(); ++v) {
        const VariableId scope[2] = {random.below(v), v};
        std::vector<double> values(std::size_t{model.cardinalities[scope[0]]} * model.cardinalities[v]);
        for (double& value : values) value = random.normal();
        model.tables.add(scope, values);
      }
    }
    const Graph graph = compile(model, {}, PairTables::kept);
    const CostNetwork network = cost_network(graph);
    const auto order = natural_order(graph.size());
    SoftConsistency consistency(network, order);
    ASSERT_TRUE(consistency.propagate(infinite_cost));
    const double before = consistency.lower();
    const double best = network.cost(enumerate(graph).best);
    ReweightingOptions options;
    options.iterations = 50;
    const Reweighting run = reweight_sequentially(consistency, order, options, no_control());
    EXPECT_GE(run.lower, before - 1) << seed;
    EXPECT_LE(run.lower, best + 1) << seed;
    EXPECT_LE(consistency.lower(), best) << seed;
    // Rounding may cost a unit per edge.
    EXPECT_GE(consistency.lower(), run.lower - 4.0 * static_cast<double>(network.edge_count() + 1)) << seed;
    if (tree) {
      EXPECT_NEAR(run.lower / network.scale, best / network.scale, 1e-6) << seed;
    }
  }
}

TEST(BranchAndBoundTest, FindsAndProvesTheBestStates) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Graph graph = compile(small_model(seed), {}, PairTables::kept);
    const CostNetwork network = cost_network(graph);
    const auto order = natural_order(graph.size());
    const std::vector<double> scores = sorted_scores(graph);
    for (std::size_t wanted : {std::size_t{1}, std::size_t{5}}) {
      SoftConsistency consistency(network, order);
      ASSERT_TRUE(consistency.propagate(infinite_cost));
      if (seed % 2 == 0) {
        reweight_sequentially(consistency, order, {}, no_control());
        ASSERT_TRUE(consistency.propagate(infinite_cost));
      }
      BranchAndBound search(consistency, wanted);
      double lower = -1;
      for (int slice = 0; !search.proven(); ++slice) {
        ASSERT_LT(slice, 100'000);
        search.run(200, no_control());  // continued many times
        EXPECT_GE(search.lower(), lower);
        lower = search.lower();
        // What is left open bounds every state that is not found.
        const std::size_t next = search.found().size();
        if (!search.proven() && wanted == 1 && next == 0) {
          EXPECT_GE(network.log_score(search.lower()) + network.tolerance, scores[0]);
        }
      }
      ASSERT_EQ(search.found().size(), std::min(wanted, scores.size())) << seed;
      for (std::size_t k = 0; k < search.found().size(); ++k) {
        expect_score(log_score(graph, search.found()[k].state), scores[k]);
        for (std::size_t j = 0; j < k; ++j) EXPECT_NE(search.found()[k].state, search.found()[j].state);
      }
    }
  }
}

TEST(BranchAndBoundTest, DivesAndNeighbourhoodsAreCompleteWhenTheySaySo) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Graph graph = compile(small_model(seed), {}, PairTables::kept);
    const CostNetwork network = cost_network(graph);
    SoftConsistency consistency(network, natural_order(graph.size()));
    ASSERT_TRUE(consistency.propagate(infinite_cost));
    const double best = network.cost(enumerate(graph).best);
    BranchAndBound search(consistency);
    EXPECT_TRUE(search.dive(best, 1'000'000, 1'000'000'000, no_control()));
    EXPECT_TRUE(search.found().empty());
    EXPECT_TRUE(search.dive(best + 1, 1'000'000, 1'000'000'000, no_control()));
    ASSERT_FALSE(search.found().empty());
    EXPECT_EQ(search.found()[0].cost, best);

    // Around a random possible state, one half fixed.
    SoftConsistency other(network, natural_order(graph.size()));
    ASSERT_TRUE(other.propagate(infinite_cost));
    BranchAndBound around(other);
    RandomSequence random(seed, Stream::start);
    std::vector<Value> x(graph.size());
    do {
      for (std::size_t v = 0; v < x.size(); ++v)
        x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
    } while (network.cost(x) == infinite_cost);
    around.offer(x);
    std::vector<char> fixed(graph.size(), 0);
    Evidence evidence;
    for (VariableId v = 0; v < graph.size(); v += 2) {
      fixed[v] = 1;
      evidence.add(v, x[v]);
    }
    EXPECT_TRUE(around.search_around(x, fixed, 1'000'000, 1'000'000'000, no_control()));
    const Graph rest = compile(small_model(seed), evidence);
    expect_score(network.log_score(around.found()[0].cost), enumerate(rest).best_log_score);
  }
}

TEST(MaximumReductionTest, KeepsTheBestScore) {
  std::size_t eliminated = 0, parts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Graph graph =
        compile(small_model(seed), {}, seed % 2 == 0 ? PairTables::kept : PairTables::recognised);
    const MaximumReduction reduction(graph, {seed % 3 + 1, 16});
    std::vector<Value> x(graph.size(), 0);
    double score = reduction.constant();
    for (const MaximumReduction::Part& part : reduction.parts()) {
      const Enumeration best = enumerate(compile(part.model));
      score += best.best_log_score;
      for (std::size_t k = 0; k < part.variables.size(); ++k) x[part.variables[k]] = best.best[k];
    }
    reduction.extend(x);
    const double expected = enumerate(graph).best_log_score;
    expect_score(score, expected);
    expect_score(log_score(graph, x), expected);
    eliminated += reduction.eliminated();
    parts += reduction.parts().size();
  }
  EXPECT_GT(eliminated, 300U);
  EXPECT_GT(parts, 50U);
}

TEST(TreeNeighbourhoodsTest, NeverWorseAndExactWhenTheWidthAllows) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = compile(small_model(seed), {}, PairTables::kept);
    const CostNetwork network = cost_network(graph);
    TreeNeighbourhoods trees(network);
    RandomSequence random(seed, Stream::start);
    std::vector<Value> x(graph.size());
    do {
      for (std::size_t v = 0; v < x.size(); ++v)
        x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
    } while (network.cost(x) == infinite_cost);
    for (int step = 0; step < 10; ++step) {
      const double before = network.cost(x);
      const auto done = trees.improve(x, random, 4 << (step % 3), 3 + seed % 4);
      EXPECT_EQ(before - done.gain, network.cost(x)) << seed;
      EXPECT_GE(done.gain, 0) << seed;
    }
    const auto whole = trees.improve(x, random, 1e6, graph.size());
    EXPECT_EQ(whole.variables, graph.size());
    expect_score(log_score(graph, x), enumerate(graph).best_log_score);
  }
}

TEST(JunctionTreeTest, TheBestStatesInOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = compile(small_model(seed));
    const std::vector<double> scores = sorted_scores(graph);
    JunctionTree tree(graph);
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
      const std::vector<ScoredState> states = tree.best(count);
      ASSERT_EQ(states.size(), std::min(count, scores.size())) << seed;
      for (std::size_t k = 0; k < states.size(); ++k) {
        expect_score(states[k].log_score, scores[k]);
        for (std::size_t j = 0; j < k; ++j) EXPECT_NE(states[k].assignment, states[j].assignment);
      }
    }
  }
}

TEST(BestStateSearchTest, ProvesWithAndWithoutATree) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = compile(small_model(seed), {}, PairTables::kept);
    // No memory for a junction tree: the other ways.
    BestStateSearch search(graph, seed, seed % 4 == 0 ? std::size_t{1} << 30 : 0);
    search.run(100'000'000, no_control());
    ASSERT_TRUE(search.proven()) << seed;
    const double expected = enumerate(graph).best_log_score;
    expect_score(search.log_score(), expected);
    expect_score(search.upper(), expected);
    expect_score(log_score(graph, search.state()), expected);
  }
}

}  // namespace
}  // namespace drover
