// Upper bounds of log Z and of the best score, against enumeration.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "drover/infer/enumerate.hpp"
#include "drover/infer/lp_relaxation.hpp"
#include "drover/infer/mplp.hpp"
#include "drover/infer/tree_reweighted.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

testing::RandomModelOptions mixed_for_bounds(std::uint64_t seed) {
  return {.variables = 6,
          .max_states = seed % 3 == 0 ? 2U : 3U,
          .max_arity = 3,
          .factors = 8,
          .scale = seed % 5 == 0 ? 3.0 : 1.0,
          .zero_share = seed % 2 ? 0.2 : 0.0};
}

Model with_gates(std::uint64_t seed) {
  Model model = testing::random_model(seed, {.variables = 7, .factors = 5});
  const VariableId inputs[3] = {0, 1, 2}, others[4] = {2, 3, 4, 5};
  model.gates.add_or(inputs, 6);
  model.gates.add_count(others, 1, 2);
  return model;
}

TEST(TreeReweighted, ForestsCoverEveryFactor) {
  const Graph graph = compile(ising(complete_edges(9), Draw::normal(0, 1), Draw::constant(0), 1));
  const FactorGraph layout = factor_graph(graph);
  EXPECT_TRUE(cover_by_forests(layout, 1, 16, [] { return false; }).forests.empty());
  const ForestCover cover = cover_by_forests(layout, 1);
  double total = 0;
  for (double rho : cover.appearance) {
    EXPECT_GT(rho, 0);
    EXPECT_LE(rho, 1);
    total += rho;
  }
  EXPECT_NEAR(total, 8, 1e-12);  // a spanning tree each
  for (const auto& forest : cover.forests) EXPECT_TRUE(breadth_first(factor_graph(graph, forest)).is_forest);
}

// The fixed point is the best split of the model over its forests, so messages can only tighten the bound.
TEST(TreeReweighted, BoundsLogZWheneverItStops) {
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph =
        compile(seed % 4 == 3 ? with_gates(seed) : testing::random_model(seed, mixed_for_bounds(seed)));
    const double log_z = enumerate(graph).log_z;
    double without_messages = 0;
    for (const std::uint64_t iterations : {0U, 3U, 400U}) {
      const TreeReweighted run =
          tree_reweighted(graph, {.iterations = iterations, .damping = 0.5, .tolerance = 1e-8}, seed);
      EXPECT_GE(run.upper, log_z - 1e-9) << "seed " << seed << " after " << iterations;
      if (iterations == 0) without_messages = run.upper;
      converged += run.converged;
      if (run.converged) {
        EXPECT_LE(run.upper, without_messages + 1e-6) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(converged, 50);
}

// At convergence the evaluated bound is the free energy that the messages define.
TEST(TreeReweighted, TheBoundIsItsFreeEnergyAtConvergence) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph =
        compile(ising(grid_edges(3, 3, false), Draw::normal(0, 0.7), Draw::normal(0, 0.5), seed));
    const FactorGraph layout = factor_graph(graph);
    const ForestCover cover = cover_by_forests(layout, seed);
    const BeliefOptions options{.iterations = 5000, .damping = 0.5, .tolerance = 1e-12};
    BeliefPropagation beliefs(layout, options, cover.appearance);
    beliefs.run();
    ASSERT_TRUE(beliefs.converged());
    EXPECT_NEAR(tree_reweighted(graph, options, seed).upper, beliefs.log_z(), 1e-7);
  }
}

// The reweighted free energy is convex, so every schedule, by vectors or factor by factor, ends at the same
// bound and the same marginals.
TEST(TreeReweighted, EveryScheduleEndsAtTheSameBound) {
  int converged = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Graph graph = seed % 2
                            ? compile(ising(grid_edges(3, 3, seed % 4 == 1), Draw::normal(0, 0.8),
                                            Draw::normal(0, 0.5), seed))
                            : compile(testing::random_model(
                                  seed, {.variables = 6, .max_states = 3, .max_arity = 3, .factors = 8}));
    const double log_z = enumerate(graph).log_z;
    BeliefOptions options{.iterations = 20000, .damping = 0.5, .tolerance = 1e-11};
    const TreeReweighted reference = tree_reweighted(graph, options, seed);
    if (!reference.converged) continue;
    ++converged;
    for (const MessageSchedule schedule : {MessageSchedule::sequential, MessageSchedule::residual})
      for (const bool vectors : {true, false}) {
        options.schedule = schedule;
        options.vectors = vectors;
        const TreeReweighted run = tree_reweighted(graph, options, seed);
        EXPECT_GE(run.upper, log_z - 1e-9);
        ASSERT_TRUE(run.converged) << "seed " << seed;
        EXPECT_NEAR(run.upper, reference.upper, 1e-7) << "seed " << seed;
        for (std::size_t v = 0; v < run.marginals.size(); ++v)
          for (std::size_t k = 0; k < run.marginals[v].size(); ++k)
            EXPECT_NEAR(run.marginals[v][k], reference.marginals[v][k], 1e-6) << "seed " << seed;
      }
  }
  EXPECT_GT(converged, 20);
}

TEST(TreeReweighted, ExactOnForests) {
  const Graph graph = compile(ising(tree_edges(15, 2), Draw::normal(0, 1), Draw::normal(0, 1), 3));
  const TreeReweighted run = tree_reweighted(graph, {}, 1);
  EXPECT_EQ(run.forests, 1U);
  EXPECT_NEAR(run.upper, enumerate(graph).log_z, 1e-9);
}

// The bound looks at every forest: what has not looked at all of them says nothing.
TEST(TreeReweighted, BoundEndsWhenItIsToldTo) {
  const Graph graph = compile(ising(grid_edges(4, 4, false), Draw::normal(0, 1), Draw::normal(0, 1), 3));
  const TreeReweighted whole = tree_reweighted(graph, {}, 1);
  ASSERT_TRUE(std::isfinite(whole.upper));
  for (int allowed : {0, 1, 5}) {
    std::atomic<int> asked = 0;
    const TreeReweighted run = tree_reweighted(graph, {}, 1, {}, {}, [&] { return asked++ < allowed; });
    EXPECT_EQ(run.upper, std::numeric_limits<double>::infinity());
    EXPECT_EQ(run.iterations, whole.iterations);
    for (std::size_t v = 0; v < run.marginals.size(); ++v)
      EXPECT_EQ(run.marginals[v][0], whole.marginals[v][0]);
  }
}

TEST(Mplp, BoundsTheBestScoreAndProvesOptima) {
  int proven = 0, models = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed, ++models) {
    const Graph graph =
        compile(seed % 4 == 3 ? with_gates(seed) : testing::random_model(seed, mixed_for_bounds(seed)));
    const double best = enumerate(graph).best_log_score;
    double last = std::numeric_limits<double>::infinity();
    for (const std::uint64_t iterations : {1U, 10U, 1000U}) {
      const MplpResult run = mplp(graph, {.iterations = iterations});
      EXPECT_GE(run.upper, best - 1e-9) << "seed " << seed;
      EXPECT_LE(run.upper, last + 1e-9);
      EXPECT_LE(run.log_score, best + 1e-9);
      EXPECT_EQ(run.log_score, log_score(graph, run.state));
      if (run.optimal) {
        EXPECT_NEAR(run.log_score, best, 1e-7 * (1 + std::abs(best)));
      }
      last = run.upper;
      if (iterations == 1000) proven += run.optimal;
    }
  }
  EXPECT_GT(proven, models / 2);
}

TEST(LpRelaxation, BoundsTheBestScoreAndIsAtMostMplps) {
  int integral = 0, models = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed, ++models) {
    const Graph graph =
        compile(seed % 4 == 3 ? with_gates(seed) : testing::random_model(seed, mixed_for_bounds(seed)));
    const double best = enumerate(graph).best_log_score;
    const LpResult lp = solve_lp_relaxation(graph);
    ASSERT_TRUE(lp.solved);
    const double tolerance = 1e-6 * (1 + std::abs(best));
    EXPECT_GE(lp.upper, best - tolerance) << "seed " << seed;
    EXPECT_LE(lp.upper, mplp(graph, {.iterations = 3000, .tolerance = 1e-12}).upper + tolerance);
    integral += lp.integral;
    if (lp.integral) {
      EXPECT_NEAR(lp.log_score, best, tolerance) << "seed " << seed;
      EXPECT_NEAR(lp.upper, best, tolerance) << "seed " << seed;
    }
  }
  EXPECT_GT(integral, models / 2);
}

// The compact form of pairs is the local polytope: the same bound as with every pair as a table.
TEST(LpRelaxation, CompactPairsAreTheLocalPolytope) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = compile(ising(complete_edges(6), Draw::normal(0, 1), Draw::normal(0, 1), seed));
    Graph tables = graph;
    tables.tables = all_tables(graph);
    tables.spin_pairs = {};
    EXPECT_NEAR(solve_lp_relaxation(graph).upper, solve_lp_relaxation(tables).upper, 1e-6);
  }
}

// Pairs that all attract: the relaxation is tight.
TEST(LpRelaxation, SolvesAttractivePairs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = compile(ising(grid_edges(4, 4, true), Draw::uniform(0, 1), Draw::normal(0, 1), seed));
    const LpResult lp = solve_lp_relaxation(graph);
    const double best = enumerate(graph).best_log_score;
    EXPECT_NEAR(lp.upper, best, 1e-6);
    EXPECT_TRUE(lp.integral);
    EXPECT_NEAR(lp.log_score, best, 1e-9);
  }
}

// Asked for the end while the simplex method runs, it gives what it has; else it goes on until the optimum.
TEST(LpRelaxation, CanBeStopped) {
  const Graph graph = compile(ising(grid_edges(100, 100, false), Draw::normal(0, 1), Draw::normal(0, 1), 1));
  std::atomic<int> asked = 0;
  RunControl impatient, patient;
  impatient.stop_when([&] { return ++asked > 1; });
  patient.stop_when([&] { return ++asked < 0; });
  const LpResult stopped = solve_lp_relaxation(graph, impatient);
  EXPECT_FALSE(stopped.solved);
  EXPECT_EQ(stopped.upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(stopped.state.size(), graph.size());
  const LpResult whole = solve_lp_relaxation(graph, patient);
  EXPECT_GT(asked, 4);
  EXPECT_TRUE(whole.solved);
  EXPECT_NEAR(whole.upper, solve_lp_relaxation(graph).upper, 1e-6 * std::abs(whole.upper));
}

}  // namespace
}  // namespace drover
