// Conformance (tests/sample/kernel_conformance.hpp) of herded Gibbs, which is deterministic: what it tends to
// is tested in herded_gibbs_test.cpp and herded_gibbs_lattice_test.cpp.
#include "drover/sample/herded/herded_gibbs_lattice.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"
#include "tests/sample/kernel_conformance.hpp"

namespace drover::testing {
namespace {

struct HerdedSubject {
  static Graph graph(std::uint64_t seed) { return varied_graph(seed, 0); }
  static Graph large() { return compile(random_grid(150, 120, false, 3)); }
  static constexpr double score_tolerance = 1e-5;
};

struct HerdedTables : HerdedSubject {
  static constexpr const char* name = "HerdedGibbsTables";
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    const HerdedSchedule schedule = graph.size() > 100 ? HerdedSchedule::colours
                                    : seed % 2 == 0    ? HerdedSchedule::sequential
                                                       : HerdedSchedule::jacobi;
    use(HerdedGibbsTables(graph, seed % 3 == 0 ? HerdedSharing::exact : HerdedSharing::none,
                          {schedule, {}, {}}));
  }
};

struct HerdedVisited : HerdedSubject {
  static constexpr const char* name = "HerdedGibbsVisited";
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t seed, Use use) {
    constexpr HerdedKey keys[] = {HerdedKey::configuration, HerdedKey::conditional, HerdedKey::bins};
    const HerdedSchedule schedule = graph.size() > 100 ? HerdedSchedule::colours : HerdedSchedule::sequential;
    use(HerdedGibbsVisited(graph, keys[seed % 3], 32, {schedule, {}, {}}));
  }
};

struct HerdedSites : HerdedSubject {
  static constexpr const char* name = "HerdedGibbsLattice";
  static constexpr double score_tolerance = 1e-6;
  static Graph graph(std::uint64_t seed) {
    RandomSequence random(seed, Stream::generate);
    Model model = equal_grid(4, 3, false, 0.4 * random.normal(), 0);
    for (double& value : model.unaries.log_values) value = 0.5 * random.normal();
    return compile(model);
  }
  static Graph large() { return compile(equal_grid(300, 301, false, 0.4, 0.1)); }
  template <class Use>
  static void with_kernel(const Graph& graph, std::uint64_t, Use use) {
    use(HerdedGibbsLattice(graph, herded_lattice(graph).value()));
  }
};

using HerdedKernels = ::testing::Types<HerdedTables, HerdedVisited, HerdedSites>;
INSTANTIATE_TYPED_TEST_SUITE_P(Herded, KernelConformance, HerdedKernels, SubjectNames);

}  // namespace
}  // namespace drover::testing
