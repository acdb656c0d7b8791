// Conformance (tests/sample/kernel_conformance.hpp) of the kernels for any graph: tables, trees, clusters,
// ladders.
#include "drover/sample/anneal/tempering.hpp"
#include "drover/sample/blocked/blocked_gibbs.hpp"
#include "drover/sample/dual/generalized_swendsen_wang.hpp"
#include "drover/sample/dual/swendsen_wang.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "tests/sample/kernel_conformance.hpp"

namespace drover::testing {
namespace {

Graph large_tables() {
  return compile(
      random_model(3, {.variables = 8000, .max_states = 4, .max_arity = 3, .factors = 6000, .scale = 0.8}));
}

/// K-ary, arity 2 to 4, evidence; every third has hard zeros.
struct TableSubject {
  static Graph graph(std::uint64_t seed) { return varied_graph(seed, seed % 3 == 0 ? 0.25 : 0.0); }
  static Graph mixing(std::uint64_t seed) {
    return compile(
        random_model(seed, {.variables = 4, .max_states = 3, .max_arity = 3, .factors = 4, .scale = 0.4}));
  }
  static Graph large() { return large_tables(); }
  static constexpr std::uint64_t sweeps = 60;
  static constexpr std::uint32_t chains = 2048;
  static constexpr double score_tolerance = 1e-5;
};

/// Kernels that need every factor to be positive.
struct PositiveSubject : TableSubject {
  static Graph graph(std::uint64_t seed) { return varied_graph(seed, 0); }
};

struct TableLanes : TableSubject {
  static constexpr const char* name = "GibbsTableLanes";
  static constexpr double score_tolerance = 1e-12;
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    const auto starts = graph.size() > 100 ? std::vector<std::vector<Value>>{} : support_of(graph);
    use(GibbsTableLanes(graph, {16U << (seed % 3), seed % 7 == 6 ? Scan::random : Scan::fixed, starts}));
  }
};

struct TableChain : TableSubject {
  static constexpr const char* name = "GibbsTableChain";
  static constexpr double score_tolerance = 1e-12;
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    const auto starts = graph.size() > 100 ? std::vector<std::vector<Value>>{} : support_of(graph);
    use(GibbsTableChain(graph, {seed % 4 == 3 ? Scan::random : Scan::fixed, starts}));
  }
};

/// Limits from single variables to everything at once.
struct Blocked : TableSubject {
  static constexpr const char* name = "BlockedGibbs";
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    constexpr std::size_t limits[] = {0, 4, 0, 16, 9};
    use(BlockedGibbs(graph, BlockOptions{.max_entries = limits[seed % 5], .seed = seed}));
  }
};

struct Tree : PositiveSubject {
  static constexpr const char* name = "TreePrimalDual";
  static constexpr std::uint64_t sweeps = 200;
  static constexpr std::uint32_t tempered_chains =
      256;  ///< few lanes, whose state makes the duals of a temperature anew
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    constexpr ForestChoice choices[] = {ForestChoice::none, ForestChoice::heaviest, ForestChoice::redrawn};
    use(TreePrimalDual(graph, choices[seed % 3]));
  }
};

struct GeneralizedClusters : PositiveSubject {
  static constexpr const char* name = "GeneralizedSwendsenWang";
  static constexpr std::uint64_t sweeps = 200;
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    use(GeneralizedSwendsenWang(graph));
  }
};

/// Spins of either sign and attractive Potts pairs with fields, some without, every third with evidence;
/// every fifth has values that a unary forbids.
Graph cluster_graph(std::uint64_t seed, double scale) {
  RandomSequence random(seed, Stream::generate);
  const std::uint32_t size = 3 + seed % 4, states = seed % 3 == 0 ? 3 + seed % 2 : 2;
  Model model;
  model.cardinalities.assign(size, states);
  for (VariableId v = 0; v < size && seed % 4 != 3; ++v) {
    std::vector<double> values(states);
    for (double& value : values) value = random.normal();
    if (seed % 5 == 4 && v % 2 == 0) values[seed % states] = log_zero;
    model.unaries.add(v, values);
  }
  for (std::uint32_t f = 0; f < 2 * size; ++f) {
    const VariableId i = random.below(size), j = (i + 1 + random.below(size - 1)) % size;
    const double coupling = scale * random.normal();
    if (states == 2)
      model.spin_pairs.add(i, j, 0.7 * coupling);
    else
      model.potts_pairs.add(i, j, std::abs(coupling));
  }
  Evidence evidence;
  if (seed % 3 == 1 && seed % 5 != 4) evidence.add(0, 1);
  return compile(model, evidence);
}

template <int percent>
struct Clusters : TableSubject {
  static Graph graph(std::uint64_t seed) { return cluster_graph(seed, 1); }
  static Graph mixing(std::uint64_t seed) { return cluster_graph(seed, 0.5); }
  static Graph large() { return compile(random_grid(200, 200, true, 3)); }
  static constexpr std::uint64_t sweeps = 150;
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    use(SwendsenWang(graph, 0.01 * percent));
  }
};
struct WholeClusters : Clusters<100> {
  static constexpr const char* name = "SwendsenWang";
};
struct PartialClusters : Clusters<40> {
  static constexpr const char* name = "PartialSwendsenWang";
};

/// Ladders of four rungs, side by side in the lanes of the kernel that users run.
struct Ladders : PositiveSubject {
  static constexpr const char* name = "Tempering";
  static constexpr std::uint32_t chains = 1024;
  static Graph large() {
    return compile(
        random_model(3, {.variables = 1000, .max_states = 3, .max_arity = 3, .factors = 800, .scale = 0.8}));
  }
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    const GibbsTableLanes kernel(graph, {});
    use(Tempering(kernel, {{0, 0.3, 0.6, 1}}));
  }
};

using TableKernels = ::testing::Types<TableLanes, TableChain, Blocked, Tree, GeneralizedClusters,
                                      WholeClusters, PartialClusters>;
INSTANTIATE_TYPED_TEST_SUITE_P(Tables, KernelConformance, TableKernels, SubjectNames);
INSTANTIATE_TYPED_TEST_SUITE_P(Tables, MarkovConformance, TableKernels, SubjectNames);
// What a ladder leaves unchanged is the joint distribution of all its rungs: tempering_test.cpp.
INSTANTIATE_TYPED_TEST_SUITE_P(Ladders, KernelConformance, ::testing::Types<Ladders>, SubjectNames);

}  // namespace
}  // namespace drover::testing
