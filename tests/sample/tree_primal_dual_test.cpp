#include "drover/sample/dual/tree_primal_dual.hpp"

#include "drover/compile/connectivity.hpp"
#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

static_assert(Kernel<TreePrimalDual>);

constexpr ForestChoice choices[] = {ForestChoice::none, ForestChoice::heaviest, ForestChoice::redrawn};

TEST(TreePrimalDual, LeavesTheDistributionWithHardZeros) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 4;
    options.max_states = 2 + static_cast<std::uint32_t>(seed % 3);
    options.max_arity = 2 + static_cast<std::uint32_t>(seed / 3 % 2);
    options.factors = 4;
    options.scale = 0.8;
    options.zero_share = 0.15;
    const Graph graph = compile(testing::random_model(seed, options));
    const TreePrimalDual kernel(graph, choices[seed / 6 % 3], testing::support_of(graph));
    testing::expect_leaves_distribution(kernel, graph, seed, 2048);
  }
}

TEST(TreePrimalDual, ReachesTheDistribution) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 60 && tried < 14; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 4;
    options.max_states = 2 + static_cast<std::uint32_t>(seed % 2);
    options.max_arity = 2 + static_cast<std::uint32_t>(seed / 2 % 2);
    options.factors = 4;
    options.scale = 0.5;
    options.zero_share = seed % 4 == 3 ? 0.15 : 0;
    const Graph graph = compile(testing::random_model(seed, options));
    if (analyse_connectivity(graph).connectivity == Connectivity::broken) continue;
    ++tried;
    testing::expect_reaches_distribution(TreePrimalDual(graph, choices[seed % 3], testing::support_of(graph)),
                                         graph, seed, 1024, 120);
  }
}

// On a tree nothing is dualised: draws are independent, and the conditionals are the marginals themselves.
TEST(TreePrimalDual, OnATreeEverySweepIsExact) {
  RandomSequence random(8, Stream::generate);
  Model model;
  model.cardinalities = {2, 3, 3, 2, 4, 2};
  const VariableId parents[6] = {0, 0, 1, 1, 0, 4};
  for (VariableId v = 0; v < 6; ++v) {
    std::vector<double> values(model.cardinalities[v]);
    for (double& value : values) value = random.normal();
    model.unaries.add(v, values);
    if (v == 0) continue;
    values.resize(std::size_t{model.cardinalities[v]} * model.cardinalities[parents[v]]);
    for (double& value : values) value = 2 * random.normal();
    const VariableId scope[2] = {parents[v], v};
    model.tables.add(scope, values);
  }
  const Graph graph = compile(model);
  const Enumeration exact = enumerate(graph);
  const TreePrimalDual kernel(graph, ForestChoice::heaviest);
  EXPECT_EQ(kernel.forest_links(), 5U);
  testing::expect_reaches_distribution(kernel, graph, 1, 8192, 1);
  auto state = kernel.start(1, 0);
  std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
  kernel.sweep(state, 0, ConditionalSums{sums});
  const auto offsets = conditional_offsets(graph);
  for (VariableId v = 0; v < 6; ++v)
    for (std::size_t e = offsets[v]; e < offsets[v + 1]; ++e)
      EXPECT_NEAR(sums[e * kernel.lanes()],
                  exact.marginals[v][graph.cardinalities[v] == 2 ? 1 : e - offsets[v]], 1e-6);
}

// What repulsion leaves over of a state that is all but certain is far below the rounding of that state.
TEST(TreePrimalDual, StrongRepulsionAgainstStrongFieldsIsExactOnATree) {
  RandomSequence random(9, Stream::generate);
  for (double strength : {20.0, 40.0, 60.0, 100.0}) {
    Model model;
    model.cardinalities.assign(2, 3);
    for (VariableId v = 0; v < 2; ++v) {
      // All want the same state, more than they want to differ.
      const double values[3] = {random.normal(), 1.5 * strength + random.normal(), random.normal()};
      model.unaries.add(v, values);
      if (v > 0) model.potts_pairs.add(v - 1, v, -strength);
    }
    const Graph graph = compile(model);
    const Enumeration exact = enumerate(graph);
    const TreePrimalDual kernel(graph, ForestChoice::heaviest);
    auto state = kernel.start(1, 0);
    std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
    kernel.sweep(state, 0, ConditionalSums{sums});
    for (VariableId v = 0; v < 2; ++v)
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_NEAR(sums[(3 * v + k) * kernel.lanes()], exact.marginals[v][k], 1e-6) << strength;
  }
}

// Messages of strong pairs, and strong fields against them, stay in range.
TEST(TreePrimalDual, StrongPairsStayInRange) {
  Model model;
  model.cardinalities.assign(30, 2);
  const double up[2] = {-300, 300}, down[2] = {290, -290};
  model.unaries.add(0, up);
  model.unaries.add(29, down);
  for (VariableId i = 0; i + 1 < 30; ++i) model.spin_pairs.add(i, i + 1, 100);
  for (VariableId i = 0; i + 2 < 30; ++i) model.spin_pairs.add(i, i + 2, 40);
  const Graph graph = compile(model);
  for (ForestChoice choice : choices) {
    const TreePrimalDual kernel(graph, choice);
    auto state = kernel.start(1, 0);
    std::vector<Value> x(30, 1);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) kernel.write(state, lane, x);
    std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
    for (std::uint64_t sweep = 0; sweep < 20; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
    for (float sum : sums) ASSERT_TRUE(std::isfinite(sum));
  }
}

// Couplings that are what rounding left, beside some that are none: the first do nothing.
TEST(TreePrimalDual, PairsWithoutAnEffectHaveNone) {
  Model model;
  model.cardinalities.assign(6, 2);
  for (const double sign : {1.0, -1.0})
    for (VariableId i = 0; i < 3; ++i) model.spin_pairs.add(i, (i + 1) % 3, sign * 1e-17 * (i + 1));
  for (VariableId i = 0; i < 3; ++i) model.spin_pairs.add(3 + i, 3 + (i + 1) % 3, i == 0 ? -0.8 : 0.8);
  const double values[2] = {0, 0.5};
  model.unaries.add(0, values);
  for (const bool alone : {true, false}) {
    Model other = model;
    if (alone) {
      other = Model();
      other.cardinalities.assign(3, 2);
      for (VariableId i = 0; i < 3; ++i) other.spin_pairs.add(i, (i + 1) % 3, 1e-17);
      other.unaries.add(0, values);
    }
    const Graph graph = compile(other);
    for (ForestChoice choice : choices)
      testing::expect_leaves_distribution(TreePrimalDual(graph, choice), graph, 5, 2048);
  }
}

// The strongest pairs that the method takes, one beside the other: two entries of 148 nats and one of 498. On a tree every
// sweep is exact, whatever the forest; without one the states of the mode are right from it on.
TEST(TreePrimalDual, TheStrongestEntriesStayInRange) {
  Model model;
  model.cardinalities.assign(3, 5);
  std::vector<double> first(25, 0.0), second(25, 0.0);
  first[12] = first[13] = 148;
  second[13] = 498;
  const VariableId one[2] = {0, 1}, other[2] = {0, 2};
  model.tables.add(one, first);
  model.tables.add(other, second);
  const Graph graph = compile(model);
  const Enumeration exact = enumerate(graph);
  for (ForestChoice choice : choices) {
    const TreePrimalDual kernel(graph, choice);
    auto state = kernel.start(1, 0);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) kernel.write(state, lane, exact.best);
    std::vector<float> sums(kernel.entry_count() * kernel.lanes(), 0.0F);
    for (std::uint64_t sweep = 0; sweep < 8; ++sweep) kernel.sweep(state, sweep, ConditionalSums{sums});
    for (float sum : sums) ASSERT_TRUE(std::isfinite(sum));
    std::vector<Value> x(3);
    for (std::uint32_t lane = 0; lane < kernel.lanes(); ++lane) {
      kernel.read(state, lane, x);
      EXPECT_EQ(x[0], exact.best[0]);
      EXPECT_EQ(x[2], exact.best[2]);
    }
  }
}

}  // namespace
}  // namespace drover
