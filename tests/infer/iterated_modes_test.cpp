#include "drover/infer/iterated_modes.hpp"

#include <gtest/gtest.h>

#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

std::vector<Value> random_assignment(const Graph& graph, RandomSequence& random) {
  std::vector<Value> x(graph.size());
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
  return x;
}

// The number of factors (and unaries) that are zero at x: the measure by which ICM climbs outside the
// support.
int zero_count(const Graph& graph, std::span<const Value> x) {
  int zeros = 0;
  for (VariableId v = 0; v < x.size(); ++v) zeros += graph.unary_of(v)[x[v]] == log_zero;
  const Tables tables = all_tables(graph);
  for (std::size_t f = 0; f < tables.size(); ++f) {
    std::size_t index = 0;
    for (VariableId v : tables.scope(f)) index = index * graph.cardinalities[v] + x[v];
    zeros += tables.values(f)[index] == log_zero;
  }
  return zeros;
}

testing::RandomModelOptions mixed_for_modes(std::uint64_t seed) {
  return {.variables = 7, .max_states = 4, .max_arity = 4, .factors = 9, .zero_share = seed % 2 ? 0.3 : 0.0};
}

TEST(IteratedModes, EveryChangeImprovesAndTheEndIsALocalOptimum) {
  RandomSequence random(5, Stream::start);
  std::uint64_t changes = 0, ended_at_best = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Graph graph = compile(testing::random_model(seed, mixed_for_modes(seed)));
    const IteratedModes modes(graph);
    std::vector<Value> x = random_assignment(graph, random);
    int zeros = zero_count(graph, x);
    double score = log_score(graph, x);
    const Climb climb = modes.climb(x, [&](std::span<const Value> now, VariableId) {
      const int now_zeros = zero_count(graph, now);
      const double now_score = log_score(graph, now);
      EXPECT_LE(now_zeros, zeros);
      if (now_zeros == 0 && zeros == 0) {
        EXPECT_GT(now_score, score);
      }
      zeros = now_zeros;
      score = now_score;
    });
    changes += climb.changes;
    EXPECT_EQ(climb.log_score, score);
    EXPECT_EQ(log_score(graph, x), score);
    for (VariableId v = 0; v < graph.size(); ++v)
      for (std::uint32_t k = 0; k < graph.cardinalities[v]; ++k) {
        std::vector<Value> other = x;
        other[v] = static_cast<Value>(k);
        EXPECT_GE(zero_count(graph, other), zeros);
        if (zeros == 0) {
          EXPECT_LE(log_score(graph, other), score + 1e-9) << "seed " << seed;
        }
      }
    const Enumeration exact = enumerate(graph);
    EXPECT_LE(score, exact.best_log_score + 1e-9);
    ended_at_best += score > exact.best_log_score - 1e-9;
  }
  EXPECT_GT(changes, 1000U);
  EXPECT_GT(ended_at_best, 40U);
}

// Sums that are made when they are needed say what those say that are kept and corrected.
TEST(IteratedModes, ClimbsTheSameWayWithoutKeepingSums) {
  RandomSequence random(9, Stream::start);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = compile(testing::random_model(seed, mixed_for_modes(seed)));
    std::vector<Value> kept = random_assignment(graph, random), made = kept;
    const Climb by_kept = IteratedModes(graph).climb(kept);
    const Climb by_made = IteratedModes(graph, no_control(), 0).climb(made);
    EXPECT_EQ(made, kept) << "seed " << seed;
    EXPECT_EQ(by_made.changes, by_kept.changes);
    EXPECT_EQ(by_made.visits, by_kept.visits);
  }
}

TEST(IteratedModes, EndsInTheMidst) {
  const Graph graph = compile(ising(grid_edges(700, 700, false), Draw::normal(0, 1), Draw::normal(0, 1), 1));
  const IteratedModes modes(graph);
  for (const int questions : {1, 4, 6}) {
    RunControl control;
    int left = questions;
    control.stop_when([&] { return --left <= 0; });
    std::vector<Value> x(graph.size(), 0);
    const Climb climb = modes.climb(x, {}, control);
    EXPECT_FALSE(climb.complete);
    EXPECT_EQ(climb.log_score, log_score(graph, x));
  }
}

TEST(IteratedModes, StaysInTheSupport) {
  RandomSequence random(6, Stream::start);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::RandomModelOptions options = mixed_for_modes(seed);
    options.zero_share = 0.5;
    const Graph graph = compile(testing::random_model(seed, options));
    const Enumeration exact = enumerate(graph);
    std::size_t possible = random.below(static_cast<std::uint32_t>(exact.probabilities.size()));
    while (exact.probabilities[possible] == 0) possible = (possible + 1) % exact.probabilities.size();
    std::vector<Value> x = testing::state_of_index(graph, possible);
    const double before = log_score(graph, x);
    const Climb climb = IteratedModes(graph).climb(x);
    EXPECT_GE(climb.log_score, before) << "seed " << seed;
  }
}

TEST(IteratedModes, TiesKeepTheValueAndThenGoToTheLowest) {
  Model model;
  model.cardinalities = {4, 4};
  const double tied[4] = {0, 0, 0, 0};
  const double two_best[4] = {0, 1, 0, 1};
  model.unaries.add(0, tied);
  model.unaries.add(1, two_best);
  const Graph graph = compile(model);
  std::vector<Value> x{2, 2};
  IteratedModes(graph).climb(x);
  EXPECT_EQ(x, (std::vector<Value>{2, 1}));
  x = {3, 3};
  IteratedModes(graph).climb(x);
  EXPECT_EQ(x, (std::vector<Value>{3, 3}));
}

// Ferromagnets with equal couplings are full of exact ties, and tenths are not exact in binary.
TEST(IteratedModes, EndsOnTiedCouplings) {
  Model model;
  const std::uint32_t side = 30;
  model.cardinalities.assign(side * side, 2);
  RandomSequence random(7, Stream::generate);
  for (std::uint32_t i = 0; i < side; ++i)
    for (std::uint32_t j = 0; j < side; ++j) {
      if (j + 1 < side) model.spin_pairs.add(i * side + j, i * side + j + 1, random.below(2) ? 0.1 : -0.3);
      if (i + 1 < side) model.spin_pairs.add(i * side + j, (i + 1) * side + j, random.below(2) ? 0.1 : -0.3);
    }
  const Graph graph = compile(model);
  const IteratedModes modes(graph);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Value> x = random_assignment(graph, random);
    const double before = log_score(graph, x);
    const Climb climb = modes.climb(x);
    EXPECT_GT(climb.log_score, before);
    EXPECT_EQ(modes.climb(x).changes, 0U);
  }
}

// The queue makes the work proportional to the changes: a fully waiting ring for every sweep would show here.
TEST(IteratedModes, MillionVariables) {
  Model model;
  const std::uint32_t side = 1000;
  model.cardinalities.assign(side * side, 2);
  RandomSequence random(8, Stream::generate);
  for (std::uint32_t i = 0; i < side; ++i)
    for (std::uint32_t j = 0; j < side; ++j) {
      if (j + 1 < side) model.spin_pairs.add(i * side + j, i * side + j + 1, random.normal());
      if (i + 1 < side) model.spin_pairs.add(i * side + j, (i + 1) * side + j, random.normal());
    }
  const Graph graph = compile(model);
  std::vector<Value> x = random_assignment(graph, random);
  const IteratedModes modes(graph);
  const Climb climb = modes.climb(x);
  EXPECT_GT(climb.changes, graph.size() / 4);
  EXPECT_LT(climb.visits, 5 * graph.size());
  EXPECT_EQ(modes.climb(x).changes, 0U);
}

}  // namespace
}  // namespace drover
