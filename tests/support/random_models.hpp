// Random small models for tests: every kind of factor, with or without zeros, always possible.
#pragma once

#include <cmath>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/model/model.hpp"

namespace drover::testing {

struct RandomModelOptions {
  std::uint32_t variables = 6;
  std::uint32_t max_states = 2;  ///< cardinalities are drawn from 2 .. max_states
  std::uint32_t max_arity = 2;   ///< of tables
  std::uint32_t factors = 8;
  double scale = 1.0;       ///< standard deviation of log entries
  double zero_share = 0.0;  ///< probability that a table entry is a hard zero
  bool spin_pairs = true;   ///< mix in spin and Potts pairs where they fit
};

/// A model whose support is never empty: one hidden assignment keeps a positive entry in every table.
inline Model random_model(std::uint64_t seed, const RandomModelOptions& options) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  std::vector<Value> possible;
  for (std::uint32_t v = 0; v < options.variables; ++v) {
    model.cardinalities.push_back(2 + random.below(options.max_states - 1));
    possible.push_back(static_cast<Value>(random.below(model.cardinalities.back())));
  }
  for (std::uint32_t v = 0; v < options.variables; ++v) {
    std::vector<double> values(model.cardinalities[v]);
    for (double& value : values) value = options.scale * random.normal();
    model.unaries.add(v, values);
  }
  for (std::uint32_t f = 0; f < options.factors; ++f) {
    std::vector<VariableId> scope;
    const std::uint32_t arity = std::min(options.variables, 2 + random.below(options.max_arity - 1));
    while (scope.size() < arity) {
      const VariableId v = random.below(options.variables);
      bool seen = false;
      for (VariableId u : scope) seen |= u == v;
      if (!seen) scope.push_back(v);
    }
    const bool pair = options.spin_pairs && arity == 2 && random.below(2) == 0;
    if (pair && model.cardinalities[scope[0]] == 2 && model.cardinalities[scope[1]] == 2) {
      model.spin_pairs.add(scope[0], scope[1], options.scale * random.normal() / 2);
      continue;
    }
    if (pair && model.cardinalities[scope[0]] == model.cardinalities[scope[1]]) {
      model.potts_pairs.add(scope[0], scope[1], options.scale * random.normal());
      continue;
    }
    std::size_t entries = 1, kept = 0;
    for (VariableId v : scope) {
      entries *= model.cardinalities[v];
      kept = kept * model.cardinalities[v] + possible[v];
    }
    std::vector<double> values(entries);
    for (std::size_t e = 0; e < entries; ++e) {
      const double value = options.scale * random.normal();
      values[e] = e != kept && random.uniform() < options.zero_share ? log_zero : value;
    }
    model.tables.add(scope, values);
  }
  return model;
}

}  // namespace drover::testing
