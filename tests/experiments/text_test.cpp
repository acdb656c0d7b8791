// The text experiment in its quick form, on the stand-in corpus.
#include <gtest/gtest.h>

#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, TextSentiment) {
  testing::expect_claims_hold("text-sentiment");
}

}  // namespace
}  // namespace drover
