// Estimates behind a network that is too large for exact answers, against exact ones.
#include "drover/serve/sampled_network.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_page.hpp"

namespace drover {
namespace {

/// The first estimate whose chains are worth so many draws.
std::shared_ptr<const NetworkEstimate> wait_for(SampledNetwork& network, const std::vector<Finding>& findings,
                                                double ess, const std::string& method = "") {
  std::uint64_t version = 0;
  for (int tries = 0; tries < 2000; ++tries) {
    const auto found = network.marginals(findings, method, version, 0.5);
    if (!found) continue;
    version = found->version;
    if (!found->failure.empty() || found->diagnostics.ess_min >= ess) return found;
  }
  ADD_FAILURE() << "no such estimate came";
  return nullptr;
}

TEST(SampledNetwork, AgreesWithExactAnswersWithinItsErrors) {
  const RunControl control;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = random_tables(8, 3, 9, 2, Draw::normal(0, 0.7), 0, seed);
    std::vector<Finding> findings = {{2, std::vector<double>(model.cardinalities[2], 0.0)},
                                     {5, std::vector<double>(model.cardinalities[5], 0.3)}};
    findings[0].likelihood[1] = 1;
    findings[1].likelihood[0] = 0.9;  // soft
    ExactNetwork exact(model, std::size_t{1} << 30);
    const NetworkAnswer truth = exact.marginals(findings);
    SampledNetwork network(model, seed, control);
    const auto found = wait_for(network, findings, 2000);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->failure, "");
    for (VariableId v = 0; v < model.variable_count(); ++v)
      for (std::size_t k = 0; k < model.cardinalities[v]; ++k)
        EXPECT_NEAR(found->probabilities[v][k], truth.probabilities[v][k], 5 * found->mcse[v][k] + 1e-9);
    EXPECT_EQ(found->mcse[2][1], 0);  // observed
  }
}

TEST(SampledNetwork, ErrorsShrink) {
  const RunControl control;
  const Model model = grid_ising(5, 5, false, 0.2, 0.1);
  SampledNetwork network(model, 1, control);
  const auto early = wait_for(network, {}, 50), late = wait_for(network, {}, 50 * early->diagnostics.ess_min);
  EXPECT_LT(late->diagnostics.mcse_max, early->diagnostics.mcse_max / 2);
  EXPECT_GT(late->version, early->version);
}

TEST(SampledNetwork, TwoWhoAskDifferentThingsDoNotDisturbEachOther) {
  const RunControl control;
  const Model model = live_example();
  SampledNetwork network(model, 1, control);
  const std::vector<Finding> wet = {{3, {0, 1}}};
  std::uint64_t versions[2] = {0, 0};
  for (int round = 0; round < 6; ++round)
    for (int who = 0; who < 2; ++who) {
      const auto found = network.marginals(who == 0 ? std::vector<Finding>{} : wet, "", versions[who], 30);
      ASSERT_TRUE(found);
      EXPECT_GT(found->version, versions[who]);  // one run each, that goes on
      versions[who] = found->version;
      if (who == 1) {
        EXPECT_EQ(found->probabilities[3][1], 1);
      }
    }
}

TEST(SampledNetwork, SaysWhatIsWrong) {
  const RunControl control;
  const Model model = live_example();
  SampledNetwork network(model, 1, control);
  EXPECT_THROW(network.marginals(std::vector<Finding>{{99, {1, 0}}}, "", 0, 1), Error);
  const auto none = wait_for(network, {}, 10, "swendsen-wang");
  EXPECT_NE(none->failure, "");
  // Neither rain nor sprinkler, and yet the lawn is wet.
  const std::vector<Finding> impossible = {{1, {1, 0, 0}}, {2, {1, 0}}, {3, {0, 1}}};
  const auto refused = wait_for(network, impossible, 10);
  EXPECT_TRUE(refused->impossible) << refused->failure;
}

}  // namespace
}  // namespace drover
