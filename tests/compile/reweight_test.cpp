// reweight() gives what compiling anew gives, to the last bit.
#include "drover/compile/reweight.hpp"

#include <gtest/gtest.h>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/tied_models.hpp"

namespace drover {
namespace {

void expect_equal(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.cardinalities, b.cardinalities);
  EXPECT_EQ(a.unary_offsets, b.unary_offsets);
  EXPECT_EQ(a.unary, b.unary);
  EXPECT_EQ(a.log_constant, b.log_constant);
  for (auto [x, y] : {std::pair<const Pairs*, const Pairs*>{&a.spin_pairs, &b.spin_pairs},
                      {&a.potts_pairs, &b.potts_pairs}}) {
    EXPECT_EQ(x->first, y->first);
    EXPECT_EQ(x->second, y->second);
    EXPECT_EQ(x->couplings, y->couplings);
  }
  EXPECT_EQ(a.tables.scopes, b.tables.scopes);
  EXPECT_EQ(a.tables.scope_offsets, b.tables.scope_offsets);
  EXPECT_EQ(a.tables.table_of, b.tables.table_of);
  EXPECT_EQ(a.tables.table_offsets, b.tables.table_offsets);
  EXPECT_EQ(a.tables.log_values, b.tables.log_values);
  EXPECT_EQ(a.gates.scopes, b.gates.scopes);
  EXPECT_EQ(a.model_variable, b.model_variable);
  EXPECT_EQ(a.free_variable, b.free_variable);
  EXPECT_EQ(a.clamped_value, b.clamped_value);
}

/// Other numbers in every factor.
void change(Model& model, std::uint64_t seed) {
  RandomSequence random(seed, Stream::learn);
  const auto change_all = [&](auto& values) {
    for (double& value : values)
      if (value != log_zero) value += random.normal();
  };
  change_all(model.unaries.log_values);
  change_all(model.spin_pairs.couplings);
  change_all(model.potts_pairs.couplings);
  change_all(model.tables.log_values);
  model.log_constant = random.normal();
}

TEST(Reweight, IsCompilingAnew) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    testing::RandomModelOptions options;
    options.max_states = 2 + seed % 3;
    options.max_arity = 2 + seed % 2;
    Model model = testing::random_model(seed, options);
    Evidence evidence;
    if (seed % 2 == 0) evidence.add(seed % 6, 1);
    Graph graph = compile(model, evidence);
    for (std::uint64_t step = 0; step < 3; ++step) {
      change(model, 10 * seed + step);
      reweight(graph, model);
      expect_equal(graph, compile(model, evidence));
    }
  }
}

TEST(Reweight, KeepsTies) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto [model, evidence] = testing::random_tied_model(seed, seed % 2 == 1);
    Graph graph = compile(model, evidence);
    change(model, seed);  // Potts tables become others: what is recognised may change
    reweight(graph, model);
    expect_equal(graph, compile(model, evidence));
  }
}

TEST(Reweight, KeepsGatesAndWhatEvidenceForcesThroughThem) {
  Model model;
  model.cardinalities.assign(5, 2);
  model.gates.add_or(std::vector<VariableId>{0, 1}, 2);
  model.gates.add_or(std::vector<VariableId>{2, 3}, 4);
  const double unary[2] = {0.1, -0.4};
  for (VariableId v = 0; v < 5; ++v) model.unaries.add(v, unary);
  Evidence evidence;
  evidence.add(2, 0);
  Graph graph = compile(model, evidence);
  ASSERT_EQ(graph.size(), 2U);
  change(model, 1);
  reweight(graph, model);
  expect_equal(graph, compile(model, evidence));
}

TEST(Reweight, RefusesOtherVariables) {
  Model model;
  model.cardinalities = {2, 3};
  Graph graph = compile(model);
  model.cardinalities = {3, 3};
  EXPECT_THROW(reweight(graph, model), Error);
}

TEST(Reweight, SpinGraphsOfMachines) {
  RandomSequence random(5, Stream::learn);
  for (BinaryMachine machine : {complete_machine(MachineKind::boltzmann, 9, 4), restricted_machine(12, 7)}) {
    SpinGraph graph = spin_graph(machine);
    for (int step = 0; step < 3; ++step) {
      for (float& weight : machine.weights) weight = static_cast<float>(random.normal());
      for (float& bias : machine.biases) bias = static_cast<float>(random.normal());
      reweight(graph, machine);
      const SpinGraph anew = spin_graph(machine);
      EXPECT_EQ(graph.bias, anew.bias);
      EXPECT_EQ(graph.offsets, anew.offsets);
      EXPECT_EQ(graph.neighbour, anew.neighbour);
      EXPECT_EQ(graph.weight, anew.weight);
    }
  }
}

}  // namespace
}  // namespace drover
