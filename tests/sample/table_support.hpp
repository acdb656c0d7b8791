// What the tests of the table kernels share: random models of every shape.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover::testing {

/// Graph number `seed` of a family that runs through binary and K-ary variables, arity 2 to 4, zeros and
/// evidence.
inline Graph varied_graph(std::uint64_t seed, double zero_share) {
  RandomModelOptions options;
  options.variables = 4 + seed % 3;
  options.max_states = 2 + seed % 4;
  options.max_arity = 2 + seed / 4 % 3;
  options.factors = 5 + seed % 4;
  options.scale = 0.8;
  options.zero_share = zero_share;
  const Model model = random_model(seed, options);
  if (seed % 5 == 0) {
    const VariableId observed = seed % options.variables;
    Evidence evidence;
    evidence.add(observed, enumerate(compile(model)).best[observed]);
    return compile(model, evidence);
  }
  return compile(model);
}

/// Every state of the support, as a pool of starting states; empty for a strictly positive graph.
inline std::vector<std::vector<Value>> support_of(const Graph& graph) {
  std::vector<std::vector<Value>> states;
  if (graph.is_strictly_positive()) return states;
  const Enumeration exact = enumerate(graph);
  for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
    if (exact.probabilities[s] > 0) states.push_back(state_of_index(graph, s));
  return states;
}

}  // namespace drover::testing
