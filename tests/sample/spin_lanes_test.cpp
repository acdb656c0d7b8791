#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"

#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

using testing::random_spin_graph;
static_assert(Kernel<GibbsSpinLanes>);

// All pairs: seven neighbours, so that more than one group of four is used.
Graph complete_graph(std::uint64_t seed, double scale) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(8, 2);
  for (VariableId i = 0; i < 8; ++i)
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(i, j, scale * random.normal());
  return compile(model);
}

TEST(GibbsSpinLanes, LeavesDenseGraphs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = complete_graph(seed, 0.2);
    const GibbsSpinLanes kernel(spin_graph(graph));
    testing::expect_leaves_distribution(kernel, graph, seed, 16384);
    testing::expect_conditionals(kernel, graph, seed);
    testing::expect_scores(kernel, graph, seed);
  }
}

TEST(GibbsSpinLanes, EveryLaneHasItsOwnTemperature) {
  // One variable: lane l is 1 with probability 1 / (1 + exp(-beta_l f)).
  Model model;
  model.cardinalities = {2};
  const double values[2] = {0, 1.5};
  model.unaries.add(0, values);
  const GibbsSpinLanes kernel(spin_graph(compile(model)));
  auto state = kernel.start(3, 0);
  std::vector<float> beta(64), sums(64, 0.0f);
  for (std::size_t lane = 0; lane < 64; ++lane) beta[lane] = 0.05f * static_cast<float>(lane);
  kernel.set_inverse_temperatures(state, beta);
  kernel.sweep(state, 0, ConditionalSums{sums});
  for (std::size_t lane = 0; lane < 64; ++lane)
    EXPECT_NEAR(sums[lane], 1 / (1 + std::exp(-1.5 * beta[lane])), 1e-6) << lane;
}

TEST(GibbsSpinLanes, ScoresOfALargeGrid) {
  const Graph graph = compile(testing::random_grid(150, 130, false, 5));
  testing::expect_scores(GibbsSpinLanes(spin_graph(graph)), graph, 1, 1e-6);
}

TEST(GibbsSpinLanes, EveryInstructionSetSamplesTheSameModel) {
  testing::for_each_target([] {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const Graph graph = seed % 2 ? random_spin_graph(seed) : complete_graph(seed, 0.3);
      const GibbsSpinLanes kernel(spin_graph(graph));
      testing::expect_leaves_distribution(kernel, graph, seed);
      testing::expect_conditionals(kernel, graph, seed, 1024);
      testing::expect_scores(kernel, graph, seed);
      testing::expect_leaves_distribution(testing::Tempered(kernel, 0.5f), testing::tempered(graph, 0.5),
                                          seed);
    }
  });
}

// Fields far beyond the range of exp neither overflow nor let the impossible happen.
TEST(GibbsSpinLanes, HugeFieldsSaturate) {
  testing::for_each_target([] {
    for (double sign : {-1.0, 1.0}) {
      Model model;
      model.cardinalities.assign(7, 2);
      const double values[2] = {0, sign * 1e5};
      model.unaries.add(0, values);
      for (VariableId i = 1; i < 7; ++i) model.spin_pairs.add(0, i, 1e3);
      const Graph graph = compile(model);
      const GibbsSpinLanes kernel(spin_graph(graph));
      for (float beta : {1.0f, 3.0f}) {
        auto state = testing::Tempered(kernel, beta).start(1, 0);
        std::vector<float> sums(7 * 64, 0.0f);
        for (std::uint64_t sweep = 0; sweep < 10; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
        std::vector<Value> x(7);
        for (std::uint32_t lane = 0; lane < 64; ++lane) {
          kernel.read(state, lane, x);
          EXPECT_EQ(x, std::vector<Value>(7, sign > 0));
        }
        for (float sum : sums) ASSERT_NEAR(sum, sign > 0 ? 10 : 0, 1e-6);
      }
    }
  });
}

// Rates of rare values keep their ratio on both sides: fields of +-14 make them 8e-7.
TEST(GibbsSpinLanes, SmallProbabilitiesAreRight) {
  for (double field : {-14.0, 14.0}) {
    for (float beta : {1.0f, 0.5f}) {
      Model model;
      const std::size_t size = 4096;
      model.cardinalities.assign(size, 2);
      const double values[2] = {0, field / beta};
      for (VariableId i = 0; i < size; ++i) model.unaries.add(i, values);
      const GibbsSpinLanes kernel(spin_graph(compile(model)));
      auto state = testing::Tempered(kernel, beta).start(7, 0);
      double rare = 0;
      const std::uint64_t sweeps = 400;
      for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
        kernel.sweep(state, sweep);
        for (std::uint64_t word : state.words) rare += std::popcount(field > 0 ? ~word : word);
      }
      const double expected = static_cast<double>(sweeps * size * 64) / (1 + std::exp(14.0));
      EXPECT_NEAR(rare, expected, 5 * std::sqrt(expected)) << "field " << field << " beta " << beta;
    }
  }
}

}  // namespace
}  // namespace drover
