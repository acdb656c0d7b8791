#include "drover/image/denoising.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"

namespace drover {
namespace {

// Discs and stripes: borders in every direction.
std::vector<double> clean_image(std::size_t side) {
  std::vector<double> pixels;
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const double dx = static_cast<double>(x % 50) - 25, dy = static_cast<double>(y % 60) - 30;
      pixels.push_back(dx * dx + dy * dy < 200 || (x + y) % 70 < 15 ? -1 : 1);
    }
  return pixels;
}

std::vector<double> clipped(std::vector<double> values) {
  for (double& y : values) y = std::clamp(y, -1.0, 1.0);
  return values;
}

// 40,000 pixels: the maximum-likelihood estimate has a standard error of about sigma / sqrt(2 n) = 0.35 % for
// an open range; clipping costs some of it.
TEST(Denoising, SigmaIsRecovered) {
  const std::vector<double> clean = clean_image(200);
  for (const double sigma : {0.1, 0.3, 1.0, 2.0, 4.0, 8.0})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const NoisyImage open = add_noise(clean, 200, 200, sigma, seed);
      EXPECT_NEAR(estimate_sigma(open), sigma, 0.02 * sigma) << "open";
      // Hardly a block of this picture is without a border: the quietest ones still have something of it.
      EXPECT_GT(estimate_sigma_grey(open), 0.95 * sigma) << "grey";
      EXPECT_LT(estimate_sigma_grey(open), 1.1 * sigma + 0.02) << "grey";
      const NoisyImage cut = noisy_image(clipped(open.values), 200, 200);
      ASSERT_EQ(cut.range, PixelRange::clipped);
      EXPECT_NEAR(estimate_sigma(cut), sigma, 0.03 * sigma) << "clipped";
      std::vector<double> signs;
      for (double y : open.values) signs.push_back(y >= 0 ? 1 : -1);
      const NoisyImage two = noisy_image(signs, 200, 200);
      ASSERT_EQ(two.range, PixelRange::two);
      // (1 - 2 e)^2 = erf(1 / (sigma sqrt 2))^2 is 2 rho_1 - rho_2, each rho a mean of 79,600 products: a
      // standard error of sqrt(5 / 79,600) = 0.008; borders that are not straight add their share.
      const auto squared = [](double s) { return std::pow(std::erf(1 / (s * std::sqrt(2))), 2); };
      EXPECT_NEAR(squared(estimate_sigma(two)), squared(sigma), 4 * 0.008) << "two " << sigma;
    }
}

TEST(Denoising, SigmaOfOddImages) {
  for (const std::size_t width : {1U, 2U, 5U})
    for (const double value : {-1.0, 0.0, 0.3, 1.0}) {
      const NoisyImage image = noisy_image(std::vector<double>(width * 3, value), width, 3);
      for (const double sigma : {estimate_sigma(image), estimate_sigma_grey(image)}) {
        EXPECT_GE(sigma, 0.002);
        EXPECT_LE(sigma, 100);
      }
    }
  const NoisyImage one = noisy_image({0.2}, 1, 1);
  EXPECT_GT(estimate_sigma(one), 0);
  EXPECT_GT(estimate_sigma_grey(one), 0);
}

// Each likelihood is the probability of what is seen: the integral over an open density gives the others.
TEST(Denoising, LikelihoodsOfTheThreeRangesAgree) {
  for (const double sigma : {0.3, 1.0, 5.0})
    for (const double x : {-1.0, 0.2, 1.0}) {
      double above_one = 0, above_zero = 0;
      const double step = sigma / 2000;
      for (double y = 0.5 * step; y < 1 + 12 * sigma; y += step) {
        const double density = std::exp(log_likelihood(y, x, sigma, PixelRange::open)) /
                               (sigma * std::sqrt(2 * 3.14159265358979323846));
        above_zero += density * step;
        above_one += y >= 1 ? density * step : 0;
      }
      EXPECT_NEAR(std::exp(log_likelihood(1, x, sigma, PixelRange::two)), above_zero, 1e-4);
      EXPECT_NEAR(std::exp(log_likelihood(1, x, sigma, PixelRange::clipped)), above_one, 1e-3);
      EXPECT_NEAR(log_likelihood(-1, -x, sigma, PixelRange::clipped),
                  log_likelihood(1, x, sigma, PixelRange::clipped), 1e-12);
      EXPECT_EQ(log_likelihood(0.4, x, sigma, PixelRange::clipped),
                log_likelihood(0.4, x, sigma, PixelRange::open));
    }
  // Far in the tail, too.
  EXPECT_NEAR(log_likelihood(1, -1, 0.05, PixelRange::clipped), -804.6, 0.1);
}

// Every state's posterior by the formulas of the header.
TEST(Denoising, ModelsAreTheirFormulas) {
  const NoisyImage image = add_noise(std::vector<double>{-1, 1, 1, -1, 1, -1}, 3, 2, 1.5, 4);
  const std::vector<std::pair<int, int>> pairs = {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {0, 3}, {1, 4}, {2, 5}};
  for (const std::uint32_t levels : {2U, 3U, 4U}) {
    const double coupling = 0.7, sigma = 1.5, truncation = 0.9;
    const Graph graph =
        compile(levels == 2 ? denoising_model(image, sigma, coupling)
                            : grey_denoising_model(image, sigma, levels, coupling, truncation));
    RandomSequence random(levels, Stream::generate);
    double offset = 0;
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<Value> state;
      double expected = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        state.push_back(static_cast<Value>(random.below(levels)));
        const double error = image.values[i] - (-1 + 2.0 * state[i] / (levels - 1));
        expected -= error * error / (2 * sigma * sigma);
      }
      for (const auto& [i, j] : pairs) {
        const double x = -1 + 2.0 * state[static_cast<std::size_t>(i)] / (levels - 1);
        const double y = -1 + 2.0 * state[static_cast<std::size_t>(j)] / (levels - 1);
        expected += levels == 2 ? coupling * x * y : -coupling * std::min(std::abs(x - y), truncation);
      }
      const double score = log_score(graph, state);
      if (repeat == 0) offset = score - expected;
      EXPECT_NEAR(score - expected, offset, 1e-9);
    }
  }
}

// Two grey levels without truncation are black and white.
TEST(Denoising, TwoLevelsAreTheIsingModel) {
  const NoisyImage image = add_noise(std::vector<double>(9, 1.0), 3, 3, 1, 2);
  const Enumeration a = enumerate(compile(denoising_model(image, 1, 0.6)));
  const Enumeration b = enumerate(compile(grey_denoising_model(image, 1, 2, 0.6, 2)));
  for (std::size_t s = 0; s < a.probabilities.size(); ++s)
    EXPECT_NEAR(a.probabilities[s], b.probabilities[s], 1e-12);
}

TEST(Denoising, StartsAndErrors) {
  const NoisyImage image = noisy_image({-0.9, -0.1, 0.1, 0.8}, 2, 2);
  EXPECT_EQ(image.range, PixelRange::open);
  EXPECT_EQ(most_likely_states(image, 2), (std::vector<Value>{0, 0, 1, 1}));
  EXPECT_EQ(most_likely_states(image, 3), (std::vector<Value>{0, 1, 1, 2}));
  const std::vector<double> truth = {-1, 1, 1, -1};
  EXPECT_NEAR(mean_squared_error(image.values, truth), (0.01 + 1.21 + 0.81 + 3.24) / 4, 1e-12);
  EXPECT_EQ(wrong_share(image.values, truth), 0.5);
}

}  // namespace
}  // namespace drover
