#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsSpinLattice>);

GibbsSpinLattice lattice_kernel(const Graph& graph) {
  return GibbsSpinLattice(recognise_lattice(spin_graph(graph)).value());
}

TEST(GibbsSpinLattice, Scores) {
  for (std::uint32_t width : {3U, 4U, 7U, 130U, 131U, 1030U})
    for (std::uint32_t height : {3U, 6U, 40U})
      for (bool periodic : {false, true}) {
        if (periodic && (width % 2 || height % 2)) continue;
        const Graph graph = compile(testing::random_grid(width, height, periodic, width));
        testing::expect_scores(lattice_kernel(graph), graph, 1, 1e-6);
      }
}

// On wide lattices every site's conditional is that of the general kernel at the same state.
TEST(GibbsSpinLattice, ConditionalsOfWideLattices) {
  for (std::uint32_t width : {64U, 126U, 127U, 128U, 130U, 258U, 1026U})
    for (bool periodic : {false, true}) {
      const std::uint32_t height = 70;
      if (periodic && width % 2) continue;
      const Graph graph = compile(testing::random_grid(width, height, periodic, width));
      const GibbsSpinLattice kernel = lattice_kernel(graph);
      const SpinGraph spins = spin_graph(graph);
      auto state = kernel.start(1, 0);
      std::vector<Value> before(graph.size()), after(graph.size());
      kernel.read(state, 0, before);
      std::vector<float> sums(graph.size(), 0.0f);
      kernel.sweep(state, 0, ConditionalSums{sums});
      kernel.read(state, 0, after);
      for (std::size_t i = 0; i < graph.size(); ++i) {
        const std::size_t colour = (i % width + i / width) % 2;  // colour 0 sees the old state, 1 the new
        double field = spins.bias[i];
        for (std::size_t k = 0; k < spins.degree(i); ++k)
          if ((colour == 0 ? before : after)[spins.neighbours(i)[k]]) field += spins.weights(i)[k];
        ASSERT_NEAR(sums[i], 1 / (1 + std::exp(-field)), 2e-6) << i << " width " << width;
      }
    }
}

TEST(GibbsSpinLattice, EveryInstructionSetSamplesTheSameModel) {
  testing::for_each_target([] {
    const Graph graph = compile(testing::random_grid(3, 3, false, 2));
    testing::expect_leaves_distribution(lattice_kernel(graph), graph, 1, 256);
    testing::expect_conditionals(lattice_kernel(graph), graph, 1, 64);
    testing::expect_scores(lattice_kernel(graph), graph, 1);
  });
}

// Lattices of one band and of several, shorter and longer than the sweeps that go together.
TEST(GibbsSpinLattice, SeveralSweepsAtOnceAreTheSame) {
  for (std::uint32_t width : {4U, 130U, 1030U})
    for (std::uint32_t height : {3U, 4U, 7U, 15U, 64U, 130U, 300U})
      for (bool periodic : {false, true}) {
        if ((periodic && height % 2) || width * height > 150'000) continue;
        SCOPED_TRACE(std::to_string(width) + " x " + std::to_string(height));
        testing::expect_sweeps_at_once(
            lattice_kernel(compile(testing::random_grid(width, height, periodic, height))), 1,
            height == 15 ? 75 : 1 + height % 7);
      }
}

TEST(GibbsSpinLattice, SameBitsForAnyNumberOfThreads) {
  const GibbsSpinLattice kernel = lattice_kernel(compile(testing::random_grid(400, 300, true, 3)));
  std::vector<std::vector<std::uint64_t>> states;
  for (int threads : {1, 2, 5}) {
    tbb::task_arena arena(threads);
    arena.execute([&] {
      auto state = kernel.start(9, 4);
      kernel.sweeps(state, 0, 5);
      states.push_back(state.words);
    });
    EXPECT_EQ(states.back(), states.front());
  }
}

}  // namespace
}  // namespace drover
