#include "drover/infer/spin_cuts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/infer/max_flow.hpp"

namespace drover {
namespace {

// The flow and the cut prove each other: no flow exceeds a cut, and here they are equal.
TEST(MaxFlow, FlowIsWhatTheCutCosts) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSequence random(seed, Stream::generate);
    const auto nodes = static_cast<std::uint32_t>(2 + random.below(60));
    std::vector<std::int64_t> surplus(nodes);
    for (std::int64_t& value : surplus) value = static_cast<std::int64_t>(random.below(41)) - 20;
    std::vector<MaxFlow::Edge> edges;
    for (std::size_t k = 0, count = random.below(4 * nodes); k < count; ++k) {
      const auto i = static_cast<std::uint32_t>(random.below(nodes)),
                 j = static_cast<std::uint32_t>(random.below(nodes));
      if (i != j) edges.push_back({i, j, static_cast<std::int64_t>(random.below(12))});
    }
    MaxFlow network(surplus, edges);
    ASSERT_TRUE(network.run());
    for (const bool fewest_at_source : {true, false}) {
      const auto at_source = [&](std::uint32_t v) {
        return fewest_at_source ? network.on_source_side(v) : !network.on_sink_side(v);
      };
      std::int64_t cost = 0;
      for (std::uint32_t v = 0; v < nodes; ++v)
        cost += at_source(v) ? std::max<std::int64_t>(0, -surplus[v]) : std::max<std::int64_t>(0, surplus[v]);
      for (const MaxFlow::Edge& edge : edges)
        if (at_source(edge.first) != at_source(edge.second)) cost += edge.capacity;
      EXPECT_EQ(network.flow(), cost) << "seed " << seed;
    }
  }
}

// A random spin model; `whole` numbers make ties, `balanced` couplings leave no frustration.
Graph random_spins(std::uint64_t seed, std::uint32_t size, bool balanced, bool whole) {
  RandomSequence random(seed, Stream::generate);
  const auto number = [&] { return whole ? static_cast<double>(random.below(3)) - 1 : random.normal(); };
  Model model;
  model.cardinalities.assign(size, 2);
  std::vector<int> turned(size);
  for (int& one : turned) one = random.below(2) ? -1 : 1;
  for (VariableId v = 0; v < size; ++v) {
    const double values[2] = {number(), number()};
    model.unaries.add(v, values);
    for (VariableId other = 0; other < v; ++other) {
      if (random.below(3) == 0) continue;
      const double coupling = number();
      model.spin_pairs.add(other, v, balanced ? std::abs(coupling) * turned[v] * turned[other] : coupling);
    }
  }
  return compile(model);
}

TEST(SpinCuts, CutsOfBalancedModelsAreBestStates) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Graph graph = random_spins(seed, 2 + static_cast<std::uint32_t>(seed % 9), true, seed % 3 == 0);
    const auto flips = balancing_flips(graph);
    ASSERT_TRUE(flips);
    const SpinCut cut = balanced_cut(graph, *flips, no_control());
    ASSERT_TRUE(cut.complete);
    const Enumeration exact = enumerate(graph);
    EXPECT_NEAR(log_score(graph, cut.state), exact.best_log_score, 1e-9) << "seed " << seed;
    EXPECT_NEAR(cut.upper, exact.best_log_score, 1e-9);
    EXPECT_LE(cut.tolerance, 1e-9);
  }
}

TEST(SpinCuts, FrustrationIsSeen) {
  Model model;
  model.cardinalities.assign(3, 2);
  model.spin_pairs.add(0, 1, 1);
  model.spin_pairs.add(1, 2, -1);
  model.spin_pairs.add(0, 2, -1);
  EXPECT_TRUE(balancing_flips(compile(model)));
  model.spin_pairs.couplings[1] = 1;
  EXPECT_FALSE(balancing_flips(compile(model)));
}

TEST(SpinCuts, WhatRoofDualityDecidesHoldsInEveryBestState) {
  std::size_t decided = 0, undecided = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Graph graph =
        random_spins(seed, 2 + static_cast<std::uint32_t>(seed % 9), seed % 5 == 0, seed % 3 == 0);
    const SpinCut cut = roof_duality(graph, no_control());
    ASSERT_TRUE(cut.complete);
    const Enumeration exact = enumerate(graph);
    EXPECT_GE(cut.upper, exact.best_log_score) << "seed " << seed;
    if (seed % 5 == 0) {
      EXPECT_NEAR(cut.upper, exact.best_log_score, 1e-9) << "seed " << seed;
    }
    const double highest = *std::ranges::max_element(exact.probabilities);
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s) {
      if (exact.probabilities[s] < highest * (1 - 1e-9)) continue;
      for (VariableId v = 0; v < graph.size(); ++v)
        if (cut.decided[v]) {
          EXPECT_EQ(cut.state[v], s >> (graph.size() - 1 - v) & 1) << "seed " << seed;
        }
    }
    for (char one : cut.decided) one ? ++decided : ++undecided;
  }
  EXPECT_GT(decided, 100U);  // both happen
  EXPECT_GT(undecided, 100U);
}

TEST(SpinCuts, AgreesWithTheJunctionTreeOnGrids) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    RandomSequence random(seed, Stream::generate);
    constexpr std::uint32_t width = 8, height = 60;
    Model model;
    model.cardinalities.assign(width * height, 2);
    for (VariableId v = 0; v < width * height; ++v) {
      const double values[2] = {0, random.normal()};
      model.unaries.add(v, values);
      if (v % width > 0) model.spin_pairs.add(v - 1, v, 0.7 * random.uniform());
      if (v >= width) model.spin_pairs.add(v - width, v, 0.7 * random.uniform());
    }
    const Graph graph = compile(model);
    const SpinCut cut = balanced_cut(graph, *balancing_flips(graph), no_control());
    JunctionTree tree(graph, plan_exact(graph));
    EXPECT_NEAR(log_score(graph, cut.state), tree.map().log_score, 1e-8);
  }
}

TEST(SpinCuts, AnEndedRunStillBounds) {
  const Graph graph = random_spins(3, 10, true, false);
  RunControl control;
  control.request_stop();
  const SpinCut cut = balanced_cut(graph, *balancing_flips(graph), control);
  EXPECT_FALSE(cut.complete);
  EXPECT_GE(cut.upper, enumerate(graph).best_log_score);
}

}  // namespace
}  // namespace drover
