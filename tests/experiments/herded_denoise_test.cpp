// Denoising in its quick form: every claim of the paper must hold.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, HerdedDenoise) {
  testing::expect_claims_hold("herded-denoise");
}

}  // namespace
}  // namespace drover
