// The search for a starting state, against enumeration and against problems with known answers.
#include "drover/infer/support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/support_sat.hpp"
#include "drover/infer/support_search.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/stop_questions.hpp"

namespace drover {
namespace {

/// Tables with zeros, each over a scope of its own (compile() would merge others); possible or not, as it
/// happens.
Model random_constraints(std::uint64_t seed, std::uint32_t factors, double zero_share) {
  RandomSequence random(seed, Stream::generate, 1);
  Model model;
  for (int v = 0; v < 7; ++v) model.cardinalities.push_back(2 + random.below(2));
  std::set<std::set<VariableId>> stated;
  for (std::uint32_t f = 0; f < factors; ++f) {
    std::vector<VariableId> scope;
    const std::uint32_t arity = 2 + random.below(2);
    while (scope.size() < arity) {
      const VariableId v = random.below(7);
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
    }
    if (!stated.insert({scope.begin(), scope.end()}).second) continue;
    std::size_t entries = 1;
    for (VariableId v : scope) entries *= model.cardinalities[v];
    std::vector<double> values(entries);
    for (double& value : values) value = random.uniform() < zero_share ? log_zero : random.normal();
    values[random.below(static_cast<std::uint32_t>(entries))] = 0;
    model.tables.add(scope, values);
  }
  return model;
}

bool is_possible(const Graph& graph) {
  try {
    enumerate(graph);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void add_different(Model& model, VariableId i, VariableId j) {
  const std::size_t K = model.cardinalities[i];
  std::vector<double> values(K * K, 0.0);
  for (std::size_t k = 0; k < K; ++k) values[k * K + k] = log_zero;
  const VariableId scope[2] = {i, j};
  model.tables.add(scope, values);
}

void add_xor(Model& model, std::span<const VariableId> scope, bool odd) {
  std::vector<double> values(std::size_t{1} << scope.size());
  for (std::size_t e = 0; e < values.size(); ++e)
    values[e] = (__builtin_popcountll(e) % 2 == 1) == odd ? 0.0 : log_zero;
  model.tables.add(scope, values);
}

std::string message_of(const Graph& graph) {
  try {
    find_supported_state(graph, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    return error.what();
  }
  return "";
}

TEST(Support, AgreesWithEnumerationOnRandomConstraints) {
  int possible = 0, impossible = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Graph graph = compile(random_constraints(seed, 6 + seed % 14, 0.3 + 0.05 * (seed % 7)));
    if (is_possible(graph)) {
      ++possible;
      for (const auto& x : find_supported_states(graph, seed, 5)) {
        EXPECT_TRUE(in_support(graph, x)) << seed;
        EXPECT_GT(log_score(graph, x), log_zero) << seed;
      }
    } else {
      ++impossible;
      EXPECT_NE(message_of(graph).find("the model is impossible: Z = 0, "), std::string::npos) << seed;
    }
  }
  EXPECT_GT(possible, 100);
  EXPECT_GT(impossible, 100);
}

TEST(Support, SolverAgreesWithEnumerationOnRandomConstraints) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = compile(random_constraints(seed, 6 + seed % 14, 0.3 + 0.05 * (seed % 7)));
    const bool possible = is_possible(graph);
    SupportSearch search(graph);  // without propagation, so that the solver has all the work
    SupportSolver solver(graph, search);
    std::vector<Value> x(graph.size());
    for (std::uint32_t number = 0; number < 4; ++number) {
      EXPECT_EQ(solver.solve(seed, number, x), possible) << seed;
      if (possible) {
        EXPECT_TRUE(in_support(graph, x)) << seed;
      }
    }
    const auto core = contradicting_factors(graph);
    EXPECT_EQ(core.empty(), possible) << seed;
    if (possible) continue;
    // The core alone is impossible, and leaving out any of its factors makes it possible.
    for (std::size_t left_out = 0; left_out <= core.size(); ++left_out) {
      Graph part = graph;
      part.tables = Tables();
      for (std::size_t f = 0; f < core.size(); ++f)
        if (f != left_out) part.tables.add(graph.tables.scope(core[f]), graph.tables.values(core[f]));
      EXPECT_EQ(is_possible(part), left_out < core.size()) << seed;
    }
  }
}

TEST(Support, PropagationOnlyRemovesImpossibleValues) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = compile(random_constraints(seed, 8, 0.5));
    SupportSearch search(graph);
    const bool culprit = search.propagate_constraints().has_value();
    if (!is_possible(graph)) continue;
    ASSERT_FALSE(culprit) << seed;
    const Enumeration exact = enumerate(graph);
    for (VariableId v = 0; v < graph.size(); ++v)
      for (std::size_t k = 0; k < graph.cardinalities[v]; ++k)
        if (!search.is_live(v, k)) {
          EXPECT_EQ(exact.marginals[v][k], 0.0) << seed;
        }
  }
}

TEST(Support, PositiveModelsGetRandomValues) {
  const Graph graph = compile(testing::random_model(3, {.variables = 40, .max_states = 4, .factors = 60}));
  const auto states = find_supported_states(graph, 7, 3);
  EXPECT_NE(states[0], states[1]);
  EXPECT_EQ(states, find_supported_states(graph, 7, 3));
  EXPECT_NE(states, find_supported_states(graph, 8, 3));
}

TEST(Support, XorChainsAndTheirContradiction) {
  Model model;
  const VariableId n = 400;
  model.cardinalities.assign(n, 2);
  for (VariableId v = 0; v + 2 < n; ++v) add_xor(model, std::vector<VariableId>{v, v + 1, v + 2}, v % 3 == 0);
  const Graph graph = compile(model);
  std::set<std::vector<Value>> seen;
  for (const auto& x : find_supported_states(graph, 1, 24)) {
    EXPECT_TRUE(in_support(graph, x));
    seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 4U);  // the first two values decide all others

  // x0 + x1 = 0, x1 + x2 = 0, x0 + x2 = 1: consistent along arcs, impossible together.
  Model triangle;
  triangle.cardinalities.assign(4, 2);
  add_xor(triangle, std::vector<VariableId>{0, 1}, false);
  add_xor(triangle, std::vector<VariableId>{1, 2}, false);
  add_xor(triangle, std::vector<VariableId>{2, 3}, false);
  add_xor(triangle, std::vector<VariableId>{0, 2}, true);
  EXPECT_EQ(
      message_of(compile(triangle)),
      "the model is impossible: Z = 0, the factors over (0, 1), (1, 2), (0, 2) together admit no state");
}

TEST(Support, PropagationNamesTheCulprit) {
  Model model;
  model.cardinalities.assign(3, 2);
  model.variable_names = {"rain", "road", "grass"};
  add_xor(model, std::vector<VariableId>{0, 1}, false);
  add_xor(model, std::vector<VariableId>{1, 2}, false);
  const double yes[2] = {log_zero, 0}, no[2] = {0, log_zero};
  model.unaries.add(0, yes);
  model.unaries.add(2, no);
  const std::string message = message_of(compile(model));
  EXPECT_NE(message.find("no value of variable "), std::string::npos) << message;
  EXPECT_NE(message.find("road"), std::string::npos) << message;
}

TEST(Support, PigeonsThatDoNotFit) {
  Model model;
  model.cardinalities.assign(8, 7);  // eight pigeons, seven holes
  for (VariableId i = 0; i < 8; ++i)
    for (VariableId j = i + 1; j < 8; ++j) add_different(model, i, j);
  const std::string message = message_of(compile(model));
  EXPECT_NE(message.find("and 24 more together admit no state"), std::string::npos) << message;
  model.cardinalities.assign(8, 8);
  model.tables = Tables();
  for (VariableId i = 0; i < 8; ++i)
    for (VariableId j = i + 1; j < 8; ++j) add_different(model, i, j);
  const Graph graph = compile(model);
  for (const auto& x : find_supported_states(graph, 2, 10)) EXPECT_TRUE(in_support(graph, x));
}

TEST(Support, ColoursARandomGraphNearTheThreshold) {
  // Three colours, mean degree 4.4: below the threshold of 4.69 but hard for greedy choices.
  Model model;
  const VariableId n = 300;
  model.cardinalities.assign(n, 3);
  RandomSequence random(11, Stream::generate);
  std::set<std::pair<VariableId, VariableId>> edges;
  std::vector<Value> planted(n);
  for (Value& colour : planted) colour = static_cast<Value>(random.below(3));
  while (edges.size() < n * 22 / 10) {
    const VariableId i = random.below(n), j = random.below(n);
    if (i < j && planted[i] != planted[j]) edges.insert({i, j});
  }
  for (const auto& [i, j] : edges) add_different(model, i, j);
  const Graph graph = compile(model);
  const auto states = find_supported_states(graph, 5, 6);
  for (const auto& x : states) EXPECT_TRUE(in_support(graph, x));
  EXPECT_NE(states[0], states[1]);
  EXPECT_EQ(states, find_supported_states(graph, 5, 6));
  // It looks for an end at least once a state, and ends where it is told to.
  const auto find = [&](const RunControl& control) {
    EXPECT_EQ(states, find_supported_states(graph, 5, 6, control));
  };
  const std::size_t all = testing::count_questions(find);
  ASSERT_GE(all, 6u);
  for (std::size_t after : {std::size_t{0}, all / 2, all - 1}) testing::expect_end_after(after, find);
}

TEST(Support, SolverStatesDiffer) {
  Model model;
  model.cardinalities.assign(60, 3);
  for (VariableId v = 0; v + 1 < 60; ++v) add_different(model, v, v + 1);
  const Graph graph = compile(model);
  SupportSearch search(graph);
  SupportSolver solver(graph, search);
  std::set<std::vector<Value>> seen;
  std::vector<Value> x(graph.size());
  for (std::uint32_t number = 0; number < 20; ++number) {
    ASSERT_TRUE(solver.solve(4, number, x));
    EXPECT_TRUE(in_support(graph, x));
    seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 20U);
}

TEST(Support, RealModelsWithZeros) {
  const std::string data = DROVER_SOURCE_DIR "/../shared/data/uai/";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "no models in " << data;
  for (const char* name : {"Pedigree_11", "Promedus_17", "linkage_24", "linkage_26", "ObjectDetection_12",
                           "2bitcomp_5.cnf", "2bitmax_6.cnf", "c432.isc.cnf"}) {
    const Model model = read_model(data + name + ".uai.gz");
    const Graph graph = compile(model, read_evidence(model, data + name + ".uai.evid"));
    auto states = find_supported_states(graph, 3, 8);
    for (const auto& x : states) EXPECT_TRUE(in_support(graph, x)) << name;
    std::sort(states.begin(), states.end());
    EXPECT_EQ(std::unique(states.begin(), states.end()), states.end()) << name;
  }
}

}  // namespace
}  // namespace drover
