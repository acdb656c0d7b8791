#include "drover/compile/spin_graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/random_models.hpp"

namespace drover {
namespace {

double log_score(const SpinGraph& spins, const std::vector<Value>& x) {
  double score = spins.log_constant;
  for (std::size_t i = 0; i < spins.size(); ++i) {
    if (x[i] == 0) continue;
    score += spins.bias[i];
    for (std::size_t k = 0; k < spins.degree(i); ++k)
      if (spins.neighbours(i)[k] < i && x[spins.neighbours(i)[k]]) score += spins.weights(i)[k];
  }
  return score;
}

TEST(SpinGraph, KeepsScoresOfRandomModels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 2 + seed % 6;
    options.factors = seed % 20;  // so many that pairs repeat
    Evidence evidence;
    if (seed % 3 == 0) evidence.add(0, 1);
    const Graph graph = compile(testing::random_model(seed, options), evidence);
    const SpinGraph spins = spin_graph(graph);
    ASSERT_EQ(spins.size(), graph.size());
    std::vector<Value> x(graph.size());
    for (std::uint32_t state = 0; state < 1U << graph.size(); ++state) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = state >> i & 1;
      const double expected = log_score(graph, x);
      ASSERT_NEAR(log_score(spins, x), expected, 3e-6 * (1 + std::abs(expected)));
    }
  }
}

TEST(SpinGraph, RowsAreSortedDistinctAndSymmetric) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 12;
    options.factors = 60;
    const SpinGraph spins = spin_graph(compile(testing::random_model(seed, options)));
    for (std::size_t i = 0; i < spins.size(); ++i)
      for (std::size_t k = 0; k < spins.degree(i); ++k) {
        const std::uint32_t j = spins.neighbours(i)[k];
        ASSERT_TRUE(k == 0 || spins.neighbours(i)[k - 1] < j);
        const auto row = spins.neighbours(j);
        const auto back = std::find(row.begin(), row.end(), i);
        ASSERT_NE(back, row.end());
        ASSERT_EQ(spins.weights(i)[k], spins.weights(j)[back - row.begin()]);
      }
  }
}

TEST(SpinGraph, NoPairsAndNoVariables) {
  EXPECT_EQ(spin_graph(compile(Model{})).size(), 0U);
  Model model;
  model.cardinalities = {2, 2};
  const SpinGraph spins = spin_graph(compile(model));
  EXPECT_EQ(spins.degree(1), 0U);
  EXPECT_EQ(spins.bias[0], 0.0f);
}

}  // namespace
}  // namespace drover
