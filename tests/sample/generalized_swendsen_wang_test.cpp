#include "drover/sample/dual/generalized_swendsen_wang.hpp"

#include "tests/support/kernel_test.hpp"

namespace drover {
namespace {

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

}  // namespace
}  // namespace drover
