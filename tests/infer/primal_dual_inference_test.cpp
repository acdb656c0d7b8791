// EM and mean field over duals: objectives never fall, answers agree with enumeration where they must.
#include <gtest/gtest.h>

#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/mean_field.hpp"
#include "drover/infer/primal_dual_em.hpp"
#include "drover/infer/primal_dual_mean_field.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

Graph random_spin_graph(std::uint64_t seed, std::uint32_t variables, std::uint32_t factors,
                        double scale = 1) {
  testing::RandomModelOptions options;
  options.variables = variables;
  options.factors = factors;
  options.scale = scale;
  return compile(testing::random_model(seed, options));
}

std::vector<Value> random_state(RandomSequence& random, std::size_t size) {
  std::vector<Value> x(size);
  for (Value& value : x) value = static_cast<Value>(random.below(2));
  return x;
}

TEST(PrimalDualEm, NeverLowersTheScore) {
  for (bool forest : {false, true})
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Graph graph = random_spin_graph(seed, 12, 24);
      const PrimalDualEm em(spin_edges(spin_graph(graph)), forest);
      RandomSequence random(seed, Stream::start);
      std::vector<Value> x = random_state(random, graph.size());
      for (int step = 0; step < 8; ++step) {
        const double before = log_score(graph, x);
        em.step(x);
        EXPECT_GE(log_score(graph, x), before - 1e-5) << "seed " << seed << (forest ? ", forest" : "");
      }
    }
}

TEST(PrimalDualEm, ForestIsExactOnTrees) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomSequence random(seed, Stream::generate);
    Model model;
    for (VariableId v = 0; v < 10; ++v) {
      model.cardinalities.push_back(2);
      const double unary[2] = {0, random.normal()};
      model.unaries.add(v, unary);
      if (v > 0) model.spin_pairs.add(v, random.below(v), random.normal());
    }
    const Graph graph = compile(model);
    const PrimalDualEm em(spin_edges(spin_graph(graph)), true);
    EXPECT_EQ(em.forest_size(), 9U);
    std::vector<Value> x = random_state(random, graph.size());
    em.climb(x);
    EXPECT_NEAR(log_score(graph, x), enumerate(graph).best_log_score, 1e-5);
  }
}

TEST(PrimalDualEm, ClimbEndsWhereItSays) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_spin_graph(seed, 10, 20);
    const Enumeration exact = enumerate(graph);
    double plain = log_zero, forest = log_zero;
    for (int start = 0; start < 40; ++start) {
      RandomSequence random(seed, Stream::start, static_cast<std::uint32_t>(start));
      const std::vector<Value> from = random_state(random, graph.size());
      for (bool with_forest : {false, true}) {
        std::vector<Value> x = from;
        const PrimalDualEm em(spin_edges(spin_graph(graph)), with_forest);
        const auto climb = em.climb(x);
        EXPECT_NEAR(climb.log_score, log_score(graph, x), 1e-4);
        double& best = with_forest ? forest : plain;
        best = std::max(best, climb.log_score);
      }
    }
    EXPECT_LE(plain, exact.best_log_score + 1e-4);
    EXPECT_LE(forest, exact.best_log_score + 1e-4);
  }
}

TEST(PrimalDualMeanField, BoundNeverFallsAndHolds) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_spin_graph(seed, 10, 18);
    const PrimalDualMeanField dual(spin_edges(spin_graph(graph)));
    const double log_z = enumerate(graph).log_z;
    const MeanField field(graph);
    std::vector<double> q = field.start_at_random(seed, 1), p(graph.size()), tau(dual.dual_count(), 0.0);
    for (std::size_t v = 0; v < p.size(); ++v) p[v] = q[2 * v + 1];
    double before = dual.bound(p, tau);
    for (int step = 0; step < 60; ++step) {
      dual.update_duals(p, tau);
      const double half = dual.bound(p, tau);
      EXPECT_GE(half, before - 1e-9);
      for (std::size_t v = 0; v < p.size(); ++v) {
        q[2 * v] = 1 - p[v];
        q[2 * v + 1] = p[v];
      }
      EXPECT_LE(half, field.bound(q) + 1e-4);  // the ordinary bound at the same q is no lower
      dual.update_variables(tau, p);
      before = dual.bound(p, tau);
      EXPECT_GE(before, half - 1e-9);
      EXPECT_LE(before, log_z + 1e-4);
    }
    const MeanFieldRun finished = field.run(q, {});
    EXPECT_GE(finished.bound, before - 1e-4);
    EXPECT_LE(finished.bound, log_z + 1e-9);
  }
}

TEST(PrimalDualMeanField, IsExactWithoutPairs) {
  const Graph graph = random_spin_graph(1, 6, 0);
  const PrimalDualMeanField dual(spin_edges(spin_graph(graph)));
  std::vector<double> p(6, 0.5), tau;
  dual.update_variables(tau, p);
  const Enumeration exact = enumerate(graph);
  for (std::size_t v = 0; v < 6; ++v) EXPECT_NEAR(p[v], exact.marginals[v][1], 1e-6);
  EXPECT_NEAR(dual.bound(p, tau), exact.log_z, 1e-5);
}

}  // namespace
}  // namespace drover
