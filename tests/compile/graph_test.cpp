// compile() keeps log p~ of every assignment that agrees with the evidence, whatever it recognises on the
// way.
#include "drover/compile/graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

// Steps through all assignments of the free variables.
template <class Visit>
void for_each_assignment(const Graph& graph, Visit visit) {
  std::vector<Value> x(graph.size(), 0);
  while (true) {
    visit(x);
    std::size_t k = x.size();
    while (k > 0 && ++x[k - 1] == graph.cardinalities[k - 1]) x[--k] = 0;
    if (k == 0) return;
  }
}

void expect_same_scores(const Model& model, const Evidence& evidence) {
  const Graph graph = compile(model, evidence);
  for_each_assignment(graph, [&](const std::vector<Value>& x) {
    const double expected = log_score(model, whole_assignment(graph, x));
    const double actual = log_score(graph, x);
    if (expected == log_zero)
      ASSERT_EQ(actual, log_zero);
    else
      ASSERT_NEAR(actual, expected, 1e-12 * (1 + std::abs(expected)));
  });
}

TEST(Compile, KeepsScoresOfRandomModels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions options;
    options.max_states = 2 + seed % 3;
    options.max_arity = 2 + seed % 2;
    options.zero_share = seed % 4 == 0 ? 0.3 : 0.0;
    expect_same_scores(testing::random_model(seed, options), {});
  }
}

// Models of free binary variables take a shorter way; a variable of three states leads to the other.
TEST(Compile, BinaryModelsAreCompiledAsOthersAre) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSequence random(seed, Stream::generate);
    Model model;
    constexpr VariableId count = 30;
    model.cardinalities.assign(count, 2);
    for (int f = 0; f < 40; ++f)
      model.unaries.add(random.below(count), std::vector{random.normal(), random.normal()});
    for (int p = 0; p < 100; ++p) {  // either end first, and some pairs twice
      const VariableId i = random.below(count);
      model.spin_pairs.add(i, (i + 1 + random.below(count - 1)) % count, random.normal());
    }
    Model other = model;
    other.cardinalities.push_back(3);
    const Graph graph = compile(model), expected = compile(other);
    ASSERT_EQ(graph.size(), count);
    EXPECT_TRUE(std::equal(graph.unary.begin(), graph.unary.end(), expected.unary.begin()));
    EXPECT_EQ(graph.spin_pairs.first, expected.spin_pairs.first);
    EXPECT_EQ(graph.spin_pairs.second, expected.spin_pairs.second);
    EXPECT_EQ(graph.spin_pairs.couplings, expected.spin_pairs.couplings);
    EXPECT_EQ(graph.log_constant, expected.log_constant);
  }
}

// ... which also says what is wrong.
TEST(Compile, FaultsOfBinaryModelsAreNamed) {
  Model model;
  model.cardinalities.assign(4, 2);
  model.unaries.add(1, std::vector{0.5, 0.25});
  model.spin_pairs.add(0, 1, 0.5);
  const auto message = [&] {
    try {
      compile(model);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(), "");
  const auto expect_fault = [&](auto break_it, const std::string& words) {
    const Model whole = model;
    break_it();
    EXPECT_NE(message().find(words), std::string::npos) << message();
    model = whole;
  };
  expect_fault([&] { model.spin_pairs.couplings[0] = HUGE_VAL; }, "not finite");
  expect_fault([&] { model.spin_pairs.second[0] = 4; }, "names variable 4");
  expect_fault([&] { model.spin_pairs.second[0] = 0; }, "with itself");
  expect_fault([&] { model.unaries.log_values[1] = std::nan(""); }, "not a number");
  expect_fault([&] { model.unaries.variables[0] = 4; }, "names variable 4");
  expect_fault([&] { model.unaries.log_values = {log_zero, log_zero}; }, "zero everywhere");
}

TEST(Compile, EvidenceSlicesFactors) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions options;
    options.max_states = 2 + seed % 3;
    options.max_arity = 3;
    const Model model = testing::random_model(seed, options);
    Evidence evidence;
    evidence.add(seed % 6, 1);
    evidence.add((seed + 2) % 6, 0);
    expect_same_scores(model, evidence);
    EXPECT_EQ(compile(model, evidence).size(), 4U);
  }
}

TEST(Compile, RecognisesPositiveTwoByTwoTablesAsSpinPairs) {
  Model model;
  model.cardinalities = {2, 2};
  const VariableId scope[2] = {1, 0};
  const double values[4] = {0.3, -1.2, 2.0, 0.7};
  model.tables.add(scope, values);
  const Graph graph = compile(model);
  EXPECT_TRUE(graph.is_spin());
  EXPECT_EQ(graph.tables.size(), 0U);
  expect_same_scores(model, {});
}

TEST(Compile, RecognisesPottsTables) {
  Model model;
  model.cardinalities = {3, 3};
  const VariableId scope[2] = {0, 1};
  const double a = 0.5, b = -0.25;
  const double values[9] = {a, b, b, b, a, b, b, b, a};
  model.tables.add(scope, values);
  const Graph graph = compile(model);
  EXPECT_EQ(graph.potts_pairs.size(), 1U);
  EXPECT_DOUBLE_EQ(graph.potts_pairs.couplings[0], 0.75);
  expect_same_scores(model, {});
}

TEST(Compile, DenseLayerIsTheSumOfItsProducts) {
  Model model;
  model.cardinalities.assign(5, 2);
  model.dense_layers.push_back({0, 2, 2, 3, {0.5, -1, 2, 0.25, 0, -3}});
  expect_same_scores(model, {});
  Evidence evidence;
  evidence.add(1, 1);
  evidence.add(3, 0);
  expect_same_scores(model, evidence);
}

std::string message_of(const Model& model, const Evidence& evidence = {}) {
  try {
    compile(model, evidence);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    return error.what();
  }
  return "";
}

TEST(Compile, NamesWhatIsImpossible) {
  Model model;
  model.cardinalities = {2, 2};
  model.variable_names = {"rain", "grass"};
  const VariableId scope[2] = {0, 1};
  const double diagonal[4] = {0, log_zero, log_zero, 0};
  model.tables.add(scope, diagonal);
  Evidence clash;
  clash.add(0, 0);
  clash.add(1, 1);
  EXPECT_NE(message_of(model, clash).find("factor over (rain, grass)"), std::string::npos);
  Evidence twice;
  twice.add(0, 0);
  twice.add(0, 1);
  EXPECT_NE(message_of(model, twice).find("contradictory evidence: variable rain"), std::string::npos);
  const double nothing[4] = {log_zero, log_zero, log_zero, log_zero};
  model.tables.add(scope, nothing);
  EXPECT_NE(message_of(model).find("zero everywhere"), std::string::npos);
}

TEST(Compile, RefusesScopesAndValuesOutOfRange) {
  Model model;
  model.cardinalities = {2, 2};
  const VariableId beyond[2] = {0, 7};
  const double values[4] = {0, 0, 0, 1};
  model.tables.add(beyond, values);
  EXPECT_NE(message_of(model).find("variable 7"), std::string::npos);
  Model repeated;
  repeated.cardinalities = {2, 2};
  const VariableId same[2] = {1, 1};
  repeated.tables.add(same, values);
  EXPECT_NE(message_of(repeated).find("twice"), std::string::npos);
}

// Every factor is stated several times, in its own words: as it is, turned round, as a table beside a pair.
TEST(Compile, MergesFactorsOfOneScope) {
  RandomSequence random(3, Stream::generate);
  for (int round = 0; round < 50; ++round) {
    Model model;
    model.cardinalities = {2, 2, 3, 3, 2};
    const auto table = [&](std::vector<VariableId> scope, bool zeros) {
      std::size_t entries = 1;
      for (VariableId v : scope) entries *= model.cardinalities[v];
      std::vector<double> values(entries);
      for (std::size_t e = 0; e < entries; ++e)
        values[e] = zeros && e > 0 && random.below(4) == 0 ? log_zero : random.normal();
      model.tables.add(scope, values);
    };
    for (int repeat = 0; repeat < 3; ++repeat) {
      model.spin_pairs.add(0, 1, random.normal());
      model.spin_pairs.add(4, 1, random.normal());
      model.spin_pairs.add(1, 0, random.normal());
      model.potts_pairs.add(2, 3, random.normal());
      model.potts_pairs.add(3, 2, random.normal());
      table({0, 2}, true);
      table({2, 0}, true);
      table({0, 4}, repeat == 1);
      model.spin_pairs.add(4, 0, random.normal());
      table({1, 2, 3}, true);
      table({3, 1, 2}, true);
      if (round % 2) table({3, 2}, true);
    }
    expect_same_scores(model, {});
    const Graph graph = compile(model);
    EXPECT_EQ(graph.pair_count() + graph.tables.size(), 6U);
    Evidence evidence;  // and after slicing
    evidence.variables = {3};
    evidence.values = {0};
    expect_same_scores(model, evidence);
    const Graph sliced = compile(model, evidence);
    EXPECT_EQ(sliced.pair_count() + sliced.tables.size(), 5U);
  }
}

TEST(Compile, AModelWithoutRepetitionsKeepsItsOrder) {
  Model model;
  model.cardinalities = {2, 2, 2, 2};
  model.spin_pairs.add(2, 3, 1);
  model.spin_pairs.add(0, 3, 2);
  model.spin_pairs.add(0, 1, 3);
  const Graph graph = compile(model);
  EXPECT_EQ(graph.spin_pairs.couplings, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(graph.spin_pairs.first, (std::vector<VariableId>{2, 0, 0}));
}

TEST(Compile, FactorsOfOneScopeThatContradictEachOther) {
  Model model;
  model.cardinalities = {2, 2};
  const VariableId scope[2] = {0, 1}, turned[2] = {1, 0};
  const double equal[4] = {0, log_zero, log_zero, 0}, different[4] = {log_zero, 0, 0, log_zero};
  model.tables.add(scope, equal);
  model.tables.add(turned, different);
  EXPECT_NE(message_of(model).find("impossible"), std::string::npos);
}

}  // namespace
}  // namespace drover
