// Many chains as lanes leave and reach the exact distribution of any graph, and a chain's bits depend on
// nothing but its seed and number.
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"

#include <hwy/targets.h>

#include "drover/core/error.hpp"
#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

static_assert(Kernel<GibbsTableLanes>);

GibbsTableLanes make_lane_kernel(const Graph& graph, std::uint32_t lanes = 64, Scan scan = Scan::fixed) {
  return {graph, {lanes, scan, testing::support_of(graph)}};
}

TEST(TableLanes, ReachesDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = testing::varied_graph(seed, 0.0);
    testing::expect_reaches_distribution(make_lane_kernel(graph), graph, seed);
  }
}

TEST(TableLanes, BatchingDoesNotChangeAChain) {
  for (Scan scan : {Scan::fixed, Scan::random})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Graph graph = testing::varied_graph(seed, seed % 3 == 0 ? 0.25 : 0.0);
      const GibbsTableLanes wide = make_lane_kernel(graph, 64, scan),
                            slim = make_lane_kernel(graph, 16, scan);
      auto wide_state = wide.start(seed, 64);
      auto slim_state = slim.start(seed, 96);
      for (std::uint64_t sweep = 0; sweep < 10; ++sweep) {
        wide.sweep(wide_state, sweep);
        slim.sweep(slim_state, sweep);
      }
      std::vector<Value> a(graph.size()), b(graph.size());
      for (std::uint32_t lane = 0; lane < 16; ++lane) {
        wide.read(wide_state, 32 + lane, a);
        slim.read(slim_state, lane, b);
        EXPECT_EQ(a, b);
      }
    }
}

TEST(TableLanes, ManyStatesUseWideValues) {
  Model model;
  model.cardinalities = {300, 3};
  RandomSequence random(5, Stream::generate);
  std::vector<double> values(900);
  for (double& value : values) value = random.uniform() < 0.3 ? log_zero : random.normal();
  model.tables.add(std::vector<VariableId>{0, 1}, values);
  const Graph graph = compile(model);
  const GibbsTableLanes kernel = make_lane_kernel(graph);
  testing::expect_leaves_distribution(kernel, graph, 1, 16384);
  testing::expect_scores(kernel, graph, 1, 1e-12);
}

TEST(TableLanes, LargeTablesAreReadWithStrides) {
  Model model;
  model.cardinalities = {20, 3, 90};
  RandomSequence random(6, Stream::generate);
  std::vector<double> values(20 * 3 * 90);
  ASSERT_GT(values.size(), largest_copied_table);
  for (double& value : values) value = random.normal();
  model.tables.add(std::vector<VariableId>{0, 1, 2}, values);
  const Graph graph = compile(model);
  testing::expect_leaves_distribution(make_lane_kernel(graph), graph, 1, 65536);
}

// The vectorised generator gives the words of Random::block: word site % 4 of block(chain, sweep, site / 4).
TEST(TableLanes, DrawsFollowTheCounterBasedGenerator) {
  Model model;
  model.cardinalities.assign(7, 8);
  for (VariableId v = 0; v < 7; ++v) model.unaries.add(v, std::vector<double>(8, 0.0));
  const Graph graph = compile(model);
  const GibbsTableLanes kernel = make_lane_kernel(graph, 32);
  const std::uint64_t seed = 0x123456789abcdefULL, sweep = 0x500000003ULL;
  auto state = kernel.start(seed, 64);
  kernel.sweep(state, sweep);
  std::vector<Value> x(7);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    kernel.read(state, lane, x);
    for (VariableId v = 0; v < 7; ++v)
      EXPECT_EQ(x[v], Random(seed, Stream::sweep).block(64 + lane, sweep, v / 4)[v % 4] >> 29);
  }
}

TEST(TableLanes, EveryInstructionSetIsRight) {
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Graph graph = testing::varied_graph(seed, seed % 3 == 0 ? 0.25 : 0.0);
      testing::expect_leaves_distribution(make_lane_kernel(graph), graph, seed);
      testing::expect_conditionals(make_lane_kernel(graph), graph, seed);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(TableLanes, HardZerosNeedStartsInTheSupport) {
  Model model;
  model.cardinalities = {2, 2};
  model.tables.add(std::vector<VariableId>{0, 1}, std::vector<double>{0, log_zero, log_zero, 1});
  const Graph graph = compile(model);
  EXPECT_THROW(GibbsTableLanes kernel(graph), Error);
  EXPECT_THROW(GibbsTableLanes(graph, {64, Scan::fixed, {{0, 1}}}), Error);
  EXPECT_THROW(GibbsTableLanes(graph, {64, Scan::fixed, {{0}}}), Error);
  // Chains start in the given states in turn, and this support is not connected: they stay.
  const GibbsTableLanes kernel(graph, {64, Scan::fixed, {{0, 0}, {1, 1}}});
  auto state = kernel.start(1, 0);
  for (std::uint64_t sweep = 0; sweep < 50; ++sweep) kernel.sweep(state, sweep);
  std::vector<Value> x(2);
  for (std::uint32_t lane = 0; lane < 64; ++lane) {
    kernel.read(state, lane, x);
    EXPECT_EQ(x, (std::vector<Value>{static_cast<Value>(lane % 2), static_cast<Value>(lane % 2)}));
  }
}

}  // namespace
}  // namespace drover
