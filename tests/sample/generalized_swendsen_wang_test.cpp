#include "drover/sample/dual/generalized_swendsen_wang.hpp"

#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

using testing::varied_graph;
static_assert(Kernel<GeneralizedSwendsenWang>);

TEST(GeneralizedSwendsenWang, LeavesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = varied_graph(seed, 0);
    const GeneralizedSwendsenWang kernel(graph);
    testing::expect_leaves_distribution(kernel, graph, seed, 4096);
    testing::expect_scores(kernel, graph, seed);
  }
}

TEST(GeneralizedSwendsenWang, ReachesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    testing::RandomModelOptions options;
    options.variables = 4;
    options.max_states = 2 + static_cast<std::uint32_t>(seed % 2);
    options.max_arity = 3;
    options.factors = 5;
    options.scale = 0.6;
    const Graph graph = compile(testing::random_model(seed, options));
    testing::expect_reaches_distribution(GeneralizedSwendsenWang(graph), graph, seed, 1024, 200);
  }
}

// Without fields every cluster is free: the joint distribution of the spins must still be reached.
TEST(GeneralizedSwendsenWang, ReachesIsingModelsWithoutFields) {
  for (double coupling : {0.4, -0.4}) {
    Model model;
    model.cardinalities.assign(5, 2);
    for (VariableId i = 0; i < 5; ++i) model.spin_pairs.add(i, (i + 1) % 5, coupling);
    const Graph graph = compile(model);
    testing::expect_reaches_distribution(GeneralizedSwendsenWang(graph), graph, 3, 4096, 60);
  }
}

TEST(GeneralizedSwendsenWang, ConditionalsAverageToTheMarginals) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = varied_graph(seed, 0);
    testing::expect_conditionals(GeneralizedSwendsenWang(graph), graph, seed, 2048);
  }
}

TEST(GeneralizedSwendsenWang, LeavesTheDistributionAtOtherTemperatures) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = varied_graph(seed, 0);
    testing::expect_tempered(GeneralizedSwendsenWang(graph), graph, seed,
                             0.3F * static_cast<float>(1 + seed % 5), 2048);
  }
}

}  // namespace
}  // namespace drover
