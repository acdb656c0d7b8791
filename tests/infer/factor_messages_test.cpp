#include "drover/infer/factor_messages.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"

namespace drover {
namespace {

// Incoming messages with ties and hard zeros among them, as factors meet them.
std::vector<double> random_messages(std::size_t entries, RandomSequence& random) {
  std::vector<double> in(entries);
  const std::uint32_t style = random.below(4);
  for (double& value : in) {
    value = style == 0 ? 0.0 : style == 1 ? static_cast<double>(random.below(3)) - 1 : 3 * random.normal();
    if (style == 3 && random.below(3) == 0) value = log_zero;
  }
  if (style == 2 && random.below(4) == 0)
    for (double& value : in) value *= 300;
  return in;
}

// Every state of the scope in turn, from the definition.
std::vector<double> messages_by_definition(Semiring semiring, const FactorGraph& layout, double scale,
                                           const std::vector<double>& in) {
  const Graph& graph = *layout.graph;
  const auto scope = layout.scope(0);
  std::vector<std::vector<double>> terms(in.size());
  std::vector<Value> x(scope.size(), 0);
  for (bool done = false; !done;) {
    std::vector<Value> whole(graph.size(), 0);
    for (std::size_t s = 0; s < scope.size(); ++s) whole[scope[s]] = x[s];
    double theta = log_score(graph, whole) - graph.log_constant;
    for (VariableId v = 0; v < graph.size(); ++v) theta -= graph.unary_of(v)[whole[v]];
    for (std::size_t s = 0, begin = 0; s < scope.size(); begin += graph.cardinalities[scope[s]], ++s) {
      double term = theta == log_zero ? log_zero : scale * theta;
      for (std::size_t t = 0, at = 0; t < scope.size(); at += graph.cardinalities[scope[t]], ++t)
        if (t != s) term += in[at + x[t]];
      terms[begin + x[s]].push_back(term);
    }
    done = true;
    for (std::size_t s = scope.size(); s-- > 0;) {
      if (++x[s] < graph.cardinalities[scope[s]]) {
        done = false;
        break;
      }
      x[s] = 0;
    }
  }
  std::vector<double> out;
  for (const auto& list : terms)
    out.push_back(semiring == Semiring::sum ? log_sum_exp(list)
                                            : *std::max_element(list.begin(), list.end()));
  return out;
}

void expect_messages(const Model& model, FactorKind kind, RandomSequence& random) {
  const Graph graph = compile(model);
  const FactorGraph layout = factor_graph(graph);
  ASSERT_EQ(layout.factor_count(), 1U);
  ASSERT_EQ(layout.kind[0], kind);
  FactorScratch scratch;
  const std::vector<double> in = random_messages(layout.message_entries(), random);
  for (const Semiring semiring : {Semiring::sum, Semiring::maximum})
    for (const double scale : {1.0, 2.5}) {
      std::vector<double> out(in.size(), 77.0);
      factor_messages(semiring, layout, 0, scale, in.data(), out.data(), scratch);
      const std::vector<double> expected = messages_by_definition(semiring, layout, scale, in);
      for (std::size_t k = 0; k < in.size(); ++k) {
        if (expected[k] == log_zero) {
          EXPECT_EQ(out[k], log_zero);
        } else {
          EXPECT_NEAR(out[k], expected[k], 1e-11 * (1 + std::abs(expected[k])));
        }
      }
    }
}

TEST(FactorMessages, SpinPairs) {
  RandomSequence random(1, Stream::generate);
  for (int trial = 0; trial < 100; ++trial) {
    Model model;
    model.cardinalities = {2, 2};
    model.spin_pairs.add(0, 1, (trial % 5 == 0 ? 100 : 1) * random.normal());
    expect_messages(model, FactorKind::spin_pair, random);
  }
}

TEST(FactorMessages, PottsPairs) {
  RandomSequence random(2, Stream::generate);
  for (int trial = 0; trial < 200; ++trial) {
    Model model;
    const std::uint32_t states = 3 + random.below(6);
    model.cardinalities = {states, states};
    model.potts_pairs.add(0, 1, (trial % 5 == 0 ? -60 : 1) * random.normal());
    expect_messages(model, FactorKind::potts_pair, random);
  }
}

TEST(FactorMessages, TablesOfAnyArity) {
  RandomSequence random(3, Stream::generate);
  for (int trial = 0; trial < 300; ++trial) {
    Model model;
    const std::uint32_t arity = 2 + random.below(4);
    std::size_t entries = 1;
    std::vector<VariableId> scope;
    for (std::uint32_t v = 0; v < arity; ++v) {
      model.cardinalities.push_back(2 + random.below(3));
      entries *= model.cardinalities.back();
      scope.insert(scope.begin() + random.below(v + 1), v);
    }
    std::vector<double> values(entries);
    for (double& value : values) value = random.below(4) == 0 ? log_zero : random.normal();
    values[0] = log_zero;
    values.back() = 1;
    model.tables.add(scope, values);
    expect_messages(model, FactorKind::table, random);
  }
}

TEST(FactorMessages, TruncatedLinear) {
  RandomSequence random(4, Stream::generate);
  for (int trial = 0; trial < 500; ++trial) {
    Model model;
    const std::uint32_t states = 3 + random.below(12);
    model.cardinalities = {states, states};
    const double slope = 0.01 + 2 * random.uniform();
    const double limit = slope * (1.001 + 1.2 * static_cast<double>(states) * random.uniform());
    std::vector<double> values;
    for (int a = 0; a < static_cast<int>(states); ++a)
      for (int b = 0; b < static_cast<int>(states); ++b)
        values.push_back(0.3 - std::min(slope * std::abs(a - b), limit));
    const VariableId scope[2] = {0, 1};
    model.tables.add(scope, values);
    expect_messages(model, FactorKind::truncated_linear, random);
  }
}

Model gate_model(std::uint32_t variables) {
  Model model;
  model.cardinalities.assign(variables, 2);
  return model;
}

std::vector<VariableId> shuffled(std::uint32_t variables, RandomSequence& random) {
  std::vector<VariableId> scope;
  for (std::uint32_t v = 0; v < variables; ++v) scope.insert(scope.begin() + random.below(v + 1), v);
  return scope;
}

TEST(FactorMessages, OrAndAnd) {
  RandomSequence random(5, Stream::generate);
  for (int trial = 0; trial < 400; ++trial) {
    Model model = gate_model(2 + random.below(6));
    std::vector<VariableId> inputs = shuffled(static_cast<std::uint32_t>(model.variable_count()), random);
    const VariableId child = inputs.back();
    inputs.pop_back();
    if (trial % 2)
      model.gates.add_or(inputs, child);
    else
      model.gates.add_and(inputs, child);
    expect_messages(model, FactorKind::gate, random);
  }
}

TEST(FactorMessages, Counts) {
  RandomSequence random(6, Stream::generate);
  for (int trial = 0; trial < 600; ++trial) {
    const std::uint32_t variables = 2 + random.below(6);
    Model model = gate_model(variables);
    const std::uint32_t low = random.below(variables + 1);
    const std::uint32_t high = low + random.below(variables + 2 - low);
    // Limits that force every variable leave no factor behind.
    if ((low == 0 && high >= variables) || high == 0 || low == variables) continue;
    model.gates.add_count(shuffled(variables, random), low, high);
    expect_messages(model, FactorKind::gate, random);
  }
}

TEST(FactorMessages, NoisyOr) {
  RandomSequence random(7, Stream::generate);
  for (int trial = 0; trial < 400; ++trial) {
    Model model = gate_model(3 + random.below(5));
    std::vector<VariableId> inputs = shuffled(static_cast<std::uint32_t>(model.variable_count()), random);
    const auto probability = [&] {
      const std::uint32_t style = random.below(5);
      return style == 0 ? log_zero : style == 1 ? 0.0 : std::log(random.uniform());
    };
    std::vector<double> log_off(inputs.size() - (trial % 2));
    for (double& value : log_off) value = probability();
    log_off[0] = std::log(0.3);  // so that the child can be on
    const VariableId child = inputs.back();
    if (trial % 2) {
      inputs.pop_back();
      model.gates.add_noisy_or(inputs, child, log_off, probability());
    } else {
      model.gates.add_noisy_or_on(inputs, log_off, probability());
    }
    expect_messages(model, FactorKind::gate, random);
  }
}

}  // namespace
}  // namespace drover
