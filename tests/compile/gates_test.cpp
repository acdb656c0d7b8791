#include <gtest/gtest.h>

#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"

namespace drover {
namespace {

// Random gates of every kind over a few variables, with unaries; the same with tables in their place.
struct Twins {
  Model gates, tables;
};

Twins random_gates(std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Twins twins;
  Model& model = twins.gates;
  const std::uint32_t variables = 7;
  model.cardinalities.assign(variables, 2);
  for (VariableId v = 0; v < variables; ++v) {
    const double values[2] = {random.normal(), random.normal()};
    model.unaries.add(v, values);
  }
  for (int f = 0; f < 3; ++f) {
    std::vector<VariableId> scope;
    for (std::uint32_t v = 0; v < variables; ++v) scope.insert(scope.begin() + random.below(v + 1), v);
    scope.resize(2 + random.below(4));
    const VariableId child = scope.back();
    const std::span<const VariableId> inputs(scope.data(), scope.size() - 1);
    std::vector<double> log_off(scope.size());
    for (double& value : log_off) value = random.below(6) == 0 ? log_zero : std::log(random.uniform());
    switch (random.below(5)) {
      case 0:
        model.gates.add_or(inputs, child);
        break;
      case 1:
        model.gates.add_and(inputs, child);
        break;
      case 2:
        model.gates.add_noisy_or(inputs, child, std::span(log_off).first(inputs.size()),
                                 std::log(random.uniform()));
        break;
      case 3:
        model.gates.add_noisy_or_on(scope, log_off, std::log(random.uniform()));
        break;
      case 4: {
        const auto size = static_cast<std::uint32_t>(scope.size());
        const std::uint32_t low = random.below(size + 1);
        model.gates.add_count(scope, low, low + random.below(size + 2 - low));
        break;
      }
    }
  }
  twins.tables = model;
  twins.tables.gates = {};
  for (std::size_t g = 0; g < model.gates.size(); ++g)
    twins.tables.tables.add(model.gates.scope(g), model.gates.table(g));
  return twins;
}

// Every joint state of the model's variables that agrees with the evidence, as log weights.
std::vector<double> weights(const Model& model, const Evidence& evidence) {
  std::vector<double> result;
  std::vector<Value> x(model.variable_count());
  for (std::size_t s = 0; s < std::size_t{1} << x.size(); ++s) {
    for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(s >> v & 1);
    bool agrees = true;
    for (std::size_t e = 0; e < evidence.size(); ++e)
      agrees &= x[evidence.variables[e]] == evidence.values[e];
    result.push_back(agrees ? log_score(model, x) : log_zero);
  }
  return result;
}

TEST(Gates, ScoresAreThoseOfTheirTables) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Twins twins = random_gates(seed);
    const std::vector<double> ours = weights(twins.gates, {}), theirs = weights(twins.tables, {});
    for (std::size_t s = 0; s < ours.size(); ++s) {
      if (theirs[s] == log_zero) {
        EXPECT_EQ(ours[s], log_zero);
      } else {
        EXPECT_NEAR(ours[s], theirs[s], 1e-12);
      }
    }
  }
}

// Whatever compile() makes of evidence, the joint distribution of all variables is that of the model.
TEST(Gates, EvidenceSlicesThem) {
  RandomSequence random(77, Stream::generate);
  int possible_models = 0, forced = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Twins twins = random_gates(seed);
    Evidence evidence;
    for (VariableId v = 0; v < twins.gates.variable_count(); ++v)
      if (random.below(3) == 0) evidence.add(v, static_cast<Value>(random.below(2)));
    const std::vector<double> expected = weights(twins.gates, evidence);
    double most = log_zero;
    for (double w : expected) most = std::max(most, w);
    Graph graph;
    try {
      graph = compile(twins.gates, evidence);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_EQ(most, log_zero) << error.what();
      continue;
    }
    forced += graph.size() + evidence.size() < twins.gates.variable_count();
    // Expansion first: both must score every state alike.
    const Graph expanded = expand_gates(graph);
    EXPECT_EQ(expanded.gates.size(), 0U);
    std::vector<double> seen(expected.size(), log_zero);
    std::vector<Value> x(graph.size());
    for (std::size_t s = 0; s < std::size_t{1} << x.size(); ++s) {
      for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(s >> v & 1);
      const double score = log_score(graph, x);
      if (score == log_zero) {
        EXPECT_EQ(log_score(expanded, x), log_zero);
        continue;
      }
      EXPECT_NEAR(log_score(expanded, x), score, 1e-12);
      const std::vector<Value> whole = whole_assignment(graph, x);
      std::size_t index = 0;
      for (std::size_t v = 0; v < whole.size(); ++v) index |= std::size_t{whole[v]} << v;
      seen[index] = score;
    }
    possible_models += most != log_zero;
    for (std::size_t s = 0; s < expected.size(); ++s) {
      if (expected[s] == log_zero) {
        EXPECT_EQ(seen[s], log_zero) << "seed " << seed;
      } else {
        EXPECT_NEAR(seen[s], expected[s], 1e-10) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(possible_models, 100);
  EXPECT_GT(forced, 30);
}

TEST(Gates, EvidenceOnAChildLeavesACount) {
  Model model;
  model.cardinalities.assign(4, 2);
  const VariableId inputs[3] = {0, 1, 2};
  model.gates.add_or(inputs, 3);
  Evidence on, off;
  on.add(3, 1);
  off.add(3, 0);
  const Graph graph = compile(model, on);
  ASSERT_EQ(graph.gates.size(), 1U);
  EXPECT_EQ(graph.gates.kinds[0], GateKind::count);
  EXPECT_EQ(graph.gates.low[0], 1U);
  EXPECT_EQ(compile(model, off).size(), 0U);  // every input is forced
}

TEST(Gates, NonsenseIsRefused) {
  const VariableId two[2] = {0, 1};
  const VariableId twice[2] = {1, 1};
  const double bad[2] = {0.5, 0};
  const auto expect_refused = [](const Model& model, const std::string& text) {
    try {
      compile(model);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  Model base;
  base.cardinalities = {2, 2, 3};
  Model model = base;
  model.gates.add_or(two, 2);
  expect_refused(model, "2 states");
  model = base;
  model.gates.add_or(two, 7);
  expect_refused(model, "names variable 7");
  model = base;
  model.gates.add_count(twice, 0, 1);
  expect_refused(model, "twice");
  model = base;
  model.gates.add_count(two, 2, 1);
  expect_refused(model, "none");
  model = base;
  model.gates.add_noisy_or_on(two, bad, 0);
  expect_refused(model, "no probability");
}

}  // namespace
}  // namespace drover
