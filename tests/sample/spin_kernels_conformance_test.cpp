// Conformance (tests/sample/kernel_conformance.hpp) of the kernels for spins.
#include "drover/compile/lattice.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"
#include "tests/sample/kernel_conformance.hpp"

namespace drover::testing {
namespace {

/// Every fourth graph is complete: seven neighbours, so that more than one group of four is used.
Graph spins_of(std::uint64_t seed) {
  if (seed % 4 != 3) return random_spin_graph(seed);
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(8, 2);
  for (VariableId i = 0; i < 8; ++i)
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(i, j, 0.3 * random.normal());
  return compile(model);
}

/// Sparse graphs of weak pairs mix within a hundred sweeps of anything.
Graph weak_spins(std::uint64_t seed) {
  return compile(random_model(seed, {.variables = 4, .factors = 5, .scale = 0.4}));
}

struct SpinSubject {
  static Graph graph(std::uint64_t seed) { return spins_of(seed); }
  static Graph mixing(std::uint64_t seed) { return weak_spins(seed); }
  static Graph large() { return compile(random_grid(300, 200, true, 3)); }
  static constexpr std::uint64_t sweeps = 100;
  static constexpr std::uint32_t chains = 4096;
  static constexpr double score_tolerance = 1e-6;
};

template <class K>
struct Lanes : SpinSubject {
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    use(K(spin_graph(graph), seed % 2 == 0 ? Scan::fixed : Scan::random));
  }
};
struct SpinLanes : Lanes<GibbsSpinLanes> {
  static constexpr const char* name = "GibbsSpinLanes";
};
struct SpinBytes : Lanes<GibbsSpinBytes> {
  static constexpr const char* name = "GibbsSpinBytes";
};

template <class K>
struct Plain : SpinSubject {
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    const SpinGraph spins = spin_graph(graph);  // some kernels only point at it
    use(K(spins));
  }
};
struct SpinChain : Plain<GibbsSpinChain> {
  static constexpr const char* name = "GibbsSpinChain";
  static constexpr std::uint32_t chains = 2048;
};
struct Gradients : Plain<GibbsWithGradients> {
  static constexpr const char* name = "GibbsWithGradients";
  static constexpr std::uint32_t chains = 1024;
  static Graph large() { return compile(random_grid(60, 50, true, 3)); }
};
struct DualLanes : Plain<PrimalDualLanes> {
  static constexpr const char* name = "PrimalDualLanes";
  static constexpr std::uint64_t sweeps = 200;
};
struct DualChain : Plain<PrimalDualChain> {
  static constexpr const char* name = "PrimalDualChain";
  static constexpr std::uint64_t sweeps = 200;
  static constexpr std::uint32_t chains = 2048;
};

/// Checkerboards of 9 to 16 sites, some of them tori.
struct Board {
  std::uint32_t width, height;
  bool periodic;
};
Board board_of(std::uint64_t seed) {
  constexpr Board boards[] = {{3, 3, false}, {4, 3, false}, {3, 4, false}};
  return seed % 20 == 19 ? Board{4, 4, true} : boards[seed % 3];
}

struct SpinLattice : SpinSubject {
  static constexpr const char* name = "GibbsSpinLattice";
  static constexpr std::uint32_t chains = 2048;
  static Graph graph(std::uint64_t seed) {
    const auto [width, height, periodic] = board_of(seed);
    return compile(random_grid(width, height, periodic, seed));
  }
  static Graph mixing(std::uint64_t seed) { return compile(random_grid(3, 3, false, seed, 0.3)); }
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    use(GibbsSpinLattice(recognise_lattice(spin_graph(graph)).value()));
  }
};

struct SpinEqualLattice : SpinSubject {
  static constexpr const char* name = "GibbsSpinEqualLattice";
  static constexpr std::uint32_t chains = 256;
  static Graph equal(std::uint64_t seed, double coupling, double field) {
    RandomSequence random(seed, Stream::generate);
    const auto [width, height, periodic] = board_of(seed);
    return compile(equal_grid(width, height, periodic, coupling * random.normal(), field * random.normal()));
  }
  static Graph graph(std::uint64_t seed) { return equal(seed, 0.4, 0.3); }
  static Graph mixing(std::uint64_t seed) { return equal(3 * seed, 0.15, 0.2); }
  static Graph large() { return compile(equal_grid(400, 300, true, 0.4, 0.1)); }
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    use(GibbsSpinEqualLattice(equal_lattice(recognise_lattice(spin_graph(graph)).value()).value()));
  }
};

using SpinKernels = ::testing::Types<SpinLanes, SpinBytes, SpinChain, Gradients, DualLanes, DualChain,
                                     SpinLattice, SpinEqualLattice>;
INSTANTIATE_TYPED_TEST_SUITE_P(Spins, KernelConformance, SpinKernels, SubjectNames);
INSTANTIATE_TYPED_TEST_SUITE_P(Spins, MarkovConformance, SpinKernels, SubjectNames);

}  // namespace
}  // namespace drover::testing
