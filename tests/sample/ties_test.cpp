// Kernels on graphs with tied tables draw the bits they draw with a table for every factor.
#include <gtest/gtest.h>

#include "drover/sample/blocked/blocked_gibbs.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"
#include "tests/sample/table_support.hpp"
#include "tests/support/tied_models.hpp"

namespace drover {
namespace {

template <class K>
void expect_same_draws(const K& tied, const K& own) {
  auto a = tied.start(7, 0), b = own.start(7, 0);
  std::vector<float> sums_a(tied.entry_count() * tied.lanes()), sums_b(sums_a);
  std::vector<Value> x(tied.size()), y(own.size());
  std::vector<double> scores_a(tied.lanes()), scores_b(own.lanes());
  for (std::uint64_t sweep = 0; sweep < 12; ++sweep) {
    tied.sweep(a, sweep, ConditionalSums{sums_a});
    own.sweep(b, sweep, ConditionalSums{sums_b});
    for (std::uint32_t lane = 0; lane < tied.lanes(); ++lane) {
      tied.read(a, lane, x);
      own.read(b, lane, y);
      ASSERT_EQ(x, y);
    }
  }
  EXPECT_EQ(sums_a, sums_b);
  tied.log_scores(a, scores_a);
  own.log_scores(b, scores_b);
  EXPECT_EQ(scores_a, scores_b);
}

TEST(TiedKernels, DrawTheBitsOfUntiedTables) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const bool zeros = seed % 4 == 1;
    const auto [model, evidence] = testing::random_tied_model(seed, zeros);
    const Graph tied = compile(model, evidence), own = compile(testing::untied(model), evidence);
    const auto starts = testing::support_of(tied);
    for (Scan scan : {Scan::fixed, Scan::random}) {
      expect_same_draws(GibbsTableChain(tied, {scan, starts}), GibbsTableChain(own, {scan, starts}));
      expect_same_draws(GibbsTableLanes(tied, {16, scan, starts}), GibbsTableLanes(own, {16, scan, starts}));
    }
    HerdedOptions herded;
    herded.starts = starts;
    expect_same_draws(HerdedGibbsTables(tied, HerdedSharing::none, herded),
                      HerdedGibbsTables(own, HerdedSharing::none, herded));
    for (HerdedKey key : {HerdedKey::configuration, HerdedKey::bins})
      expect_same_draws(HerdedGibbsVisited(tied, key, 16, herded), HerdedGibbsVisited(own, key, 16, herded));
    expect_same_draws(BlockedGibbs(tied, BlockOptions{}, starts), BlockedGibbs(own, BlockOptions{}, starts));
    if (!zeros)
      expect_same_draws(TreePrimalDual(tied, ForestChoice::heaviest),
                        TreePrimalDual(own, ForestChoice::heaviest));
  }
}

}  // namespace
}  // namespace drover
