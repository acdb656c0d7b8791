// Kernels that add up means add up those of the conditionals they add up; and a variable of many states,
// which keeps its visits instead of weights, is herded to the same bits.
#include "drover/sample/value_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/random.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/herded/herded_gibbs_plan.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"

namespace drover {
namespace {

/// A grid of variables that like to be near one another.
Graph grid(std::uint32_t side, std::uint32_t states, double slope, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{side} * side, states);
  std::vector<double> unary(states), table;
  for (VariableId v = 0; v < side * side; ++v) {
    for (double& value : unary) value = random.normal();
    model.unaries.add(v, unary);
  }
  for (std::uint32_t a = 0; a < states; ++a)
    for (std::uint32_t b = 0; b < states; ++b)
      table.push_back(-std::min(slope * std::abs(static_cast<double>(a) - static_cast<double>(b)), 4.0));
  const std::uint32_t shared = model.tables.add_table(table);
  for (VariableId v = 0; v < side * side; ++v) {
    if (v % side + 1 < side) model.tables.add_factor(std::vector<VariableId>{v, v + 1}, shared);
    if (v + side < side * side) model.tables.add_factor(std::vector<VariableId>{v, v + side}, shared);
  }
  return compile(model);
}

template <class K>
void expect_means_of_conditionals(const K& kernel, const Graph& graph) {
  const std::uint32_t states = graph.cardinalities[0];
  std::vector<float> values;
  for (std::uint32_t k = 0; k < states; ++k) values.push_back(0.3F * static_cast<float>(k) - 1);
  auto a = kernel.start(3, 0), b = a;
  std::vector<float> sums(kernel.entry_count()), means(kernel.size());
  constexpr std::uint64_t sweeps = 20;
  for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
    kernel.sweep(a, sweep, ConditionalSums{sums});
    kernel.sweep(b, sweep, ValueSums{means, values});
  }
  EXPECT_EQ(a.values, b.values) << "what is added up does not change the chain";
  for (std::size_t v = 0; v < graph.size(); ++v) {
    double expected = 0;
    if (states == 2) expected = static_cast<double>(sweeps) * values[0] + sums[v] * (values[1] - values[0]);
    for (std::uint32_t k = 0; states > 2 && k < states; ++k) expected += sums[v * states + k] * values[k];
    // Every product and sum is rounded to float, of numbers whose magnitudes sum to at most this.
    const double magnitude = static_cast<double>(sweeps) * (0.3 * states + 1);
    EXPECT_NEAR(means[v], expected, 4 * (sweeps + states) * 0x1p-24 * magnitude);
  }
}

TEST(ValueSums, AreMeansOfConditionals) {
  for (std::uint32_t states : {2U, 3U, 7U, 8U, 40U, 150U}) {
    const Graph graph = grid(6, states, 0.3, states);
    for (Scan scan : {Scan::fixed, Scan::random})
      expect_means_of_conditionals(GibbsTableChain(graph, {scan, {}}), graph);
    expect_means_of_conditionals(HerdedGibbsVisited(graph, HerdedKey::bins, 16), graph);
    expect_means_of_conditionals(HerdedGibbsVisited(graph, HerdedKey::configuration), graph);
  }
}

HerdedOptions with_visits_from(std::uint32_t states) {
  HerdedOptions options;
  options.visits_from_states = states;
  return options;
}

TEST(HerdedVisits, AreAsGoodAsWeights) {
  constexpr std::uint32_t never = ~0U;
  std::size_t fewer_rows = 0;
  for (std::uint32_t states : {3U, 5U, 20U, 40U, 300U})
    for (HerdedKey key : {HerdedKey::configuration, HerdedKey::conditional, HerdedKey::bins}) {
      const Graph graph = grid(3, states, states < 10 ? 1.0 : 0.4, states);
      const HerdedGibbsVisited visits(graph, key, 4, with_visits_from(3));
      const HerdedGibbsVisited weights(graph, key, 4, with_visits_from(never));
      auto a = visits.start(9, 0), b = weights.start(9, 0);
      std::vector<Value> x(graph.size()), y(graph.size());
      // More sweeps than a variable keeps visits, and a change of temperature on the way.
      const std::uint64_t sweeps = states < 100 ? 600 : 100;
      for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
        if (sweep == 50) {
          fewer_rows += HerdedGibbsVisited::rows(a) < HerdedGibbsVisited::rows(b);
          const float beta = 0.7F;
          visits.set_inverse_temperatures(a, std::span(&beta, 1));
          weights.set_inverse_temperatures(b, std::span(&beta, 1));
          EXPECT_EQ(HerdedGibbsVisited::rows(a), HerdedGibbsVisited::rows(b)) << "every key has its weights";
        }
        visits.sweep(a, sweep);
        weights.sweep(b, sweep);
        visits.read(a, 0, x);
        weights.read(b, 0, y);
        ASSERT_EQ(x, y) << states << " states, sweep " << sweep;
      }
    }
  EXPECT_EQ(fewer_rows, 15U);
}

TEST(HerdedVisits, TakeLessMemoryThanThePlanSays) {
  for (std::uint32_t states : {20U, 64U, 256U})
    for (std::uint64_t sweeps : {30U, 400U}) {
      const Graph graph = grid(4, states, 16.0 / states, 1);
      const HerdedGibbsVisited kernel(graph, HerdedKey::bins, 64);
      const HerdedGibbsVisited weights(graph, HerdedKey::bins, 64, with_visits_from(~0U));
      auto state = kernel.start(1, 0), weights_only = weights.start(1, 0);
      for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
        kernel.sweep(state, sweep);
        weights.sweep(weights_only, sweep);
      }
      const auto bytes = static_cast<double>(HerdedGibbsVisited::state_bytes(state));
      EXPECT_LE(bytes, herded_plan(graph, HerdedShare::bins, 64, 1, sweeps).bytes);
      EXPECT_LE(bytes, static_cast<double>(HerdedGibbsVisited::state_bytes(weights_only)));
    }
}

}  // namespace
}  // namespace drover
