// The experiments of the PMP paper in their quick form.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, PmpToy) {
  testing::expect_claims_hold("pmp-toy");
}

TEST(Experiments, PmpRbm) {
  testing::expect_claims_hold("pmp-rbm");
}

TEST(Experiments, PmpDeconvolution) {
  testing::expect_claims_hold("pmp-deconvolution");
}

}  // namespace
}  // namespace drover
