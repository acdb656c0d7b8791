// Potts models: few states, many states, mixed with tables and forbidden values, in lanes and as one chain.
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

/// A cycle of Potts pairs with random couplings and unaries; every third value of variable 0 is forbidden.
Graph potts_cycle(std::uint32_t variables, std::uint32_t states, bool with_table) {
  RandomSequence random(states, Stream::generate);
  Model model;
  model.cardinalities.assign(variables, states);
  std::vector<double> values(states);
  for (VariableId v = 0; v < variables; ++v) {
    for (std::uint32_t k = 0; k < states; ++k)
      values[k] = v == 0 && k % 3 == 1 ? log_zero : 0.5 * random.normal();
    model.unaries.add(v, values);
    model.potts_pairs.add(v, (v + 1) % variables, 2 * random.normal());
  }
  if (with_table) {
    std::vector<double> table(std::size_t{states} * states);
    for (double& value : table) value = 0.5 * random.normal();
    model.tables.add(std::vector<VariableId>{0, 1}, table);
  }
  return compile(model);
}

TEST(Potts, ManyStates) {
  // Over the number of states at which each kernel changes its path.
  for (std::uint32_t states : {3U, 4U, 7U, 8U, 9U, 16U, 17U, 31U, 32U, 33U, 65U, 70U})
    for (bool with_table : {false, true}) {
      const Graph graph = potts_cycle(states < 20 ? 3 : 2, states, with_table);
      const GibbsTableLanes lanes(graph);
      const GibbsTableChain chain(graph);
      testing::expect_leaves_distribution(lanes, graph, states, 16384);
      testing::expect_leaves_distribution(chain, graph, states, 16384);
      testing::expect_conditionals(lanes, graph, states);
      testing::expect_conditionals(chain, graph, states);
      testing::expect_scores(lanes, graph, states, 1e-12);
    }
}

TEST(Potts, ReachesDistribution) {
  for (std::uint32_t states : {3U, 5U, 8U}) {
    const Graph graph = potts_cycle(4, states, true);
    testing::expect_reaches_distribution(GibbsTableLanes(graph), graph, states, 16384, 100);
    testing::expect_reaches_distribution(GibbsTableChain(graph), graph, states, 8192, 100);
  }
}

TEST(Potts, StrongCouplingsStayFinite) {
  // Fields of thousands: weights must neither overflow nor become zero everywhere.
  Model model;
  model.cardinalities.assign(4, 5);
  for (VariableId v = 0; v + 1 < 4; ++v) model.potts_pairs.add(v, v + 1, v == 1 ? -5000.0 : 5000.0);
  const Graph graph = compile(model);
  testing::expect_leaves_distribution(GibbsTableLanes(graph), graph, 1);
  testing::expect_leaves_distribution(GibbsTableChain(graph), graph, 1);
}

}  // namespace
}  // namespace drover
