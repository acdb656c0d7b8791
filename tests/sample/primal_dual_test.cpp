#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

using testing::random_spin_graph;
static_assert(Kernel<PrimalDualLanes>);
static_assert(Kernel<PrimalDualChain>);

// All pairs: more than four duals per variable.
Graph seven_spins(std::uint64_t seed, double scale) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(7, 2);
  for (VariableId i = 0; i < 7; ++i)
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(i, j, scale * random.normal());
  return compile(model);
}

// Strong couplings and fields beyond the range of products of odds.
TEST(PrimalDualLanes, LeavesStronglyCoupledModels) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = seven_spins(seed, 8);
    const PrimalDualLanes kernel(spin_graph(graph));
    testing::expect_leaves_distribution(kernel, graph, seed);
    testing::expect_conditionals(kernel, graph, seed, 1024);
  }
}

TEST(PrimalDualLanes, EveryInstructionSetSamplesTheSameModel) {
  testing::for_each_target([] {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Graph graph = seed % 2 == 0 ? seven_spins(seed, 0.3) : random_spin_graph(seed);
      const PrimalDualLanes kernel(spin_graph(graph));
      testing::expect_leaves_distribution(kernel, graph, seed, 2048);
      testing::expect_conditionals(kernel, graph, seed, 1024);
      testing::expect_scores(kernel, graph, seed);
    }
  });
}

// A pair whose dual has noise 4e-6: the spins part at the right, small rate. Two bytes tie often at such
// thresholds.
TEST(PrimalDualLanes, SmallProbabilitiesAreRight) {
  const double coupling = 2.8;
  Model model;
  const std::uint32_t pairs = 4096;
  model.cardinalities.assign(2 * pairs, 2);
  for (VariableId p = 0; p < pairs; ++p) model.spin_pairs.add(2 * p, 2 * p + 1, coupling);
  const PrimalDualLanes kernel(spin_graph(compile(model)));
  auto state = kernel.start(5, 0);
  for (std::uint32_t lane = 0; lane < 64; ++lane) kernel.write(state, lane, std::vector<Value>(2 * pairs, 0));
  // From equal spins, one sweep: t differs from them with probability noise, and each spin follows t up to
  // odds exp(-strength).
  const SpinDual dual = dual_of_coupling(coupling);
  const double miss = 1 / (1 + std::exp(dual.strength));
  const double expected_rate = (1 - dual.noise) * miss + dual.noise * (1 - miss);
  double ones = 0;
  const std::uint64_t sweeps = 200;
  for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
    std::fill(state.words.begin(), state.words.end(), 0);
    kernel.sweep(state, sweep);
    for (std::uint64_t word : state.words) ones += std::popcount(word);
  }
  const double expected = expected_rate * static_cast<double>(sweeps) * 128 * pairs;
  EXPECT_NEAR(ones, expected, 6 * std::sqrt(expected));
}

// Many copies of one grid fill whole units of 64: the copies' states are draws from the exact distribution.
TEST(PrimalDualChain, FullUnitsLeaveTheDistribution) {
  const Model one = testing::random_grid(3, 2, false, 11);
  const Graph small = compile(one);
  const std::uint32_t copies = 6000;
  Model many;
  many.cardinalities.assign(std::size_t{copies} * 6, 2);
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (std::size_t f = 0; f < one.unaries.size(); ++f)
      many.unaries.add(one.unaries.variables[f] * copies + copy, one.unaries.values(f));
    for (std::size_t f = 0; f < one.spin_pairs.size(); ++f)
      many.spin_pairs.add(one.spin_pairs.first[f] * copies + copy, one.spin_pairs.second[f] * copies + copy,
                          one.spin_pairs.couplings[f]);
  }
  const PrimalDualChain kernel(spin_graph(compile(many)));
  auto state = kernel.start(3, 0);
  for (std::uint64_t sweep = 0; sweep < 300; ++sweep) kernel.sweep(state, sweep);
  std::vector<Value> x(kernel.size()), own(6);
  kernel.read(state, 0, x);
  const Enumeration exact = enumerate(small);
  std::vector<double> counts(exact.probabilities.size(), 0.0);
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (VariableId v = 0; v < 6; ++v) own[v] = x[v * copies + copy];
    ++counts[testing::state_index(small, own)];
  }
  EXPECT_LT(testing::chi_square_score(counts, exact.probabilities), testing::chi_square_limit);
}

}  // namespace
}  // namespace drover
