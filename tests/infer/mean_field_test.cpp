#include "drover/infer/mean_field.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

// Spins only, Potts and tables, and tables with hard zeros, in turn.
Graph random_graph(std::uint64_t seed) {
  testing::RandomModelOptions options{.variables = 7, .factors = 9};
  if (seed % 3 != 0) {
    options.max_states = 4;
    options.max_arity = 4;
  }
  if (seed % 3 == 2) options.zero_share = 0.3;
  return compile(testing::random_model(seed, options));
}

// A state of positive probability, so that the bound is finite with hard zeros too.
std::vector<double> possible_start(const Graph& graph, const MeanField& field, const Enumeration& exact,
                                   std::uint64_t seed) {
  if (graph.is_strictly_positive()) return field.start_at_random(seed, 0);
  std::size_t s = seed % exact.probabilities.size();
  while (exact.probabilities[s] == 0) s = (s + 1) % exact.probabilities.size();
  return field.start_at(testing::state_of_index(graph, s));
}

TEST(MeanField, NoUpdateLowersTheBoundAndItNeverExceedsLogZ) {
  std::uint64_t spins = 0, zeros = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const Enumeration exact = enumerate(graph);
    const MeanField field(graph);
    spins += graph.is_spin();
    zeros += !graph.is_strictly_positive();
    for (const double step : {1.0, 0.5, 0.1}) {
      std::vector<double> q = possible_start(graph, field, exact, seed);
      double bound = field.bound(q);
      for (int sweep = 0; sweep < 6; ++sweep)
        for (VariableId v = 0; v < graph.size(); ++v) {
          field.update(v, q, step);
          const double next = field.bound(q);
          ASSERT_GE(next, bound - 1e-9 * (1 + std::abs(bound))) << "seed " << seed << " step " << step;
          bound = next;
          ASSERT_LE(bound, exact.log_z + 1e-9 * (1 + std::abs(exact.log_z))) << "seed " << seed;
          double total = 0;
          for (std::uint32_t k = 0; k < graph.cardinalities[v]; ++k) total += q[graph.unary_offsets[v] + k];
          ASSERT_NEAR(total, 1, 1e-12);
        }
      EXPECT_GT(bound, log_zero) << "seed " << seed;
    }
  }
  EXPECT_GT(spins, 50U);
  EXPECT_GT(zeros, 50U);
}

// The definition, by enumeration: sum over x of q(x) (log p~(x) - log q(x)).
TEST(MeanField, BoundIsItsDefinition) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_graph(seed);
    const Enumeration exact = enumerate(graph);
    const MeanField field(graph);
    std::vector<double> q = possible_start(graph, field, exact, seed);
    field.sweep(q, 0.7);
    double expected = 0;
    for (std::size_t s = 0; s < exact.probabilities.size(); ++s) {
      const std::vector<Value> x = testing::state_of_index(graph, s);
      double probability = 1;
      for (VariableId v = 0; v < graph.size(); ++v) probability *= q[graph.unary_offsets[v] + x[v]];
      if (probability > 0) expected += probability * (log_score(graph, x) - std::log(probability));
    }
    EXPECT_NEAR(field.bound(q), expected, 1e-9 * (1 + std::abs(expected))) << "seed " << seed;
  }
}

TEST(MeanField, ConvergedMeansThatNoUpdateChangesAnything) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_graph(seed);
    const MeanField field(graph);
    const MeanFieldRun run =
        field.run(possible_start(graph, field, enumerate(graph), seed), {.iterations = 100000});
    ASSERT_TRUE(run.converged) << "seed " << seed;
    EXPECT_EQ(run.bound, field.bound(run.probabilities));
    std::vector<double> q = run.probabilities;
    for (VariableId v = 0; v < graph.size(); ++v) EXPECT_LT(field.update(v, q, 1), 1e-6) << "seed " << seed;
  }
}

TEST(MeanField, ExactWithoutInteraction) {
  for (const std::uint32_t states : {2U, 3U}) {
    Model model = potts(chain_edges(12), states, Draw::constant(0), Draw::normal(0, 2), 5);
    const Graph graph = compile(model);
    const Enumeration exact =
        enumerate(compile(potts(chain_edges(6), states, Draw::constant(0), Draw::normal(0, 2), 5)));
    EXPECT_GT(exact.log_z, 0);
    const MeanField field(graph);
    const MeanFieldRun run = field.run(field.start_at_random(1, 0), {});
    double log_z = graph.log_constant;
    for (VariableId v = 0; v < graph.size(); ++v) {
      double total = 0;
      for (double u : graph.unary_of(v)) total += std::exp(u);
      log_z += std::log(total);
      for (std::uint32_t k = 0; k < states; ++k)
        EXPECT_NEAR(run.probabilities[graph.unary_offsets[v] + k], std::exp(graph.unary_of(v)[k]) / total,
                    1e-6);
    }
    EXPECT_TRUE(run.converged);
    EXPECT_NEAR(run.bound, log_z, 1e-9);
  }
}

// The spin path and the general path are two programs for one formula.
TEST(MeanField, SpinsAgreeWithTables) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Model model = ising(grid_edges(5, 4, false), Draw::normal(0, 0.5), Draw::normal(0, 1), seed);
    const Graph spins = compile(model);
    // A further variable of three states with no factor of weight keeps the rest off the spin path.
    model.cardinalities.push_back(3);
    const double zeros[3] = {0, 0, 0};
    model.unaries.add(20, zeros);
    const Graph mixed = compile(model);
    ASSERT_TRUE(spins.is_spin());
    ASSERT_FALSE(mixed.is_spin());
    const MeanField a(spins), b(mixed);
    std::vector<double> p = a.start_at_unaries(), q = b.start_at_unaries();
    for (int sweep = 0; sweep < 20; ++sweep) {
      a.sweep(p, 0.5);
      b.sweep(q, 0.5);
    }
    for (std::size_t e = 0; e < p.size(); ++e) EXPECT_NEAR(p[e], q[e], 1e-6);
    EXPECT_NEAR(a.bound(p) + std::log(3), b.bound(q), 1e-5);
  }
}

// Uniform over all distributions, and another one for every start, seed and variable: of K states each has
// mean 1 / K and variance (K - 1) / K^2 / (K + 1); pairs of starts, seeds and variables are not correlated.
TEST(MeanField, RandomStartsAreUniformAndIndependent) {
  for (const std::uint32_t states : {2U, 3U}) {
    const Graph graph = compile(potts(chain_edges(2), states, Draw::constant(1), Draw::normal(0, 1), 5));
    const MeanField field(graph);
    constexpr int count = 4000;
    const double variance = (states - 1.0) / states / states / (states + 1);
    std::vector<std::vector<double>> starts, seeds;
    for (std::uint32_t k = 0; k < count + 1; ++k) {
      starts.push_back(field.start_at_random(7, k));
      seeds.push_back(field.start_at_random(1000 + k, 3));
    }
    double mean = 0, squares = 0, between_starts = 0, between_seeds = 0, between_variables = 0;
    const double centre = 1.0 / states;
    for (std::size_t k = 0; k < count; ++k) {
      const double here = starts[k][0] - centre;
      mean += here / count;
      squares += here * here / count;
      between_starts += here * (starts[k + 1][0] - centre) / count;
      between_seeds += (seeds[k][0] - centre) * (seeds[k + 1][0] - centre) / count;
      between_variables += here * (starts[k][states] - centre) / count;
    }
    // Every term lies in an interval of length 1, and products have deviation `variance`.
    EXPECT_NEAR(mean, 0, 5 * std::sqrt(variance / count));
    EXPECT_NEAR(squares, variance, 5 * 0.5 / std::sqrt(count));
    EXPECT_NEAR(between_starts, 0, 5 * variance / std::sqrt(count));
    EXPECT_NEAR(between_seeds, 0, 5 * variance / std::sqrt(count));
    EXPECT_NEAR(between_variables, 0, 5 * variance / std::sqrt(count));
  }
}

TEST(MeanField, SameBitsForAnyNumberOfThreads) {
  const Graph spins = compile(ising(grid_edges(200, 150, false), Draw::constant(0.4), Draw::normal(0, 1), 3));
  const Graph many = compile(potts(grid_edges(150, 150, false), 4, Draw::constant(1), Draw::normal(0, 1), 3));
  for (const Graph* graph : {&spins, &many}) {
    const MeanField field(*graph);
    std::vector<std::vector<double>> results;
    for (const std::size_t threads : {std::size_t{1}, std::size_t{4}}) {
      tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      results.push_back(field.run(field.start_at_random(9, 0), {.iterations = 10}).probabilities);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

}  // namespace
}  // namespace drover
