// The duality experiments in their quick form: every claim must hold.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, DualityGrid) {
  testing::expect_claims_hold("duality-grid");
}

TEST(Experiments, DualityRandom) {
  testing::expect_claims_hold("duality-random");
}

TEST(Experiments, DualityComplete) {
  testing::expect_claims_hold("duality-complete");
}

TEST(Experiments, DualityLogZ) {
  testing::expect_claims_hold("duality-logz");
}

TEST(Experiments, DualityDynamic) {
  testing::expect_claims_hold("duality-dynamic");
}

}  // namespace
}  // namespace drover
