// The herded Gibbs experiments in their quick form: every claim of the papers must hold.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, HerdedTwoVariable) {
  testing::expect_claims_hold("herded-two-variable");
}

TEST(Experiments, HerdedRates) {
  testing::expect_claims_hold("herded-rates");
}

}  // namespace
}  // namespace drover
