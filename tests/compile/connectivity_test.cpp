// What the analysis claims about single-site moves is what a visit of the whole support finds.
#include "drover/compile/connectivity.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "drover/infer/enumerate.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

/// Components of the support under single-site moves, by union-find over all pairs of states.
std::size_t count_parts(const Graph& graph) {
  const Enumeration exact = enumerate(graph);
  std::vector<std::vector<Value>> states;
  for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
    if (exact.probabilities[s] > 0) states.push_back(testing::state_of_index(graph, s));
  std::vector<std::size_t> parent(states.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t s) {
    while (parent[s] != s) s = parent[s];
    return s;
  };
  std::size_t parts = states.size();
  for (std::size_t a = 0; a < states.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      int different = 0;
      for (std::size_t v = 0; v < graph.size(); ++v) different += states[a][v] != states[b][v];
      if (different != 1 || root(a) == root(b)) continue;
      parent[root(a)] = root(b);
      --parts;
    }
  return parts;
}

Graph random_graph(std::uint64_t seed) {
  testing::RandomModelOptions options;
  options.variables = 4 + seed % 3;
  options.max_states = 2 + seed % 3;
  options.max_arity = 2 + seed % 2;
  options.factors = 3 + seed % 4;
  options.zero_share = 0.1 + 0.15 * static_cast<double>(seed % 5);
  return compile(testing::random_model(seed, options));
}

TEST(Connectivity, ExactOnSmallGraphs) {
  int broken = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const bool connected = count_parts(graph) == 1;
    const ConnectivityReport report = analyse_connectivity(graph);
    EXPECT_EQ(report.connectivity, connected ? Connectivity::known : Connectivity::broken) << "seed " << seed;
    EXPECT_EQ(report.variables.empty(), connected);
    EXPECT_FALSE(report.reason.empty());
    broken += !connected;
  }
  EXPECT_GT(broken, 30);
  EXPECT_LT(broken, 270);
}

TEST(Connectivity, LocalProofsAreNeverWrong) {
  int known = 0, unknown = 0, broken = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Graph graph = random_graph(seed);
    if (graph.is_strictly_positive()) continue;
    switch (analyse_connectivity(graph, -1).connectivity) {
      case Connectivity::known:
        EXPECT_EQ(count_parts(graph), 1U) << "seed " << seed;
        ++known;
        break;
      case Connectivity::broken:
        EXPECT_GT(count_parts(graph), 1U) << "seed " << seed;
        ++broken;
        break;
      case Connectivity::unknown:
        ++unknown;
        break;
    }
  }
  // Each answer is given often enough to mean something.
  EXPECT_GT(known, 100);
  EXPECT_GT(broken, 30);
  EXPECT_LT(unknown, 300);
  RecordProperty("known", known);
  RecordProperty("unknown", unknown);
  RecordProperty("broken", broken);
}

TEST(Connectivity, StrictlyPositiveTablesAreKnown) {
  testing::RandomModelOptions options;
  options.variables = 40;
  options.max_states = 3;
  Model model = testing::random_model(1, options);
  model.unaries.log_values[0] = log_zero;
  EXPECT_EQ(analyse_connectivity(compile(model)).connectivity, Connectivity::known);
}

TEST(Connectivity, ACopyIsBrokenInALargeGraph) {
  Model model;
  model.cardinalities.assign(1000, 2);
  for (VariableId v = 0; v + 1 < 1000; ++v) model.spin_pairs.add(v, v + 1, 0.3);
  model.tables.add(std::vector<VariableId>{7, 500}, std::vector<double>{0, log_zero, log_zero, 0});
  const ConnectivityReport report = analyse_connectivity(compile(model));
  EXPECT_EQ(report.connectivity, Connectivity::broken);
  EXPECT_EQ(report.variables, (std::vector<VariableId>{7, 500}));
}

TEST(Connectivity, ParityIsBroken) {
  Model model;
  model.cardinalities.assign(30, 2);
  std::vector<double> even(8, log_zero);
  for (int x : {0, 3, 5, 6}) even[x] = 0;
  for (VariableId v = 0; v + 2 < 30; v += 2) model.tables.add(std::vector<VariableId>{v, v + 1, v + 2}, even);
  EXPECT_EQ(analyse_connectivity(compile(model)).connectivity, Connectivity::broken);
}

TEST(Connectivity, WorkGrowsWithTheGraphNotItsSquare) {
  // A chain of 100,000 copies: every table is split, and each search fixes every variable.
  Model model;
  model.cardinalities.assign(100000, 2);
  for (VariableId v = 0; v + 1 < 100000; ++v)
    model.tables.add(std::vector<VariableId>{v, v + 1}, std::vector<double>{0, log_zero, log_zero, 0});
  const ConnectivityReport report = analyse_connectivity(compile(model));
  EXPECT_EQ(report.connectivity, Connectivity::broken);
  EXPECT_EQ(report.variables.size(), 100000U);
}

TEST(Connectivity, IndependentSetsAreKnown) {
  // Hard-core model: neighbours are not both 1; the value 0 is always safe.
  Model model;
  model.cardinalities.assign(400, 2);
  for (VariableId v = 0; v < 400; ++v)
    for (VariableId u : {v + 1, v + 20})
      if (u < 400) model.tables.add(std::vector<VariableId>{v, u}, std::vector<double>{0, 0, 0, log_zero});
  EXPECT_EQ(analyse_connectivity(compile(model)).connectivity, Connectivity::known);
}

TEST(Connectivity, ColouringsOfATriangleAreUnknownOrBroken) {
  // Three colours on a triangle: frozen, as flood fill finds; no table alone shows it.
  Model model;
  model.cardinalities.assign(3, 3);
  std::vector<double> different(9, 0.0);
  for (int k = 0; k < 3; ++k) different[k * 4] = log_zero;
  for (auto [i, j] : {std::pair{0U, 1U}, std::pair{1U, 2U}, std::pair{0U, 2U}})
    model.tables.add(std::vector<VariableId>{i, j}, different);
  EXPECT_EQ(analyse_connectivity(compile(model)).connectivity, Connectivity::broken);
  EXPECT_EQ(analyse_connectivity(compile(model), -1).connectivity, Connectivity::unknown);
}

}  // namespace
}  // namespace drover
