#include "drover/numeric/lbfgs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace drover {
namespace {

/// sum of c_k (x_k - k)^2 with curvatures from 1 to 1000: the minimum is at x_k = k.
double bowl(std::span<const double> x, std::span<double> gradient) {
  double value = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double curvature = std::pow(1000.0, static_cast<double>(k) / static_cast<double>(x.size()));
    const double away = x[k] - static_cast<double>(k);
    value += curvature * away * away;
    gradient[k] = 2 * curvature * away;
  }
  return value;
}

TEST(Lbfgs, FindsTheBottomOfABowl) {
  for (std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{50}}) {
    std::vector<double> x(n, -3.0);
    const LbfgsSummary summary = minimise(x, bowl, {.gradient_tolerance = 1e-10});
    EXPECT_TRUE(summary.converged) << summary.ended;
    for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(x[k], static_cast<double>(k), 1e-8);
    EXPECT_NEAR(summary.value, 0, 1e-12);
    EXPECT_EQ(summary.trace.size(), summary.iterations);
    for (std::size_t i = 1; i < summary.trace.size(); ++i) EXPECT_LE(summary.trace[i], summary.trace[i - 1]);
  }
}

TEST(Lbfgs, AbsoluteValuesPullToZero) {
  // (x - a)^2 + |x|: the minimum is a moved by 1/2 towards 0, and exactly 0 when it would pass it. The first
  // variable is left out of the absolute values.
  const std::vector<double> a = {0.3, 0.3, -0.4, 2.0, -1.0};
  std::vector<double> x(a.size(), 1.0);
  const LbfgsSummary summary = minimise(x,
                                        [&](std::span<const double> at, std::span<double> gradient) {
                                          double value = 0;
                                          for (std::size_t k = 0; k < at.size(); ++k) {
                                            value += (at[k] - a[k]) * (at[k] - a[k]);
                                            gradient[k] = 2 * (at[k] - a[k]);
                                          }
                                          return value;
                                        },
                                        {.gradient_tolerance = 1e-9, .l1 = 1, .l1_begin = 1});
  EXPECT_TRUE(summary.converged) << summary.ended;
  const std::vector<double> expected = {0.3, 0, 0, 1.5, -0.5};
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(x[k], expected[k], 1e-7);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 0);
}

TEST(Lbfgs, StopsWhenAskedAndKeepsTheBestSoFar) {
  std::vector<double> x(50, -3.0);
  const LbfgsSummary summary =
      minimise(x, bowl, {}, [](std::size_t iteration, double) { return iteration == 3; });
  EXPECT_FALSE(summary.converged);
  EXPECT_EQ(summary.iterations, 3U);
  EXPECT_EQ(summary.ended, "stopped");
  std::vector<double> gradient(50);
  EXPECT_EQ(bowl(x, gradient), summary.trace.back());

  std::vector<double> y(50, -3.0);
  const LbfgsSummary two = minimise(y, bowl, {.max_iterations = 2});
  EXPECT_FALSE(two.converged);
  EXPECT_EQ(two.iterations, 2U);
}

TEST(Lbfgs, AnErrorOfTheFunctionReachesTheCaller) {
  std::vector<double> x(3, 1.0);
  EXPECT_THROW(minimise(x,
                        [](std::span<const double>, std::span<double>) -> double {
                          throw std::runtime_error("the function failed");
                        }),
               std::runtime_error);
}

}  // namespace
}  // namespace drover
