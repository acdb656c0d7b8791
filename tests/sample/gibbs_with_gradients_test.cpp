// Gibbs with gradients against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "drover/model/builders.hpp"
#include "drover/sample/gibbs_with_gradients.hpp"
#include "tests/support/kernel_test.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsWithGradients>);

Graph random_spins(std::uint64_t seed, double coupling = 0.7) {
  const std::uint32_t n = 2 + static_cast<std::uint32_t>(seed % 7);
  const Edges edges = seed % 3 == 0 ? complete_edges(n) : random_edges(n, 0.4, seed);
  return compile(ising(edges, Draw::normal(0, coupling), Draw::normal(0, 0.7), seed));
}

TEST(GibbsWithGradients, LeavesTheDistribution) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Graph graph = random_spins(seed);
    const SpinGraph spins = spin_graph(graph);
    testing::expect_leaves_distribution(GibbsWithGradients(spins), graph, seed);
  }
}

TEST(GibbsWithGradients, ReachesTheDistribution) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_spins(seed, 0.25);
    const SpinGraph spins = spin_graph(graph);
    testing::expect_reaches_distribution(GibbsWithGradients(spins), graph, seed);
  }
}

TEST(GibbsWithGradients, ScoresAndConditionals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_spins(seed);
    const SpinGraph spins = spin_graph(graph);
    const GibbsWithGradients kernel(spins);
    testing::expect_scores(kernel, graph, seed);
    // The conditionals added are those of the state at the end of the sweep.
    auto state = kernel.start(seed, 0);
    std::vector<float> sums(kernel.entry_count(), 0.0F);
    kernel.sweep(state, 0, {sums});
    std::vector<Value> x(graph.size());
    kernel.read(state, 0, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::vector<Value> one = x, zero = x;
      one[i] = 1;
      zero[i] = 0;
      const double odds = log_score(graph, one) - log_score(graph, zero);
      EXPECT_NEAR(sums[i], 1 / (1 + std::exp(-odds)), 1e-5);
    }
  }
}

}  // namespace
}  // namespace drover
