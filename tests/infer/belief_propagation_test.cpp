#include "drover/infer/belief_propagation.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

constexpr MessageSchedule every_schedule[] = {MessageSchedule::flooding, MessageSchedule::sequential,
                                              MessageSchedule::residual};

// A forest of factors of every kind: each factor joins one variable that is there with new ones.
Model random_forest(std::uint64_t seed, bool tied) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  std::vector<Value> possible;
  const auto add_variable = [&] {
    model.cardinalities.push_back(2 + random.below(3));
    possible.push_back(static_cast<Value>(random.below(model.cardinalities.back())));
    return static_cast<VariableId>(model.cardinalities.size() - 1);
  };
  const auto entry = [&] { return tied ? static_cast<double>(random.below(2)) : 2 * random.normal(); };
  const bool zeros = seed % 2;
  add_variable();
  while (model.variable_count() < 8) {
    std::vector<VariableId> scope;
    if (random.below(8) > 0)
      scope.push_back(random.below(static_cast<std::uint32_t>(model.variable_count())));
    const std::size_t arity = 2 + random.below(2);
    while (scope.size() < arity) scope.push_back(add_variable());
    const auto states = [&](std::size_t s) { return model.cardinalities[scope[s]]; };
    if (arity == 2 && states(0) == states(1) && random.below(2)) {
      if (states(0) == 2)
        model.spin_pairs.add(scope[0], scope[1], entry());
      else
        model.potts_pairs.add(scope[0], scope[1], entry());
      continue;
    }
    std::size_t entries = 1, kept = 0;
    for (VariableId v : scope) {
      entries *= model.cardinalities[v];
      kept = kept * model.cardinalities[v] + possible[v];
    }
    std::vector<double> values(entries);
    for (std::size_t e = 0; e < entries; ++e)
      values[e] = zeros && e != kept && random.below(3) == 0 ? log_zero : entry();
    model.tables.add(scope, values);
  }
  for (VariableId v = 0; v < model.variable_count(); ++v) {
    std::vector<double> values(model.cardinalities[v]);
    for (double& value : values) value = entry();
    model.unaries.add(v, values);
  }
  return model;
}

template <class Rows>
void expect_marginals(const Distributions& ours, const Rows& exact, double tolerance) {
  ASSERT_EQ(ours.size(), exact.size());
  for (std::size_t v = 0; v < exact.size(); ++v)
    for (std::size_t k = 0; k < exact[v].size(); ++k) EXPECT_NEAR(ours[v][k], exact[v][k], tolerance);
}

TEST(BeliefPropagation, ExactOnForests) {
  for (std::uint64_t seed = 0; seed < 150; ++seed)
    for (const MessageSchedule schedule : every_schedule)
      for (const double damping : {0.0, 0.5}) {
        const Graph graph = compile(random_forest(seed, false));
        const FactorGraph layout = factor_graph(graph);
        ASSERT_TRUE(breadth_first(layout).is_forest);
        BeliefPropagation beliefs(layout, {.schedule = schedule, .damping = damping});
        beliefs.run();
        ASSERT_TRUE(beliefs.converged());
        JunctionTree exact(graph);
        EXPECT_NEAR(beliefs.log_z(), exact.log_z(), 1e-7);
        expect_marginals(beliefs.marginals(), exact.marginals(), 1e-8);
      }
}

TEST(BeliefPropagation, OneSequentialIterationIsEnoughOnForests) {
  const Model model = ising(tree_edges(3000, 3), Draw::normal(0, 1), Draw::normal(0, 1), 5);
  const Graph graph = compile(model);
  const FactorGraph layout = factor_graph(graph);
  BeliefPropagation beliefs(layout, {.schedule = MessageSchedule::sequential, .iterations = 1});
  beliefs.run();
  JunctionTree exact(graph);
  EXPECT_NEAR(beliefs.log_z(), exact.log_z(), 1e-8);
  expect_marginals(beliefs.marginals(), exact.marginals(), 1e-10);
}

// A chain of three stays a tree when its pairs are stated forty times, as spin pairs, Potts pairs or tables.
TEST(BeliefPropagation, ExactOnAChainWhoseFactorsAreStatedOftenTimes) {
  for (const std::uint32_t states : {2U, 3U})
    for (const bool zeros : {false, true}) {
      Model model;
      model.cardinalities = {states, states, states};
      RandomSequence random(states, Stream::generate);
      for (VariableId v = 0; v < 2; ++v)
        for (int repeat = 0; repeat < 40; ++repeat) {
          const VariableId scope[2] = {v + (repeat % 2), v + 1 - (repeat % 2)};
          std::vector<double> values(std::size_t{states} * states);
          for (double& value : values) value = 0.2 * random.normal();
          if (zeros) values[1] = log_zero;
          model.tables.add(scope, values);
          if (states == 2)
            model.spin_pairs.add(scope[0], scope[1], 0.1 * random.normal());
          else
            model.potts_pairs.add(scope[0], scope[1], 0.1 * random.normal());
        }
      const Graph graph = compile(model);
      const FactorGraph layout = factor_graph(graph);
      EXPECT_TRUE(breadth_first(layout).is_forest);
      const Enumeration exact = enumerate(graph);
      for (const MessageSchedule schedule : every_schedule) {
        BeliefPropagation beliefs(layout, {.schedule = schedule});
        beliefs.run();
        ASSERT_TRUE(beliefs.converged());
        expect_marginals(beliefs.marginals(), exact.marginals, 1e-9);
        EXPECT_NEAR(beliefs.log_z(), exact.log_z, 1e-9);
      }
    }
}

TEST(MaxProduct, FindsTheBestStateOfForests) {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const bool tied : {false, true}) {
      const Graph graph = compile(random_forest(seed, tied));
      const double best = enumerate(graph).best_log_score;
      for (const MessageSchedule schedule : every_schedule) {
        const FactorGraph layout = factor_graph(graph);
        BeliefPropagation beliefs(layout, {.semiring = Semiring::maximum, .schedule = schedule});
        beliefs.run();
        ASSERT_TRUE(beliefs.converged());
        const std::vector<Value> state = beliefs.decode_in_order(breadth_first(layout));
        EXPECT_NEAR(log_score(graph, state), best, 1e-9) << "seed " << seed;
        if (!tied) {
          EXPECT_NEAR(log_score(graph, beliefs.decode()), best, 1e-9) << "seed " << seed;
        }
      }
    }
}

// max over x with x_i = k of the score, up to a constant per variable.
TEST(MaxProduct, BeliefsAreMaxMarginalsOnForests) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = compile(random_forest(seed, false));
    const FactorGraph layout = factor_graph(graph);
    BeliefPropagation beliefs(layout, {.semiring = Semiring::maximum});
    beliefs.run();
    const std::vector<double> ours = beliefs.log_beliefs();
    const double best = enumerate(graph).best_log_score;
    std::vector<double> expected(graph.unary.size(), log_zero);
    std::vector<Value> x(graph.size(), 0);
    for (bool done = false; !done;) {
      const double score = log_score(graph, x);
      done = true;
      for (std::size_t v = 0; v < x.size(); ++v) {
        double& most = expected[graph.unary_offsets[v] + x[v]];
        most = std::max(most, score - best);
      }
      for (std::size_t v = x.size(); v-- > 0 && done;) {
        done = ++x[v] == graph.cardinalities[v];
        if (done) x[v] = 0;
      }
    }
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k] == log_zero) {
        EXPECT_EQ(ours[k], log_zero);
      } else {
        EXPECT_NEAR(ours[k], expected[k], 1e-9);
      }
    }
  }
}

// On one cycle the marginals are approximate, but all schedules find the same fixed point.
TEST(BeliefPropagation, SchedulesAgreeOnLoopyGraphs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Model model = ising(grid_edges(4, 4, false), Draw::normal(0, 0.3), Draw::normal(0, 1), seed);
    const Graph graph = compile(model);
    const FactorGraph layout = factor_graph(graph);
    Distributions reference;
    double log_z = 0;
    for (const MessageSchedule schedule : every_schedule) {
      BeliefPropagation beliefs(layout, {.schedule = schedule, .damping = 0.2, .tolerance = 1e-13});
      beliefs.run();
      ASSERT_TRUE(beliefs.converged());
      if (reference.size() == 0) {
        reference = beliefs.marginals();
        log_z = beliefs.log_z();
      }
      expect_marginals(beliefs.marginals(), reference, 1e-9);
      EXPECT_NEAR(beliefs.log_z(), log_z, 1e-9);
    }
    const Enumeration exact = enumerate(graph);
    EXPECT_NEAR(log_z, exact.log_z, 0.3);
    expect_marginals(reference, exact.marginals, 0.1);
  }
}

TEST(BeliefPropagation, SaysWhenItHasNotConverged) {
  const Graph graph = compile(ising(complete_edges(12), Draw::normal(0, 3), Draw::normal(0, 0.1), 4));
  const FactorGraph layout = factor_graph(graph);
  BeliefPropagation beliefs(layout, {.iterations = 5});
  beliefs.run();
  EXPECT_EQ(beliefs.iterations(), 5U);
  EXPECT_FALSE(beliefs.converged());
  EXPECT_GT(beliefs.largest_change(), 1e-10);
}

TEST(BeliefPropagation, ProvesThatNoStateIsPossible) {
  Model model;  // a triangle of "different" over two states, and a chain that contradicts itself
  model.cardinalities = {2, 2, 2};
  const double equal[4] = {0, log_zero, log_zero, 0};
  const double first[2] = {0, log_zero}, last[2] = {log_zero, 0};
  for (VariableId v = 0; v < 2; ++v) {
    const VariableId scope[2] = {v, v + 1};
    model.tables.add(scope, equal);
  }
  model.unaries.add(0, first);
  model.unaries.add(2, last);
  const Graph graph = compile(model);
  const FactorGraph layout = factor_graph(graph);
  for (const MessageSchedule schedule : every_schedule) {
    BeliefPropagation beliefs(layout, {.schedule = schedule, .damping = 0.5});
    EXPECT_THROW(
        {
          beliefs.run();
          beliefs.marginals();
        },
        Error);
  }
}

TEST(BeliefPropagation, SameBitsForAnyNumberOfThreads) {
  const Model model = ising(grid_edges(60, 60, true), Draw::normal(0, 1), Draw::normal(0, 1), 6);
  const Graph graph = compile(model);
  const FactorGraph layout = factor_graph(graph);
  std::vector<double> reference;
  for (const std::size_t threads : {1, 3}) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    BeliefPropagation beliefs(layout, {.iterations = 20, .damping = 0.3});
    beliefs.run();
    const std::vector<double> messages(beliefs.messages().begin(), beliefs.messages().end());
    if (reference.empty()) reference = messages;
    EXPECT_EQ(messages, reference);
  }
}

}  // namespace
}  // namespace drover
