// One chain by colour classes leaves and reaches the exact distribution of any graph, and its bits depend on
// nothing but its seed and number.
#include "drover/sample/gibbs/gibbs_table_chain.hpp"

#include <hwy/targets.h>

#include "drover/core/error.hpp"
#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsTableChain>);

GibbsTableChain make_chain_kernel(const Graph& graph, Scan scan = Scan::fixed) {
  return {graph, {scan, testing::support_of(graph)}};
}

Scan scan_of(std::uint64_t seed) {
  return seed % 4 == 3 ? Scan::random : Scan::fixed;
}

TEST(TableChain, ReachesDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = testing::varied_graph(seed, 0.0);
    testing::expect_reaches_distribution(make_chain_kernel(graph, scan_of(seed)), graph, seed, 1024, 30);
  }
}

TEST(TableChain, EveryInstructionSetIsRight) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Graph graph = testing::varied_graph(seed, seed % 3 == 0 ? 0.25 : 0.0);
      testing::expect_leaves_distribution(make_chain_kernel(graph), graph, seed);
      testing::expect_conditionals(make_chain_kernel(graph), graph, seed);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(TableChain, ManyStates) {
  RandomSequence random(5, Stream::generate);
  for (std::uint32_t states : {7U, 20U, 300U}) {
    Model model;
    model.cardinalities = {states, 3};
    std::vector<double> values(std::size_t{states} * 3);
    for (double& value : values) value = random.uniform() < 0.3 ? log_zero : random.normal();
    model.tables.add(std::vector<VariableId>{0, 1}, values);
    const Graph graph = compile(model);
    for (Scan scan : {Scan::fixed, Scan::random})
      testing::expect_leaves_distribution(make_chain_kernel(graph, scan), graph, 1, 16384);
  }
}

TEST(TableChain, LargeTablesAreReadWithStrides) {
  Model model;
  model.cardinalities = {20, 3, 90};
  RandomSequence random(6, Stream::generate);
  std::vector<double> values(20 * 3 * 90);
  ASSERT_GT(values.size(), largest_copied_table);
  for (double& value : values) value = random.normal();
  model.tables.add(std::vector<VariableId>{0, 1, 2}, values);
  const Graph graph = compile(model);
  testing::expect_leaves_distribution(make_chain_kernel(graph), graph, 1, 65536);
}

TEST(TableChain, HardZerosNeedStartsInTheSupport) {
  Model model;
  model.cardinalities = {2, 2};
  model.tables.add(std::vector<VariableId>{0, 1}, std::vector<double>{0, log_zero, log_zero, 1});
  const Graph graph = compile(model);
  EXPECT_THROW(GibbsTableChain kernel(graph), Error);
  EXPECT_THROW(GibbsTableChain(graph, {Scan::fixed, {{0, 1}}}), Error);
}

}  // namespace
}  // namespace drover
