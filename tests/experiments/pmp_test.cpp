// The experiments of the PMP paper in their quick form.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, PmpToy) {
  testing::expect_claims_hold("pmp-toy");
}

TEST(Experiments, PmpLogZ) {
  testing::expect_claims_hold("pmp-logz");
}

TEST(Experiments, PmpZeros) {
  testing::expect_claims_hold("pmp-zeros");
}

TEST(Experiments, PmpLattice) {
  testing::expect_claims_hold("pmp-lattice");
}

TEST(Experiments, PmpErdos) {
  testing::expect_claims_hold("pmp-erdos");
}

TEST(Experiments, PmpRbmTwos) {
  testing::expect_claims_hold("pmp-rbm-twos");
}

TEST(Experiments, PmpRbm) {
  testing::expect_claims_hold("pmp-rbm");
}

TEST(Experiments, PmpDeconvolution) {
  // Parallel max-product falls into poorer explanations for some noise: most samples must show all features.
  experiments::Options options;
  options.quick = true;
  const experiments::Outcome outcome = experiments::find_experiment("pmp-deconvolution").run(options);
  ASSERT_EQ(outcome.rows.size(), 5U);
  EXPECT_GE(outcome.rows[0].ours, 8) << outcome.rows[0].name;
  EXPECT_LT(outcome.rows[2].ours, 0.05) << outcome.rows[2].name;
}

}  // namespace
}  // namespace drover
