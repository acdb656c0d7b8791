// The junction tree against enumeration on random models, and its edges.
#include "drover/infer/junction_tree.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

using testing::chi_square_limit;
using testing::chi_square_score;
using testing::random_model;
using testing::RandomModelOptions;

/// 240 shapes: binary to 5 states, arity 2 to 4, sparse to dense, with and without zeros and evidence.
Graph varied_graph(std::uint64_t seed) {
  RandomModelOptions options;
  options.variables = 3 + static_cast<std::uint32_t>(seed % 6);
  options.max_states = 2 + static_cast<std::uint32_t>(seed % 4);
  options.max_arity = 2 + static_cast<std::uint32_t>(seed % 3);
  options.factors = static_cast<std::uint32_t>(seed % 11);
  options.scale = seed % 5 == 0 ? 6.0 : 1.0;
  options.zero_share = seed % 2 == 0 ? 0.0 : 0.4;
  const Model model = random_model(seed, options);
  Evidence evidence;
  if (seed % 7 == 3) {
    // A value that some possible state has.
    const Enumeration all = enumerate(compile(model));
    evidence.add(1, all.best[1]);
  }
  return compile(model, evidence);
}

double largest_tree_difference(const std::vector<std::vector<double>>& a,
                               const std::vector<std::vector<double>>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    EXPECT_EQ(a[v].size(), b[v].size());
    for (std::size_t k = 0; k < a[v].size(); ++k) worst = std::max(worst, std::abs(a[v][k] - b[v][k]));
  }
  return worst;
}

Graph spin_grid(std::uint32_t rows, std::uint32_t columns, double scale, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{rows} * columns, 2);
  for (std::uint32_t r = 0; r < rows; ++r)
    for (std::uint32_t c = 0; c < columns; ++c) {
      const VariableId v = r * columns + c;
      const double field[2] = {-scale * random.normal(), scale * random.normal()};
      model.unaries.add(v, field);
      if (c + 1 < columns) model.spin_pairs.add(v, v + 1, scale * random.normal());
      if (r + 1 < rows) model.spin_pairs.add(v, v + columns, scale * random.normal());
    }
  return compile(model);
}

TEST(JunctionTree, AgreesWithEnumerationOnRandomModels) {
  for (std::uint64_t seed = 1; seed <= 240; ++seed) {
    const Graph graph = varied_graph(seed);
    const Enumeration exact = enumerate(graph);
    JunctionTree tree(graph);
    EXPECT_NEAR(tree.log_z(), exact.log_z, 1e-11 * (1 + std::abs(exact.log_z))) << "seed " << seed;
    EXPECT_LT(largest_tree_difference(tree.marginals(), exact.marginals), 1e-11) << "seed " << seed;
    const ScoredState best = tree.map();
    EXPECT_NEAR(best.log_score, exact.best_log_score, 1e-11 * (1 + std::abs(exact.best_log_score)))
        << "seed " << seed;
    EXPECT_EQ(best.log_score, log_score(graph, best.assignment)) << "seed " << seed;
  }
}

TEST(JunctionTree, PairMarginalsAgreeWithEnumeration) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = varied_graph(seed);
    const Adjacency around = adjacency(graph);
    std::vector<std::pair<VariableId, VariableId>> pairs;
    for (VariableId i = 0; i < graph.size(); ++i)
      for (VariableId j : around.of(i)) pairs.push_back({i, j});  // both orders of every pair
    const Enumeration exact = enumerate(graph);
    std::vector<std::vector<double>> expected;
    for (const auto& [i, j] : pairs) {
      std::vector<double> table(graph.cardinalities[i] * graph.cardinalities[j], 0.0);
      for (std::size_t s = 0; s < exact.probabilities.size(); ++s) {
        const std::vector<Value> x = testing::state_of_index(graph, s);
        table[x[i] * graph.cardinalities[j] + x[j]] += exact.probabilities[s];
      }
      expected.push_back(std::move(table));
    }
    EXPECT_LT(largest_tree_difference(JunctionTree(graph).pair_marginals(pairs), expected), 1e-11)
        << "seed " << seed;
  }
}

TEST(JunctionTree, DrawsHaveTheExactJointDistribution) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Graph graph = varied_graph(seed);
    const Enumeration exact = enumerate(graph);
    JunctionTree tree(graph);
    const std::size_t draws = 3000;
    std::vector<Value> out(draws * graph.size());
    tree.sample(seed, 0, draws, out);
    std::vector<double> counts(exact.probabilities.size(), 0.0);
    for (std::size_t d = 0; d < draws; ++d)
      ++counts[testing::state_index(graph, {out.data() + d * graph.size(), graph.size()})];
    EXPECT_LT(chi_square_score(counts, exact.probabilities), chi_square_limit) << "seed " << seed;
  }
}

TEST(JunctionTree, DrawDependsOnItsNumberOnly) {
  const Graph graph = spin_grid(4, 5, 1.0, 3);
  JunctionTree tree(graph);
  std::vector<Value> all(100 * graph.size()), part(30 * graph.size());
  tree.sample(9, 0, 100, all);
  tree.sample(9, 50, 30, part);
  EXPECT_TRUE(
      std::equal(part.begin(), part.end(), all.begin() + 50 * static_cast<std::ptrdiff_t>(graph.size())));
  tree.sample(10, 50, 30, part);
  EXPECT_FALSE(
      std::equal(part.begin(), part.end(), all.begin() + 50 * static_cast<std::ptrdiff_t>(graph.size())));
}

// Wide enough for parallel blocks, widened targets and index lists.
TEST(JunctionTree, SameBitsForOneAndTwoThreads) {
  for (const Graph& graph : {spin_grid(15, 15, 1.0, 1), spin_grid(3, 2000, 1.0, 2)}) {
    struct Answers {
      double log_z;
      std::vector<std::vector<double>> marginals;
      std::vector<Value> best, draws;
    };
    const auto solve = [&](std::size_t threads) {
      const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
      JunctionTree tree(graph);
      Answers answers{tree.log_z(), tree.marginals(), tree.map().assignment,
                      std::vector<Value>(20 * graph.size())};
      tree.sample(5, 0, 20, answers.draws);
      return answers;
    };
    const Answers one = solve(1), two = solve(2);
    EXPECT_EQ(one.log_z, two.log_z);
    EXPECT_EQ(one.marginals, two.marginals);
    EXPECT_EQ(one.best, two.best);
    EXPECT_EQ(one.draws, two.draws);
  }
}

// log Z of a grid by transfer matrix over columns: an independent computation on tables of real size.
TEST(JunctionTree, GridAgreesWithTransferMatrix) {
  const std::uint32_t rows = 12, columns = 14;
  const Graph graph = spin_grid(rows, columns, 0.7, 4);
  std::vector<double> state(std::size_t{1} << rows, 0.0);
  double log_scale = 0;
  std::vector<double> across(rows);
  for (std::uint32_t c = 0; c < columns; ++c) {
    std::vector<double> down(rows, 0.0);
    std::vector<double> next_across(rows, 0.0);
    for (std::size_t f = 0; f < graph.spin_pairs.size(); ++f) {
      const VariableId i = graph.spin_pairs.first[f], j = graph.spin_pairs.second[f];
      if (i % columns != c) continue;
      (j == i + 1 ? next_across : down)[i / columns] = graph.spin_pairs.couplings[f];
    }
    if (c == 0) {
      std::fill(state.begin(), state.end(), 1.0);
    } else {
      // Replace one spin of the previous column by its right neighbour at a time.
      for (std::uint32_t r = 0; r < rows; ++r)
        for (std::size_t s = 0; s < state.size(); ++s) {
          if (s >> r & 1) continue;
          const std::size_t t = s | std::size_t{1} << r;
          const double same = std::exp(across[r]), other = std::exp(-across[r]);
          const double low = state[s] * same + state[t] * other;
          state[t] = state[s] * other + state[t] * same;
          state[s] = low;
        }
    }
    for (std::size_t s = 0; s < state.size(); ++s) {
      double energy = 0;
      for (std::uint32_t r = 0; r < rows; ++r) {
        energy += graph.unary_of(r * columns + c)[s >> r & 1];
        if (r + 1 < rows) energy += (s >> r & 1) == (s >> (r + 1) & 1) ? down[r] : -down[r];
      }
      state[s] *= std::exp(energy);
    }
    double total = 0;
    for (double value : state) total += value;
    for (double& value : state) value /= total;
    log_scale += std::log(total);
    across = next_across;
  }
  EXPECT_NEAR(JunctionTree(graph).log_z(), log_scale, 1e-10 * log_scale);
}

TEST(JunctionTree, MarginalsOfAWideModelAgreeWithItsDraws) {
  const Graph graph = spin_grid(14, 14, 0.5, 8);
  JunctionTree tree(graph);
  const auto marginals = tree.marginals();
  const std::size_t draws = 4000;
  std::vector<Value> out(draws * graph.size());
  tree.sample(1, 0, draws, out);
  for (std::size_t v = 0; v < graph.size(); ++v) {
    double ones = 0;
    for (std::size_t d = 0; d < draws; ++d) ones += out[d * graph.size() + v];
    const double p = marginals[v][1];
    EXPECT_NEAR(ones / draws, p, 5.5 * std::sqrt(p * (1 - p) / draws) + 1e-9) << "variable " << v;
  }
}

TEST(JunctionTree, NoVariables) {
  Model model;
  model.log_constant = 2.5;
  const Graph graph = compile(model);
  JunctionTree tree(graph);
  EXPECT_EQ(tree.log_z(), 2.5);
  EXPECT_TRUE(tree.marginals().empty());
  EXPECT_EQ(tree.map().log_score, 2.5);
  tree.sample(1, 0, 3, {});
}

TEST(JunctionTree, OneVariableAndIsolatedVariables) {
  Model model;
  model.cardinalities = {3, 2, 4};
  const double values[3] = {0, std::log(2.0), std::log(5.0)};
  model.unaries.add(0, values);
  const Graph graph = compile(model);
  JunctionTree tree(graph);
  EXPECT_NEAR(tree.log_z(), std::log(8.0 * 2 * 4), 1e-14);
  const auto marginals = tree.marginals();
  EXPECT_NEAR(marginals[0][2], 5.0 / 8, 1e-15);
  EXPECT_NEAR(marginals[1][0], 0.5, 1e-15);
  EXPECT_NEAR(marginals[2][3], 0.25, 1e-15);
  EXPECT_EQ(tree.map().assignment[0], 2);
}

// Each factor alone is beyond the range of a double; a later one overrules an earlier one by e^2000.
TEST(JunctionTree, HugePotentialsThatOverruleEachOther) {
  Model model;
  model.cardinalities = {2, 2, 2};
  const double first[4] = {4000, 0, 0, -1000};
  const double second[4] = {-3000, 0, 0, 3000.5};
  const VariableId a[2] = {0, 1}, b[2] = {1, 2};
  model.tables.add(a, first);
  model.tables.add(b, second);
  const double field[2] = {-2000, 2000};
  model.unaries.add(0, field);
  const Graph graph = compile(model);
  const Enumeration exact = enumerate(graph);
  JunctionTree tree(graph);
  EXPECT_NEAR(tree.log_z(), exact.log_z, 1e-9);
  EXPECT_LT(largest_tree_difference(tree.marginals(), exact.marginals), 1e-9);
  EXPECT_NEAR(tree.map().log_score, exact.best_log_score, 1e-9);
}

TEST(JunctionTree, LongChainOfStrongCouplings) {
  // x_0 is pulled one way by e^900, the other end the other way by e^1000; couplings of 500 decide nothing
  // alone.
  Model model;
  const std::uint32_t n = 2000;
  model.cardinalities.assign(n, 2);
  for (VariableId v = 0; v + 1 < n; ++v) model.spin_pairs.add(v, v + 1, 500);
  const double left[2] = {900, 0}, right[2] = {0, 1000};
  model.unaries.add(0, left);
  model.unaries.add(n - 1, right);
  const Graph graph = compile(model);
  JunctionTree tree(graph);
  EXPECT_NEAR(tree.log_z(), 500.0 * (n - 1) + 1000, 1e-6);
  for (const auto& p : tree.marginals()) EXPECT_NEAR(p[1], 1.0, 1e-12);
  EXPECT_NEAR(tree.map().log_score, 500.0 * (n - 1) + 1000, 1e-6);
}

TEST(JunctionTree, ImpossibleModelIsNamed) {
  Model model;
  model.cardinalities = {2, 2, 2};
  model.variable_names = {"rain", "sprinkler", "grass"};
  const double differ[4] = {log_zero, 0, 0, log_zero};
  for (const auto& [i, j] : {std::pair<VariableId, VariableId>{0, 1}, {1, 2}, {0, 2}}) {
    const VariableId scope[2] = {i, j};
    model.tables.add(scope, differ);
  }
  const Graph graph = compile(model);
  JunctionTree tree(graph);
  const auto expect_impossible = [](auto&& call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_NE(std::string(error.what()).find("Z = 0"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("variable "), std::string::npos) << error.what();
    }
  };
  std::vector<Value> out(3);
  expect_impossible([&] { tree.log_z(); });
  expect_impossible([&] { tree.log_z(); });  // the failed pass must not count as done
  expect_impossible([&] { tree.marginals(); });
  expect_impossible([&] { tree.map(); });
  expect_impossible([&] { tree.sample(1, 0, 1, out); });
}

TEST(JunctionTree, RefusesAboveTheMemoryLimit) {
  const Graph graph = spin_grid(16, 16, 1.0, 1);
  ExactOptions options;
  options.memory_limit_bytes = 1 << 20;
  const ExactPlan plan = plan_exact(graph, options);
  EXPECT_FALSE(plan.fits(options.memory_limit_bytes));
  try {
    JunctionTree tree(graph, options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::misfit);
    EXPECT_NE(std::string(error.what()).find("1.0 MB"), std::string::npos) << error.what();
  }
  options.memory_limit_bytes = static_cast<std::size_t>(plan.predicted_bytes) + 1;
  EXPECT_EQ(JunctionTree(graph, options).predicted_bytes(), static_cast<std::size_t>(plan.predicted_bytes));
}

TEST(JunctionTree, RefusesACompleteGraphQuickly) {
  Model model;
  model.cardinalities.assign(400, 2);
  for (VariableId i = 0; i < 400; ++i)
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(j, i, 0.1);
  const Graph graph = compile(model);
  const ExactPlan plan = plan_exact(graph);
  EXPECT_FALSE(plan.order.exact);
  EXPECT_EQ(plan.order.width, 399u);
  EXPECT_THROW(JunctionTree{graph}, Error);
}

TEST(JunctionTree, StarWithManyLeaves) {
  Model model;
  const std::uint32_t leaves = 3000;
  model.cardinalities.assign(leaves + 1, 2);
  for (VariableId v = 1; v <= leaves; ++v) model.spin_pairs.add(0, v, v % 2 == 0 ? 0.3 : -0.3);
  const Graph graph = compile(model);
  JunctionTree tree(graph);
  EXPECT_NEAR(tree.log_z(), std::log(2.0) + leaves * std::log(2 * std::cosh(0.3)), 1e-8);
  for (const auto& p : tree.marginals()) EXPECT_NEAR(p[0], 0.5, 1e-10);
}

TEST(JunctionTree, PairsWithoutACommonClusterAreRefused) {
  const Graph graph = spin_grid(1, 10, 1.0, 1);
  JunctionTree tree(graph);
  const std::pair<VariableId, VariableId> far[1] = {{0, 9}};
  EXPECT_THROW(tree.pair_marginals(far), Error);
}

}  // namespace
}  // namespace drover
