// Random small models of every kind, with what was observed, for the differential test. A question is a
// function of its number alone.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/observations.hpp"
#include "tests/support/random_models.hpp"

namespace drover::testing {

struct RandomQuestion {
  std::string kind;
  Model model;
  Observations seen;  ///< may be impossible
  bool mild = false;  ///< no log factor is large and none is a hard zero: chains mix in a few sweeps
};

inline std::size_t state_count(const Model& model) {
  std::size_t count = 1;
  for (std::uint32_t states : model.cardinalities) count *= states;
  return count;
}

/// Every variable has a table given some of the variables before it; some entries are certain.
inline Model random_network(RandomSequence& random, std::uint32_t variables, std::uint32_t max_states,
                            double certain_share) {
  Model model;
  model.kind = ModelKind::bayes;
  for (VariableId v = 0; v < variables; ++v) {
    const std::uint32_t states = 2 + random.below(max_states - 1);
    model.cardinalities.push_back(states);
    std::vector<VariableId> scope;
    std::size_t rows = 1;
    for (VariableId u = 0; u < v; ++u)
      if (scope.size() < 3 && random.below(v) < 2) {
        scope.push_back(u);
        rows *= model.cardinalities[u];
      }
    scope.push_back(v);
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<double> weights(states, 0.0);
      if (random.uniform() < certain_share)
        weights[random.below(states)] = 1;
      else
        for (double& weight : weights) weight = -std::log1p(-random.uniform());
      double sum = 0;
      for (double weight : weights) sum += weight;
      for (double weight : weights) values.push_back(std::log(weight / sum));
    }
    if (scope.size() == 1)
      model.unaries.add(v, values);
    else
      model.tables.add(scope, values);
  }
  return model;
}

/// Binary variables with fields, and gates of every kind over some of them.
inline Model random_gates(RandomSequence& random, std::uint32_t variables) {
  Model model;
  model.cardinalities.assign(variables, 2);
  for (VariableId v = 0; v < variables; ++v) {
    const std::vector<double> field = {0, random.normal()};
    model.unaries.add(v, field);
  }
  const std::uint32_t gates = 1 + random.below(3);
  for (std::uint32_t g = 0; g < gates; ++g) {
    std::vector<VariableId> all(variables);
    for (VariableId v = 0; v < variables; ++v) all[v] = v;
    for (VariableId v = variables; v-- > 1;) std::swap(all[v], all[random.below(v + 1)]);
    const std::uint32_t inputs = 1 + random.below(variables - 1);
    const VariableId child = all[inputs];
    const std::vector<VariableId> parents(all.begin(), all.begin() + inputs);
    std::vector<double> log_off;
    for (std::uint32_t k = 0; k < inputs; ++k) log_off.push_back(std::log(random.uniform()));
    switch (random.below(4)) {
      case 0:
        model.gates.add_or(parents, child);
        break;
      case 1:
        model.gates.add_and(parents, child);
        break;
      case 2:
        model.gates.add_noisy_or(parents, child, log_off, std::log(0.5 + 0.5 * random.uniform()));
        break;
      default: {
        const std::uint32_t low = random.below(inputs + 1);
        model.gates.add_count(parents, low, low + random.below(inputs + 1 - low));
      }
    }
  }
  return model;
}

/// Tables shared by several factors.
inline Model random_ties(RandomSequence& random, std::uint32_t variables, std::uint32_t states,
                         double scale) {
  Model model;
  model.cardinalities.assign(variables, states);
  std::vector<std::uint32_t> tables;
  for (int t = 0; t < 2; ++t) {
    std::vector<double> values(static_cast<std::size_t>(states) * states);
    for (double& value : values) value = scale * random.normal();
    tables.push_back(model.tables.add_table(values));
  }
  for (VariableId v = 0; v + 1 < variables; ++v) {
    const VariableId scope[] = {v, random.below(3) == 0 ? (v + 2) % variables : v + 1};
    if (scope[0] != scope[1]) model.tables.add_factor(scope, tables[random.below(2)]);
  }
  return model;
}

/// What is rare but allowed: variables of one state, variables without factors, one scope twice, in another
/// order, factors of no effect, a constant.
inline void add_oddities(RandomSequence& random, Model& model) {
  if (random.below(2) == 0) model.log_constant = 3 * random.normal();
  if (random.below(2) == 0) {
    const VariableId lonely = static_cast<VariableId>(model.cardinalities.size());
    model.cardinalities.push_back(2);
    if (random.below(2) == 0) model.unaries.add(lonely, std::vector<double>{0.5, -0.25});
  }
  if (random.below(2) == 0) {
    const VariableId single = static_cast<VariableId>(model.cardinalities.size());
    model.cardinalities.push_back(1);
    const VariableId scope[] = {single, 0};
    std::vector<double> values(model.cardinalities[0]);
    for (double& value : values) value = random.normal();
    model.tables.add(scope, values);
  }
  if (model.variable_count() >= 2 && random.below(2) == 0)
    for (int turn = 0; turn < 2; ++turn) {
      const VariableId scope[] = {turn == 0 ? 0U : 1U, turn == 0 ? 1U : 0U};
      std::vector<double> values(static_cast<std::size_t>(model.cardinalities[0]) * model.cardinalities[1]);
      for (double& value : values) value = random.below(3) == 0 ? 0.0 : 0.5 * random.normal();
      model.tables.add(scope, values);
    }
}

inline RandomQuestion random_question(std::uint64_t number) {
  RandomSequence random(number, Stream::generate, 77);
  RandomQuestion question;
  const double scales[] = {0.2, 0.5, 1, 3, 10, 40};
  const double scale = scales[random.below(6)];
  const std::uint64_t seed = 1000 + number;
  bool zeros = false;
  switch (random.below(8)) {
    case 0: {
      RandomModelOptions shape;
      shape.variables = 2 + random.below(6);
      shape.max_states = 2 + random.below(3);
      shape.max_arity = 2 + random.below(3);
      shape.factors = 1 + random.below(10);
      shape.scale = scale;
      zeros = random.below(3) == 0;
      shape.zero_share = zeros ? 0.1 + 0.4 * random.uniform() : 0;
      question.model = random_model(seed, shape);
      question.kind = "tables";
      break;
    }
    case 1: {
      const std::uint32_t n = 3 + random.below(7);
      const Edges graphs[] = {grid_edges(3, 2 + random.below(2), random.below(2) == 0), chain_edges(n),
                              tree_edges(n, seed), complete_edges(n), random_edges(n, 0.4, seed)};
      const Draw couplings[] = {Draw::normal(0, scale), Draw::sign(scale), Draw::constant(scale)};
      const Draw fields[] = {Draw::constant(0), Draw::normal(0, scale), Draw::constant(0.1)};
      question.model =
          ising(graphs[random.below(5)], couplings[random.below(3)], fields[random.below(3)], seed);
      question.kind = "spins";
      break;
    }
    case 2: {
      const std::uint32_t states = 2 + random.below(3);
      const Edges graphs[] = {grid_edges(2, 2 + random.below(2), false), chain_edges(5), complete_edges(4),
                              tree_edges(5, seed)};
      const Draw couplings[] = {Draw::normal(0, scale), Draw::sign(scale), Draw::constant(-scale)};
      const Draw fields[] = {Draw::constant(0), Draw::normal(0, 1)};
      question.model =
          potts(graphs[random.below(4)], states, couplings[random.below(3)], fields[random.below(2)], seed);
      question.kind = "potts";
      break;
    }
    case 3:
      zeros = random.below(2) == 0;
      question.model = random_network(random, 2 + random.below(6), 2 + random.below(2), zeros ? 0.3 : 0);
      question.kind = "network";
      break;
    case 4:
      zeros = true;
      question.model = random_gates(random, 3 + random.below(6));
      question.kind = "gates";
      break;
    case 5:
      question.model =
          rbm(2 + random.below(5), 1 + random.below(4), Draw::normal(0, scale), Draw::normal(0, 0.5), seed);
      question.kind = "rbm";
      break;
    case 6:
      question.model = random_ties(random, 3 + random.below(4), 2 + random.below(3), scale);
      question.kind = "ties";
      break;
    default: {
      RandomModelOptions shape;
      shape.variables = 2 + random.below(4);
      shape.max_states = 2 + random.below(2);
      shape.factors = random.below(5);
      shape.scale = scale;
      question.model = random_model(seed, shape);
      add_oddities(random, question.model);
      question.kind = "oddities";
    }
  }
  question.mild = scale <= 1 && !zeros;
  const auto n = static_cast<std::uint32_t>(question.model.variable_count());
  if (random.below(3) == 0)
    for (std::uint32_t k = 1 + random.below(2); k-- > 0;) {
      const VariableId v = random.below(n);
      bool known = false;
      for (VariableId u : question.seen.variables) known |= u == v;
      if (!known) question.seen.add(v, static_cast<Value>(random.below(question.model.cardinalities[v])));
    }
  if (random.below(4) == 0) {
    const VariableId v = random.below(n);
    std::vector<double> likelihood(question.model.cardinalities[v]);
    for (double& value : likelihood) value = 0.05 + random.uniform();
    if (random.below(3) == 0) {
      likelihood[random.below(static_cast<std::uint32_t>(likelihood.size()))] = 0;
      question.mild = false;
    }
    bool any = false;
    for (double value : likelihood) any |= value > 0;
    if (any) question.seen.add_likelihood(v, likelihood);
  }
  return question;
}

}  // namespace drover::testing
