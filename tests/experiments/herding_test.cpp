// The herding experiments in their quick form, on made-up data.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, HerdingTipi) {
  testing::expect_claims_hold("herding-tipi");
}

TEST(Experiments, HerdingCounts) {
  testing::expect_claims_hold("herding-counts");
}

TEST(Experiments, HerdingClassify) {
  testing::expect_claims_hold("herding-classify");
}

}  // namespace
}  // namespace drover
