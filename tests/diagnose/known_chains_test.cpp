// Chains whose autocorrelation time is known: AR(1) has tau = (1 + phi) / (1 - phi), and so has the two-state
// Markov chain with phi = 1 - p01 - p10. Also the packed bits against the general code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/diagnose/autocorrelation.hpp"
#include "drover/diagnose/beta_quantile.hpp"
#include "drover/diagnose/binary_draws.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/mcse.hpp"
#include "drover/diagnose/normal_quantile.hpp"
#include "drover/diagnose/rhat.hpp"
#include "drover/diagnose/summary.hpp"

namespace drover {
namespace {

DrawsBuffer autoregression(std::uint64_t seed, double phi, std::size_t chains, std::size_t draws) {
  RandomSequence random(seed, Stream::generate);
  DrawsBuffer buffer{{}, chains, draws};
  for (std::size_t c = 0; c < chains; ++c) {
    double x = random.normal();
    for (std::size_t t = 0; t < draws; ++t) {
      buffer.values.push_back(x);
      x = phi * x + std::sqrt(1 - phi * phi) * random.normal();
    }
  }
  return buffer;
}

DrawsBuffer two_state(std::uint64_t seed, double p01, double p10, std::size_t chains, std::size_t draws) {
  RandomSequence random(seed, Stream::generate);
  DrawsBuffer buffer{{}, chains, draws};
  for (std::size_t c = 0; c < chains; ++c) {
    bool x = random.uniform() < p01 / (p01 + p10);
    for (std::size_t t = 0; t < draws; ++t) {
      buffer.values.push_back(x ? 1 : 0);
      x = x ? random.uniform() >= p10 : random.uniform() < p01;
    }
  }
  return buffer;
}

TEST(KnownChains, AutoregressionHasItsTime) {
  // With 64 chains of n draws and a window of a few tau the relative error of tau is about
  // sqrt(2 * window / (64 n)): below 2.5% here, so 10% is four standard deviations.
  for (const double phi : {-0.6, 0.0, 0.5, 0.9}) {
    const DrawsBuffer buffer = autoregression(3, phi, 64, 4000);
    const double tau = (1 + phi) / (1 - phi);
    const DrawsSummary summary = summarise(buffer.view());
    EXPECT_NEAR(summary.autocorrelation_time / tau, 1, 0.10) << phi;
    EXPECT_NEAR(autocorrelation_time(buffer.view()), summary.autocorrelation_time, 1e-9 * tau);
    EXPECT_NEAR(summary.autocorrelation, phi, 0.02) << phi;
    EXPECT_NEAR(summary.mcse, std::sqrt(tau / (64 * 4000.0)), 0.06 * std::sqrt(tau / (64 * 4000.0))) << phi;
    EXPECT_LT(summary.rhat, 1.01) << phi;
    const std::vector<double> correlation = autocorrelation(buffer.view(), 5);
    for (std::size_t t = 0; t <= 5; ++t)
      EXPECT_NEAR(correlation[t], std::pow(phi, static_cast<double>(t)), 0.02) << phi << " lag " << t;
  }
}

TEST(KnownChains, AutocovarianceEqualsTheDirectSum) {
  for (const std::size_t draws : {4U, 7U, 64U, 100U}) {
    const DrawsBuffer buffer = autoregression(draws, 0.7, 3, draws);
    const std::vector<double> fast = mean_autocovariance(buffer.view());
    ASSERT_EQ(fast.size(), draws);
    for (std::size_t lag = 0; lag < draws; ++lag) {
      double direct = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        const auto chain = buffer.view().chain(c);
        double mean = 0;
        for (double value : chain) mean += value / static_cast<double>(draws);
        for (std::size_t t = 0; t + lag < draws; ++t)
          direct += (chain[t] - mean) * (chain[t + lag] - mean) / static_cast<double>(3 * draws);
      }
      EXPECT_NEAR(fast[lag], direct, 1e-13) << draws << " lag " << lag;
    }
  }
}

TEST(KnownChains, PackedBitsEqualTheGeneralCode) {
  std::uint64_t seed = 100;
  for (const std::size_t chains : {1U, 2U, 3U, 9U, 64U}) {
    for (const std::size_t draws : {4U, 5U, 11U, 12U, 63U, 129U, 130U, 257U, 1000U}) {
      for (const double p : {0.02, 0.3, 0.6}) {
        const DrawsBuffer buffer = two_state(++seed, p, 0.3, chains, draws);
        BinaryDraws binary(chains, draws);
        pack(binary, [&](std::size_t c, std::size_t t) { return buffer.values[c * draws + t] == 1; });
        const BinaryDiagnosis bits = diagnose_binary(binary);
        const DrawsSummary general = summarise(buffer.view());
        const auto same = [&](double a, double b, const char* what) {
          if (std::isnan(b) || std::isinf(b))
            EXPECT_EQ(std::isnan(a), std::isnan(b)) << what << " seed " << seed;
          else
            EXPECT_NEAR(a, b, 1e-9 * (1 + std::abs(b))) << what << " seed " << seed;
        };
        same(bits.mean, general.mean, "mean");
        // All split draws may be equal although the middle draws are not.
        if (std::isnan(bits.rhat)) {
          EXPECT_FALSE(std::isfinite(general.rhat));
          continue;
        }
        same(bits.rhat, general.rhat, "rhat");
        same(bits.ess, general.ess_bulk, "ess_bulk");
        same(bits.ess, general.ess_tail, "ess_tail");
        same(bits.ess, general.ess_mean, "ess_mean");
        same(bits.mcse, general.mcse, "mcse");
        same(bits.autocorrelation, general.autocorrelation, "autocorrelation");
      }
    }
  }
}

TEST(KnownChains, BinaryFiguresDoNotDependOnWhichValueIsOne) {
  const DrawsBuffer buffer = two_state(9, 0.9, 0.02, 4, 200);
  DrawsBuffer other = buffer;
  for (double& value : other.values) value = 1 - value;
  EXPECT_NEAR(rhat(buffer.view()), rhat(other.view()), 1e-12);
  EXPECT_NEAR(ess_tail(buffer.view()), ess_tail(other.view()), 1e-9 * ess_tail(other.view()));
}

TEST(KnownChains, TwoStateCoverage) {
  // 200 runs; the mean is within 2 standard errors with probability 0.954. The count is binomial: 180 lies
  // more than 3.6 standard deviations below, and 199 or more is not excluded but the mean ratio bounds it.
  const double p01 = 0.1, p10 = 0.2, truth = p01 / (p01 + p10), tau = (2 - 0.3) / 0.3;
  int inside = 0;
  double ratio = 0;
  for (std::uint64_t run = 0; run < 200; ++run) {
    const DrawsBuffer buffer = two_state(1000 + run, p01, p10, 8, 500);
    const DrawsSummary summary = summarise(buffer.view());
    inside += std::abs(summary.mean - truth) < 2 * summary.mcse;
    ratio += summary.mcse / std::sqrt(truth * (1 - truth) * tau / 4000) / 200;
  }
  EXPECT_GE(inside, 180);
  EXPECT_NEAR(ratio, 1, 0.05);
}

TEST(Quantiles, NormalAndBetaInvertTheirDistributions) {
  for (const double p : {1e-300, 1e-20, 1e-9, 1e-3, 0.02, 0.1586553, 0.3, 0.4999}) {
    const double z = normal_quantile(p);
    EXPECT_NEAR(std::erfc(-z / std::sqrt(2.0)) / 2 / p, 1, 2e-13 * (1 + z * z)) << p;
    if (p > 1e-12) {
      EXPECT_NEAR(normal_quantile(1 - p), -z, 1e-4 * p + 1e-12 / p * 1e-3) << p;
    }
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_TRUE(std::isnan(normal_quantile(1.5)));
  // Beta(2, 3): F(x) = 6x^2 - 8x^3 + 3x^4.
  for (const double x : {0.01, 0.2, 0.5, 0.8, 0.99}) {
    const double exact = x * x * (6 - 8 * x + 3 * x * x);
    EXPECT_NEAR(beta_distribution(x, 2, 3), exact, 1e-14);
    // An error of one part in 2^52 of F moves x by that over the density 12 x (1 - x)^2.
    EXPECT_NEAR(beta_quantile(exact, 2, 3), x, 4e-15 + 1e-15 / (12 * x * (1 - x) * (1 - x)));
  }
  EXPECT_NEAR(beta_quantile(0.5, 5e6, 5e6), 0.5, 1e-9);
}

}  // namespace
}  // namespace drover
