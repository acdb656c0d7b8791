#include "drover/infer/recombine.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "drover/core/random.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

std::vector<Value> random_parent(const Graph& graph, RandomSequence& random) {
  std::vector<Value> x;
  for (std::uint32_t states : graph.cardinalities) x.push_back(static_cast<Value>(random.below(states)));
  return x;
}

// The components of the variables in which x and y differ, by the graph's adjacency.
std::vector<std::vector<VariableId>> components(const Graph& graph, std::span<const Value> x,
                                                std::span<const Value> y) {
  const Adjacency neighbours = adjacency(graph);
  std::vector<bool> seen(graph.size(), false);
  std::vector<std::vector<VariableId>> found;
  for (VariableId first = 0; first < graph.size(); ++first) {
    if (x[first] == y[first] || seen[first]) continue;
    std::vector<VariableId> component{first};
    seen[first] = true;
    for (std::size_t k = 0; k < component.size(); ++k)
      for (VariableId u : neighbours.of(component[k]))
        if (x[u] != y[u] && !seen[u]) {
          seen[u] = true;
          component.push_back(u);
        }
    found.push_back(component);
  }
  return found;
}

// Against every choice of components, by the score of whole states.
TEST(Recombination, IsTheBestChoiceOfComponents) {
  std::size_t several = 0;
  Recombination::Room room;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const bool zeros = seed % 4 == 3;
    const Graph graph = compile(testing::random_model(seed, {.variables = 10,
                                                             .max_states = seed % 2 ? 4U : 2U,
                                                             .max_arity = 3,
                                                             .factors = 7,
                                                             .zero_share = zeros ? 0.15 : 0.0}));
    RandomSequence random(seed, Stream::start);
    std::vector<Value> x = random_parent(graph, random), y = random_parent(graph, random);
    if (zeros) {  // states of the support, so that scores can be compared
      const IteratedModes modes(graph);
      modes.climb(x);
      modes.climb(y);
    }
    const auto parts = components(graph, x, y);
    several += parts.size() > 1;
    double best = log_zero;
    for (std::uint32_t choice = 0; choice < 1U << parts.size(); ++choice) {
      std::vector<Value> z = x;
      for (std::size_t c = 0; c < parts.size(); ++c)
        if (choice >> c & 1)
          for (VariableId v : parts[c]) z[v] = y[v];
      best = std::max(best, log_score(graph, z));
    }
    std::vector<Value> made = x;
    const Recombination::Outcome outcome = Recombination(graph).improve(made, y, room);
    EXPECT_EQ(outcome.components, parts.size());
    if (best == log_zero) continue;
    EXPECT_NEAR(log_score(graph, made), best, 1e-9) << "seed " << seed;
    if (log_score(graph, x) != log_zero) {
      EXPECT_NEAR(log_score(graph, x) + outcome.gain, best, 1e-9) << "seed " << seed;
    }
  }
  EXPECT_GT(several, 100U);
}

// Fewer hard zeros are better than any finite gain.
TEST(Recombination, LeadsIntoTheSupport) {
  Model model;
  model.cardinalities.assign(2, 2);
  const VariableId scope[2] = {0, 1};
  const double values[4] = {log_zero, 0, 0, -5};
  model.tables.add(scope, values);
  const Graph graph = compile(model);
  const Recombination recombination(graph);
  Recombination::Room room;
  std::vector<Value> x{0, 0};
  const std::vector<Value> y{1, 1};
  EXPECT_EQ(recombination.improve(x, y, room).taken, 1U);
  EXPECT_EQ(x, y);
  const std::vector<Value> impossible{0, 0};
  EXPECT_EQ(recombination.improve(x, impossible, room).taken, 0U);
  EXPECT_EQ(x, y);
}

// Equal parts come from the second state: a search moves along plateaus.
TEST(Recombination, TakesEqualParts) {
  Model model;
  model.cardinalities.assign(3, 2);
  model.spin_pairs.add(0, 1, 1);
  const Graph graph = compile(model);
  Recombination::Room room;
  std::vector<Value> x{0, 0, 0};
  const std::vector<Value> y{1, 1, 1};
  const auto outcome = Recombination(graph).improve(x, y, room);
  EXPECT_EQ(outcome.components, 2U);
  EXPECT_EQ(outcome.taken, 2U);
  EXPECT_EQ(outcome.gain, 0);
  EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace drover
