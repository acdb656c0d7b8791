// Nested R-hat against its definition, and the test of the starts against simulation.
#include "drover/diagnose/nested_rhat.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drover/core/random.hpp"

namespace drover {
namespace {

// By hand: groups (0.2, 0.4) and (0.6, 0.8): B = 0.08, b = 0.02, w = mean of 0.16, 0.24, 0.24, 0.16 = 0.2.
TEST(NestedRhat, FollowsItsDefinition) {
  const std::vector<double> means = {0.2, 0.4, 0.6, 0.8};
  const NestedFigures figures = nested_figures(means, 2);
  EXPECT_NEAR(figures.rhat, std::sqrt(1 + 0.08 / 0.22), 1e-12);
  EXPECT_NEAR(figures.memory, 2 * 0.08 / 0.02, 1e-12);
}

TEST(NestedRhat, KnowsWhenThereIsNothingToSay) {
  const std::vector<double> constant(8, 0.3);
  EXPECT_TRUE(std::isnan(nested_figures(constant, 4).rhat));
  EXPECT_TRUE(std::isnan(nested_figures(std::vector<double>{0.1, 0.2}, 2).rhat));
  EXPECT_TRUE(std::isnan(nested_figures(std::vector<double>{0.1, 0.2, 0.3}, 1).memory));
}

// Chains in two modes that never meet: every group is of one mind, and nested R-hat sees nothing but that.
TEST(NestedRhat, SeesGroupsThatStay) {
  std::vector<double> means(32, 0.0);
  for (std::size_t c = 0; c < means.size(); ++c) means[c] = (c / 8 == 1 ? 0.9 : 0.1) + 0.001 * (c % 8);
  const NestedFigures figures = nested_figures(means, 8);
  EXPECT_GT(figures.rhat, 1.3);
  EXPECT_GT(figures.memory, memory_limit(4, 8, 1e-9));
}

// 20,000 sets of independent normal means: the limit of probability 0.01 is passed by 200 of them, standard
// deviation 14.
TEST(NestedRhat, LimitIsThatOfTheFDistribution) {
  RandomSequence random(5, Stream::generate);
  const double limit = memory_limit(8, 4, 0.01);
  int beyond = 0;
  std::vector<double> means(32);
  for (int set = 0; set < 20'000; ++set) {
    for (double& mean : means) mean = 0.5 + 0.01 * random.normal();
    beyond += nested_figures(means, 4).memory > limit ? 1 : 0;
  }
  EXPECT_NEAR(beyond, 200, 60);
}

}  // namespace
}  // namespace drover
