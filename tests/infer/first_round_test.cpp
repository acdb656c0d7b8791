#include "drover/infer/first_round.hpp"

#include <gtest/gtest.h>

#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

// A hub whose factors share nothing but the hub: of its marginal nothing is left out.
TEST(FirstRound, IsExactWhereNeighboursHaveNoOtherNeighbours) {
  int spins = 0, potts = 0, tables = 0, zeros = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomSequence random(seed, Stream::generate);
    const std::uint32_t states = seed % 3 == 0 ? 2 : 3;
    Model model;
    model.cardinalities.assign(6, states);
    const auto log_values = [&](std::size_t count, bool with_zeros) {
      std::vector<double> values(count);
      for (double& value : values)
        value = with_zeros && random.uniform() < 0.3 ? log_zero : 6 * random.uniform() - 3;
      return values;
    };
    for (VariableId v = 0; v < 6; ++v) model.unaries.add(v, log_values(states, false));
    const bool with_zeros = seed % 3 == 2;
    const VariableId near[] = {1, 2, 3};
    for (VariableId v : near)
      if (seed % 3 == 0)
        model.spin_pairs.add(v, 0, 4 * random.uniform() - 2);
      else if (seed % 3 == 1)
        model.potts_pairs.add(0, v, 4 * random.uniform() - 2);
      else
        model.tables.add(std::vector<VariableId>{v, 0}, log_values(states * states, with_zeros));
    std::vector<double> last = log_values(states * states * states, with_zeros);
    last[0] = 0;  // not all of it is impossible
    model.tables.add(std::vector<VariableId>{4, 0, 5}, last);
    const Graph graph = compile(model);
    if (graph.size() < 6) continue;
    const Enumeration exact = enumerate(graph);
    if (!std::isfinite(exact.log_z)) continue;
    spins += graph.spin_pairs.size() > 0;
    potts += graph.potts_pairs.size() > 0;
    tables += graph.tables.size() > 0;
    zeros += !graph.is_strictly_positive();
    const std::vector<double> found = first_round(graph);
    for (std::uint32_t k = 0; k < states; ++k) {
      double truth = 0;
      for (std::size_t s = 0; s < exact.probabilities.size(); ++s)
        if (testing::state_of_index(graph, s)[0] == k) truth += exact.probabilities[s];
      EXPECT_NEAR(found[graph.unary_offsets[0] + k], truth, 1e-12) << "seed " << seed;
    }
  }
  EXPECT_GT(spins, 90);
  EXPECT_GT(potts, 90);
  EXPECT_GT(tables, 90);
  EXPECT_GT(zeros, 50);
}

// Where double precision cannot hold what factors say, there is a distribution all the same.
TEST(FirstRound, GivesDistributionsWhateverTheFactors) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::RandomModelOptions options{.variables = 7, .max_states = 4, .max_arity = 4, .factors = 12};
    if (seed % 2 == 1) options.zero_share = 0.4;
    Model model = testing::random_model(seed, options);
    for (double& value : model.tables.log_values) value *= 1000;
    for (double& coupling : model.spin_pairs.couplings) coupling *= 1000;
    const Graph graph = compile(model);
    const std::vector<double> found = first_round(graph);
    for (VariableId v = 0; v < graph.size(); ++v) {
      double total = 0;
      for (std::uint32_t k = 0; k < graph.cardinalities[v]; ++k) {
        EXPECT_GE(found[graph.unary_offsets[v] + k], 0);
        total += found[graph.unary_offsets[v] + k];
      }
      EXPECT_NEAR(total, 1, 1e-12) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace drover
