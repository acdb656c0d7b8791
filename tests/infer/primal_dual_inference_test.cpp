// EM and mean field over duals: objectives never fall, answers agree with enumeration where they must.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/mean_field.hpp"
#include "drover/infer/primal_dual_em.hpp"
#include "drover/infer/primal_dual_mean_field.hpp"
#include "drover/infer/spin_forest.hpp"
#include "drover/model/builders.hpp"
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

// A spanning tree of a grid is hundreds of pairs deep. A slope is at most tanh(0.3), so that after 38 pairs a
// covariance is below 1e-20 and the way up ends; a question comes with every 65536 pairs.
TEST(PrimalDualMeanField, BoundOfALargeGridIsSoonThereOrEnded) {
  const PrimalDualMeanField dual(spin_edges(spin_graph(compile(grid_ising(300, 300, false, 0.3)))), true);
  const PrimalDualMeanField::Beliefs q = [&] {
    PrimalDualMeanField::Beliefs start = dual.start(std::vector<double>(dual.size(), 0.5));
    dual.update_duals(start);
    dual.update_variables(start);
    return start;
  }();
  RunControl counting;
  std::size_t asked = 0;
  counting.stop_when([&] { return ++asked == 0; });
  EXPECT_GT(dual.ordinary_bound(q, counting), 0);
  const std::size_t pairs = 2 * 300 * 299 - dual.forest_size();
  EXPECT_GE(asked, pairs / 65536);
  EXPECT_LE(asked, 39 * pairs / 65536);
  RunControl ended;
  ended.request_stop();
  EXPECT_EQ(dual.ordinary_bound(q, ended), -std::numeric_limits<double>::infinity());
}

TEST(PrimalDualMeanField, BoundNeverFallsAndHolds) {
  for (bool forest : {false, true})
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Graph graph = random_spin_graph(seed, 10, 18);
      const PrimalDualMeanField dual(spin_edges(spin_graph(graph)), forest);
      const double log_z = enumerate(graph).log_z;
      const MeanField field(graph);
      std::vector<double> start = field.start_at_random(seed, 1), p(graph.size());
      for (std::size_t v = 0; v < p.size(); ++v) p[v] = start[2 * v + 1];
      PrimalDualMeanField::Beliefs q = dual.start(p);
      double before = dual.bound(q);
      for (int step = 0; step < 60; ++step) {
        dual.update_duals(q);
        const double half = dual.bound(q);
        EXPECT_GE(half, before - 1e-9);
        EXPECT_LE(half, dual.ordinary_bound(q) + 1e-9);  // no lower with the duals summed out
        EXPECT_LE(dual.ordinary_bound(q), log_z + 1e-4);
        dual.update_variables(q);
        before = dual.bound(q);
        EXPECT_GE(before, half - 1e-9);
        EXPECT_LE(before, log_z + 1e-4);
      }
      if (forest) continue;
      for (std::size_t v = 0; v < p.size(); ++v) {
        start[2 * v] = 1 - q.p[v];
        start[2 * v + 1] = q.p[v];
      }
      EXPECT_NEAR(field.bound(start), dual.ordinary_bound(q), 1e-4);
      const MeanFieldRun finished = field.run(start, {});
      EXPECT_GE(finished.bound, before - 1e-4);
      EXPECT_LE(finished.bound, log_z + 1e-9);
    }
}

TEST(SpinForest, EndsWhenItIsAskedTo) {
  RunControl control;
  control.request_stop();
  const SpinEdges edges = spin_edges(spin_graph(random_spin_graph(1, 7, 12)));
  EXPECT_THROW(strongest_forest(edges, control), Error);
  EXPECT_THROW(PrimalDualMeanField(edges, true, control), Error);
  EXPECT_THROW(PrimalDualEm(edges, true, control), Error);
}

// q(x) by its conditionals, state by state: probabilities, and the bound from its definition.
TEST(PrimalDualMeanField, OrdinaryBoundIsThatOfTheForestsDistribution) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_spin_graph(seed, 7, 12);
    const SpinEdges edges = spin_edges(spin_graph(graph));
    const PrimalDualMeanField dual(edges, true);
    const SpinForest forest = strongest_forest(edges);
    PrimalDualMeanField::Beliefs q = dual.start(std::vector<double>(7, 0.5));
    for (int step = 0; step < 3; ++step) {
      dual.update_duals(q);
      dual.update_variables(q);
    }
    double bound = 0, total = 0;
    std::vector<double> ones(7, 0.0);
    for (unsigned bits = 0; bits < 128; ++bits) {
      std::vector<Value> x(7);
      for (unsigned v = 0; v < 7; ++v) x[v] = static_cast<Value>(bits >> v & 1);
      double probability = 1;
      for (unsigned v = 0; v < 7; ++v) {
        const double one = forest.parent[v] == v || x[forest.parent[v]] == 1 ? q.if_one[v] : q.if_zero[v];
        probability *= x[v] == 1 ? one : 1 - one;
      }
      total += probability;
      bound += probability * (log_score(graph, x) - std::log(probability));
      for (unsigned v = 0; v < 7; ++v) ones[v] += x[v] * probability;
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_NEAR(bound, dual.ordinary_bound(q), 1e-4);
    for (unsigned v = 0; v < 7; ++v) EXPECT_NEAR(ones[v], q.p[v], 1e-9);
  }
}

// Without pairs outside the forest one update is exact: no pairs at all, or a forest over trees.
TEST(PrimalDualMeanField, IsExactOnForests) {
  for (bool forest : {false, true})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomSequence random(seed, Stream::generate);
      Edges edges;
      edges.variables = 10;
      for (VariableId v = 1; v < 10 && forest; ++v)
        if (random.uniform() < 0.9) edges.add(random.below(v), v);
      const Graph graph = compile(ising(edges, Draw::normal(0, 1), Draw::normal(0, 1), seed));
      const PrimalDualMeanField dual(spin_edges(spin_graph(graph)), forest);
      EXPECT_EQ(dual.forest_size(), edges.size());
      PrimalDualMeanField::Beliefs q = dual.start(std::vector<double>(10, 0.5));
      dual.update_variables(q);
      const Enumeration exact = enumerate(graph);
      for (std::size_t v = 0; v < 10; ++v) EXPECT_NEAR(q.p[v], exact.marginals[v][1], 1e-5);
      EXPECT_NEAR(dual.bound(q), exact.log_z, 1e-4);
      EXPECT_NEAR(dual.ordinary_bound(q), exact.log_z, 1e-4);
    }
}

}  // namespace
}  // namespace drover
