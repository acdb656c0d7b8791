#include <filesystem>
#include <fstream>
#include <sstream>

#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "tests/sample/spin_checks.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsSpinEqualLattice>);

GibbsSpinEqualLattice equal_kernel(const Graph& graph) {
  return GibbsSpinEqualLattice(equal_lattice(recognise_lattice(spin_graph(graph)).value()).value());
}

TEST(GibbsSpinEqualLattice, Scores) {
  for (std::uint32_t width : {3U, 4U, 7U, 130U, 131U, 1030U})
    for (std::uint32_t height : {3U, 6U, 40U})
      for (bool periodic : {false, true}) {
        if (periodic && (width % 2 || height % 2)) continue;
        const Graph graph = compile(testing::equal_grid(width, height, periodic, 0.3, -0.2));
        testing::expect_scores(equal_kernel(graph), graph, 1, 1e-6);
      }
}

// At any state of a wide lattice, the conditionals are right, and the draws of every kind of site (by
// neighbours and neighbours that are 1) have the frequency of their conditional.
TEST(GibbsSpinEqualLattice, WideLattices) {
  for (std::uint32_t width : {64U, 126U, 127U, 128U, 130U, 1022U, 1026U})
    for (bool periodic : {false, true}) {
      const std::uint32_t height = 140;
      if (periodic && width % 2) continue;
      const Graph graph = compile(testing::equal_grid(width, height, periodic, 0.25, 0.05));
      const GibbsSpinEqualLattice kernel = equal_kernel(graph);
      const SpinGraph spins = spin_graph(graph);
      auto state = kernel.start(width, 0);
      std::vector<Value> before(graph.size()), after(graph.size());
      kernel.read(state, 0, before);
      std::vector<float> sums(graph.size(), 0.0f);
      kernel.sweep(state, 0, ConditionalSums{sums});
      kernel.read(state, 0, after);
      double expected[5][5] = {}, variance[5][5] = {}, drawn[5][5] = {};
      for (std::size_t i = 0; i < graph.size(); ++i) {
        const std::size_t colour = (i % width + i / width) % 2;  // colour 0 sees the old state, 1 the new
        double field = spins.bias[i];
        int n = 0;
        for (std::size_t k = 0; k < spins.degree(i); ++k)
          if ((colour == 0 ? before : after)[spins.neighbours(i)[k]]) field += spins.weights(i)[k], ++n;
        const double p = 1 / (1 + std::exp(-field));
        ASSERT_NEAR(sums[i], p, 2e-6) << i << " width " << width;
        expected[spins.degree(i)][n] += p;
        variance[spins.degree(i)][n] += p * (1 - p);
        drawn[spins.degree(i)][n] += after[i];
      }
      for (int degree = 0; degree < 5; ++degree)
        for (int n = 0; n <= degree; ++n)
          EXPECT_NEAR(drawn[degree][n], expected[degree][n], 5 * std::sqrt(variance[degree][n]) + 6)
              << degree << " neighbours, " << n << " ones, width " << width;
    }
}

// Fields of +-10 make the rare value's probability 4.5e-5: thresholds are honoured far below their first
// bits.
TEST(GibbsSpinEqualLattice, SmallProbabilitiesAreRight) {
  for (double field : {-10.0, 10.0}) {
    const GibbsSpinEqualLattice kernel(EqualLattice{
        .width = 4096, .height = 1024, .periodic_x = true, .periodic_y = true, .weight = 0, .field = field});
    auto state = kernel.start(3, 0);
    double rare = 0;
    const std::uint64_t sweeps = 20;
    std::vector<Value> x(kernel.size());
    for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
      kernel.sweep(state, sweep);
      kernel.read(state, 0, x);
      for (Value value : x) rare += value != (field > 0);
    }
    const double expected = static_cast<double>(sweeps * kernel.size()) / (1 + std::exp(10.0));
    EXPECT_NEAR(rare, expected, 5 * std::sqrt(expected));
  }
}

TEST(GibbsSpinEqualLattice, SameBitsOnEveryInstructionSet) {
  const GibbsSpinEqualLattice kernel = equal_kernel(compile(testing::equal_grid(1500, 20, false, 0.4, 0.1)));
  std::vector<GibbsSpinEqualLattice::Bytes> states;
  testing::for_each_target([&] {
    auto state = kernel.start(2, 1);
    for (std::uint64_t sweep = 0; sweep < 3; ++sweep) kernel.sweep(state, sweep);
    states.push_back(state.bytes);
    EXPECT_EQ(states.back(), states.front());
  });
}

// Lattices of one band and of several, shorter and longer than the sweeps that go together.
TEST(GibbsSpinEqualLattice, SeveralSweepsAtOnceAreTheSame) {
  for (std::uint32_t width : {4U, 130U, 1030U})
    for (std::uint32_t height : {3U, 4U, 7U, 15U, 64U, 130U, 300U})
      for (bool periodic : {false, true}) {
        if ((periodic && height % 2) || width * height > 150'000) continue;
        SCOPED_TRACE(std::to_string(width) + " x " + std::to_string(height));
        testing::expect_sweeps_at_once(
            equal_kernel(compile(testing::equal_grid(width, height, periodic, 0.3, 0.1))), 1,
            height == 15 ? 75 : 1 + height % 7);
      }
}

TEST(GibbsSpinEqualLattice, SameBitsForAnyNumberOfThreads) {
  const GibbsSpinEqualLattice kernel = equal_kernel(compile(testing::equal_grid(800, 700, true, 0.4, 0.1)));
  std::vector<GibbsSpinEqualLattice::Bytes> states;
  for (int threads : {1, 2, 5}) {
    tbb::task_arena arena(threads);
    arena.execute([&] {
      auto state = kernel.start(9, 4);
      kernel.sweeps(state, 0, 5);
      states.push_back(state.bytes);
    });
    EXPECT_EQ(states.back(), states.front());
  }
}

// The mean energy of tori against its exact value (Kaufman), within 4 standard errors by batch means.
template <Kernel K>
void expect_torus_energy(const K& kernel, std::uint32_t side, double coupling, double exact_edge_mean) {
  auto state = kernel.start(17, 0);
  const double edges = 2.0 * side * side;
  const std::uint64_t batches = 40, length = 250, burn_in = 500;
  std::uint64_t sweep = 0;
  for (; sweep < burn_in; ++sweep) kernel.sweep(state, sweep);
  double sum = 0, square = 0;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    double mean = 0, score = 0;
    for (std::uint64_t k = 0; k < length; ++k) {
      kernel.sweep(state, sweep++);
      kernel.log_scores(state, {&score, 1});
      mean += score / coupling / edges / static_cast<double>(length);
    }
    sum += mean;
    square += mean * mean;
  }
  const double mean = sum / batches, error = std::sqrt((square / batches - mean * mean) / (batches - 1));
  EXPECT_LT(error, 2e-3);
  EXPECT_NEAR(mean, exact_edge_mean, 4 * error) << "side " << side << " coupling " << coupling;
}

TEST(GibbsSpinEqualLattice, TorusEnergies) {
  const std::filesystem::path file = DROVER_SOURCE_DIR "/../shared/data/exact-ising/torus.csv";
  const std::filesystem::path beside = DROVER_SOURCE_DIR "/../../shared/data/exact-ising/torus.csv";
  std::ifstream in(std::filesystem::exists(file) ? file : beside);
  if (!in) GTEST_SKIP() << "no " << file;
  std::string line;
  std::getline(in, line);
  int checked = 0;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream columns(line);
    std::uint32_t side = 0;
    double coupling = 0, log_z = 0, edge_mean = 0;
    columns >> side >> coupling >> log_z >> edge_mean;
    if ((side != 16 && side != 20 && side != 50) || side % 2 ||
        (coupling != 0.3 && coupling != 0.2 && coupling != -0.2))
      continue;
    const Graph graph = compile(testing::equal_grid(side, side, true, coupling, 0));
    expect_torus_energy(equal_kernel(graph), side, coupling, edge_mean);
    expect_torus_energy(GibbsSpinLattice(recognise_lattice(spin_graph(graph)).value()), side, coupling,
                        edge_mean);
    ++checked;
  }
  EXPECT_GE(checked, 2);
}

}  // namespace
}  // namespace drover
