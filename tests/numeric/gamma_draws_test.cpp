// Gamma variates against their distribution function; evidence of counts against its definition.
#include "drover/numeric/gamma_draws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "drover/text/dirichlet_multinomial.hpp"

namespace drover {
namespace {

// P(a, x), the regularised lower incomplete gamma function: its series below a + 1, a continued fraction
// above.
double gamma_cdf(double a, double x) {
  if (x <= 0) return 0;
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < 100000 && term > 1e-16 * sum; ++n) sum += term *= x / (a + n);
    return front * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int n = 1; n < 100000; ++n) {
    const double an = -n * (n - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return 1 - front * h;
}

// Chains and sweeps share no random numbers: of a thousand pairs none is equal.
TEST(GammaDraws, ChainsAndSweepsDiffer) {
  const Random random(7, Stream::start);
  for (const double shape : {0.4, 2.0}) {
    double covariance = 0;
    for (std::uint32_t s = 0; s < 4000; ++s) {
      const double here = draw_log_gamma(random, 1, 9, s, shape);
      const double chain = draw_log_gamma(random, 2, 9, s, shape),
                   sweep = draw_log_gamma(random, 1, 8, s, shape);
      // By their signs about the median of the sum of two: +1 or -1 with equal chances when independent.
      covariance += (here > -0.3) == (chain > -0.3) ? 1 : -1;
      EXPECT_NE(here, chain);
      EXPECT_NE(here, sweep);
    }
    double below = 0;
    for (std::uint32_t s = 0; s < 4000; ++s) below += draw_log_gamma(random, 3, 9, s, shape) <= -0.3;
    const double p = below / 4000, agree = p * p + (1 - p) * (1 - p);
    EXPECT_NEAR(covariance / 4000, 2 * agree - 1, 0.12) << shape;  // five deviations and that of p
  }
}

TEST(GammaDraws, DistributionFunction) {
  constexpr std::uint32_t groups = 1000, width = GammaDraws::width;
  const GammaDraws draws(7, Stream::text_words);
  const Random random(7, Stream::start);
  for (const double shape : {0.02, 0.4, 1.0, 1.3, 3.0, 40.0, 1000.0, 100001.0}) {
    std::vector<double> fast, single;
    std::vector<float> shapes(width, static_cast<float>(shape)), logs(width);
    for (std::uint32_t g = 0; g < groups; ++g) {
      const double sum = draws.draw(3, 5, g, shapes.data(), width, logs.data());
      double expected = 0;
      for (const float log : logs) {
        expected += std::exp(static_cast<double>(log));
        fast.push_back(log);
      }
      EXPECT_NEAR(sum, expected, 1e-5 * expected);
    }
    for (std::uint32_t s = 0; s < 20000; ++s) single.push_back(draw_log_gamma(random, 2, 9, s, shape));
    for (std::vector<double>* values : {&fast, &single}) {
      std::sort(values->begin(), values->end());
      const auto n = static_cast<double>(values->size());
      double distance = 0;
      for (std::size_t t = 0; t < values->size(); ++t) {
        const double p = gamma_cdf(shape, std::exp((*values)[t]));
        distance = std::max({distance, std::abs(p - static_cast<double>(t) / n),
                             std::abs(p - static_cast<double>(t + 1) / n)});
      }
      // Kolmogorov: P(sqrt(n) D > 2.2) = 2 exp(-2 * 2.2^2) < 2e-4
      EXPECT_LT(distance * std::sqrt(n), 2.2) << "shape " << shape;
    }
  }
}

// Of normal numbers x the share exp(h(x)) is taken, h the test's right side: the integral of exp(d - d v) v^d / sqrt(2 pi)
// over x is e^d sqrt(d) Gamma(a) / (sqrt(2 pi) d^a). What is refused is drawn anew in double precision from numbers of its
// own, by which it is known.
TEST(GammaDraws, RefusesTheShareOfTheFormula) {
  constexpr std::uint32_t groups = 1000, width = GammaDraws::width;
  const GammaDraws draws(7, Stream::text_words);
  const Random again(7, Stream::text_words);
  for (const double shape : {1.0, 3.0, 10.0, 40.0}) {
    std::vector<float> shapes(width, static_cast<float>(shape)), logs(width);
    double refused = 0;
    for (std::uint32_t g = 0; g < groups; ++g) {
      draws.draw(3, 5, g, shapes.data(), width, logs.data());
      for (std::uint32_t i = 0; i < width; ++i)
        refused += logs[i] == static_cast<float>(draw_log_gamma(again, 3, 5, width * g + i, shape));
    }
    const double d = shape - 1.0 / 3;
    const double taken =
        std::exp(d + log_gamma(shape) + (0.5 - shape) * std::log(d)) / std::sqrt(2 * std::numbers::pi);
    const double expected = groups * width * (1 - taken);
    // Bernstein: P(|refused - expected| > sqrt(2 L expected) + 2 L / 3) < 2 exp(-L) < 2e-6
    EXPECT_NEAR(refused, expected, std::sqrt(2 * 14 * expected) + 2 * 14 / 3.0) << "shape " << shape;
  }
}

TEST(GammaDraws, PartOfAGroupAndItsPlace) {
  const GammaDraws draws(1, Stream::text_words);
  std::vector<float> shapes(64, 2.0F), all(64), part(64), other(64);
  draws.draw(0, 0, 0, shapes.data(), 64, all.data());
  const double sum = draws.draw(0, 0, 0, shapes.data(), 2, part.data());
  EXPECT_NEAR(sum, std::exp(all[0]) + std::exp(all[1]), 1e-5 * sum);
  for (const auto& [chain, sweep, group] : {std::tuple{1U, 0U, 0U}, {0U, 1U, 0U}, {0U, 0U, 1U}}) {
    draws.draw(chain, sweep, group, shapes.data(), 64, other.data());
    EXPECT_NE(all, other);
  }
}

TEST(DirichletMultinomial, EvidenceIsTheDefinition) {
  CountHistogram histogram;
  const std::vector<std::uint32_t> counts = {0, 3, 1, 0, 5000, 7};
  double total = 0;
  for (const std::uint32_t n : counts) {
    histogram.add(n);
    total += n;
  }
  for (const double a : {0.01, 1.0, 17.5}) {
    double expected = log_gamma(6 * a) - log_gamma(total + 6 * a);
    for (const std::uint32_t n : counts) expected += log_gamma(n + a) - log_gamma(a);
    const CountGroup group{6, total};
    EXPECT_NEAR(log_evidence(histogram, {&group, 1}, a), expected, 1e-9 * std::abs(expected));
  }
}

TEST(DirichletMultinomial, ChainsSweepsAndPlacesDiffer) {
  CountHistogram histogram;
  for (const std::uint32_t n : {0U, 3U, 1U, 7U}) histogram.add(n);
  const CountGroup group{4, 11};
  const Random random(7, Stream::start);
  const auto draw = [&](std::uint32_t chain, std::uint64_t sweep, std::uint32_t place) {
    return draw_pseudo_count(histogram, {&group, 1}, 1.0, random, chain, sweep, place);
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(0, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 0, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 0));
}

}  // namespace
}  // namespace drover
