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
  testing::expect_claims_hold("pmp-deconvolution");
}

}  // namespace
}  // namespace drover
