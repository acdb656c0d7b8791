// Figures from segment means against those of the draws and against known autocorrelation times.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/diagnose/rhat.hpp"
#include "drover/diagnose/segment_block.hpp"
#include "drover/diagnose/segment_moments.hpp"

namespace drover {
namespace {

struct SegmentRun {
  std::vector<double> draws;  // chain after chain
  std::vector<double> means;  // segment after segment, chain fastest
  SegmentMeans segments;
};

/// A two-state chain with stationary probability p and lag-one correlation phi.
SegmentRun two_state_run(std::uint64_t seed, double p, double phi, std::size_t chains, std::size_t segments,
                         std::size_t length) {
  SegmentRun run;
  run.means.assign(chains * segments, 0.0);
  RandomSequence random(seed, Stream::generate);
  for (std::size_t c = 0; c < chains; ++c) {
    bool x = random.uniform() < p;
    for (std::size_t s = 0; s < segments; ++s) {
      for (std::size_t t = 0; t < length; ++t) {
        run.draws.push_back(x ? 1 : 0);
        run.means[s * chains + c] += (x ? 1.0 : 0.0) / static_cast<double>(length);
        if (random.uniform() >= phi) x = random.uniform() < p;
      }
    }
  }
  run.segments = {run.means.data(), chains, segments, static_cast<double>(length), 1, chains};
  return run;
}

TEST(SegmentMoments, RhatEqualsThatOfTheDraws) {
  for (const double phi : {0.0, 0.8, 0.99}) {
    for (const std::size_t segments : {2U, 4U, 10U}) {
      const SegmentRun run = two_state_run(segments, 0.3, phi, 5, segments, 16);
      const Draws draws{run.draws.data(), 5, segments * 16};
      EXPECT_NEAR(rhat_from_segments(run.segments), rhat(draws), 1e-10);
    }
  }
}

// The middle segment of an odd number belongs to neither half: the figure is that of the draws without it.
TEST(SegmentMoments, RhatOfAnOddNumberLeavesOutTheMiddle) {
  constexpr std::size_t chains = 5, length = 16;
  std::vector<double> scratch;
  for (const std::size_t segments : {3U, 5U, 9U}) {
    // The halves differ in their means, so that none may be taken from the wrong place.
    SegmentRun run = two_state_run(segments, 0.3, 0.8, chains, segments, length);
    std::vector<double> kept;
    for (std::size_t c = 0; c < chains; ++c)
      for (std::size_t s = 0; s < segments; ++s)
        if (s != segments / 2)
          for (std::size_t t = 0; t < length; ++t) kept.push_back(run.draws[(c * segments + s) * length + t]);
    const Draws draws{kept.data(), chains, (segments - 1) * length};
    EXPECT_NEAR(rhat_from_segments(run.segments), rhat(draws), 1e-10) << segments;
    EXPECT_NEAR(figures_from_segments(run.segments, scratch).rhat, rhat(draws), 1e-10) << segments;
  }
}

// Standard errors that can be worked out by hand.
TEST(SegmentMoments, StandardErrorsByHand) {
  std::vector<double> scratch;
  const auto expect_error = [&](const std::vector<double>& means, std::size_t chains, double variance) {
    const SegmentMeans segments{means.data(), chains, means.size() / chains, 10, 1, chains};
    EXPECT_NEAR(mcse_from_segments(segments), std::sqrt(variance), 1e-12);
    EXPECT_NEAR(figures_from_segments(segments, scratch).mcse, std::sqrt(variance), 1e-12);
    const double p = mean_from_segments(segments);
    const double ess =
        std::min(p * (1 - p) / variance,
                 static_cast<double>(means.size()) * 10 * std::log10(static_cast<double>(means.size()) * 10));
    EXPECT_NEAR(ess_from_segments(segments), ess, 1e-9 * ess);
    EXPECT_NEAR(figures_from_segments(segments, scratch).ess, ess, 1e-9 * ess);
  };
  // Chains alike, batches apart: four squares of 0.1, two degrees of freedom, four batches.
  expect_error({0.2, 0.4, 0.4, 0.2}, 2, 0.04 / 2 / 4);
  // Chains apart, batches alike: three means 0.2 apart have variance 0.04.
  expect_error({0.2, 0.4, 0.6, 0.2, 0.4, 0.6}, 3, 0.04 / 3);
  // Segments in equal pairs: eight batches of two vary by 0.1 each; single ones would say 16 / 15 / 16.
  std::vector<double> pairs;
  for (std::size_t s = 0; s < 16; ++s) pairs.push_back(s / 2 % 2 == 0 ? 0.4 : 0.6);
  expect_error(pairs, 1, 0.01 * 8 / 7 / 8);
  // An odd one at the start is left out of the batches of two.
  pairs.insert(pairs.begin(), 0.5);
  expect_error(pairs, 1, 0.01 * 8 / 7 / 8);
}

struct Coverage {
  double inside = 0;
  double error_ratio = 0;  // mean MCSE over the true standard error
  double ess_ratio = 0;    // mean ESS over the true one
};

Coverage coverage(double p, double phi, std::size_t chains, std::size_t segments, std::size_t length,
                  int runs, std::uint64_t seed) {
  Coverage result;
  const double n = static_cast<double>(segments * length);
  // The exact variance of the mean of n draws of one chain.
  const double variance =
      p * (1 - p) / n *
      ((1 + phi) / (1 - phi) - 2 * phi * (1 - std::pow(phi, n)) / (n * (1 - phi) * (1 - phi)));
  const double truth = std::sqrt(variance / static_cast<double>(chains));
  for (int r = 0; r < runs; ++r) {
    const SegmentRun run =
        two_state_run(seed + static_cast<std::uint64_t>(r), p, phi, chains, segments, length);
    const double error = mcse_from_segments(run.segments);
    result.inside += std::abs(mean_from_segments(run.segments) - p) < 2 * error ? 1.0 / runs : 0.0;
    result.error_ratio += error / truth / runs;
    result.ess_ratio += ess_from_segments(run.segments) / (p * (1 - p) / (truth * truth)) / runs;
  }
  return result;
}

// 300 runs; two standard errors hold with probability 0.954 if the error is known. Binomial standard
// deviation 0.012, so 0.954 - 4 * 0.012 = 0.906 is the limit; taking the largest of several estimates only
// adds.
constexpr int runs = 300;
constexpr double least_coverage = 0.906;

TEST(SegmentMoments, LongSegmentsAnyNumberOfChains) {
  std::uint64_t seed = 10000;
  for (const std::size_t chains : {1U, 2U, 4U, 16U, 64U}) {
    const Coverage result = coverage(0.3, 0.5, chains, 20, 50, runs, seed += 1000);
    EXPECT_GE(result.inside, least_coverage) << chains;
    // The largest of a few noisy estimates is too large by a part of their spread.
    EXPECT_GE(result.error_ratio, 0.93) << chains;
    EXPECT_LE(result.error_ratio, 1.35) << chains;
    EXPECT_GE(result.ess_ratio, 0.6) << chains;
    EXPECT_LE(result.ess_ratio, 1.25) << chains;
  }
}

TEST(SegmentMoments, ManyChainsNeedNoLongSegments) {
  // tau = 399 draws, segments of 10: batch means are useless, 64 chains are not.
  const Coverage result = coverage(0.4, 0.995, 64, 10, 10, runs, 50000);
  EXPECT_GE(result.inside, least_coverage);
  EXPECT_NEAR(result.error_ratio, 1, 0.1);
}

TEST(SegmentMoments, FewChainsAndShortSegmentsAreTooHopeful) {
  // What the header warns of, so that the warning stays true.
  const Coverage result = coverage(0.4, 0.995, 2, 10, 10, runs, 60000);
  EXPECT_LT(result.inside, 0.9);
}

// All at once and one by one are the same sums in another order.
TEST(SegmentMoments, FiguresTogetherAreThoseApart) {
  std::vector<double> scratch;
  const auto expect_same = [&](const SegmentMeans& segments) {
    const SegmentFigures figures = figures_from_segments(segments, scratch);
    const auto expect_near = [](double a, double b) {
      EXPECT_EQ(std::isnan(a), std::isnan(b));
      if (!std::isnan(b)) {
        EXPECT_NEAR(a, b, 1e-10 * (1 + b));
      }
    };
    expect_near(figures.rhat, rhat_from_segments(segments));
    expect_near(figures.mcse, mcse_from_segments(segments));
    expect_near(figures.ess, ess_from_segments(segments));
  };
  for (const std::size_t chains : {1U, 2U, 5U, 64U})
    for (const std::size_t segments : {1U, 2U, 3U, 9U, 16U, 33U}) {
      const SegmentRun run = two_state_run(segments, 0.3, 0.5, chains, segments, 16);
      expect_same(run.segments);
      std::vector<double> turned(run.means.size());
      for (std::size_t c = 0; c < chains; ++c)
        for (std::size_t s = 0; s < segments; ++s) turned[c * segments + s] = run.segments.at(c, s);
      expect_same({turned.data(), chains, segments, 16, segments, 1});
      const std::vector<double> constant(run.means.size(), 0.25);
      expect_same({constant.data(), chains, segments, 16, 1, chains});
    }
}

// Several entries in lanes, some of them constant, beside each by itself.
TEST(SegmentMoments, FiguresOfABlockAreThoseOfItsEntries) {
  constexpr std::size_t width = SegmentBlock::width;
  std::vector<double> scratch, room;
  for (const std::size_t chains : {1U, 2U, 5U, 64U})
    for (const std::size_t segments : {1U, 2U, 3U, 9U, 16U, 33U}) {
      std::vector<float> block(chains * segments * width);
      RandomSequence random(chains + segments, Stream::generate);
      for (std::size_t k = 0; k < block.size(); ++k) {
        const std::size_t entry = k % width;
        block[k] = entry == 3   ? 0.0F
                   : entry == 7 ? 0.25F
                                : static_cast<float>(random.uniform() / static_cast<double>(1 + entry));
      }
      BlockFigures found;
      std::vector<const float*> rows;
      for (std::size_t s = 0; s < segments; ++s) rows.push_back(block.data() + s * chains * width);
      figures_of_block({rows, chains, 16, width}, room, found);
      for (std::size_t e = 0; e < width; ++e) {
        std::vector<double> own;
        for (std::size_t k = e; k < block.size(); k += width) own.push_back(block[k]);
        const SegmentMeans means{own.data(), chains, segments, 16, 1, chains};
        const SegmentFigures expected = figures_from_segments(means, scratch);
        const auto expect_near = [&](double a, double b) {
          ASSERT_EQ(std::isnan(a), std::isnan(b)) << chains << ' ' << segments << ' ' << e;
          if (!std::isnan(b)) {
            ASSERT_NEAR(a, b, 1e-10 * (1 + b)) << chains << ' ' << segments << ' ' << e;
          }
        };
        expect_near(found.mean[e], mean_from_segments(means));
        expect_near(found.rhat[e], expected.rhat);
        expect_near(found.mcse[e], expected.mcse);
        expect_near(found.ess[e], expected.ess);
      }
    }
}

TEST(SegmentMoments, SpecialCases) {
  const std::vector<double> same(12, 0.25);
  EXPECT_TRUE(std::isnan(mcse_from_segments({same.data(), 3, 4, 10, 4, 1})));
  EXPECT_TRUE(std::isnan(ess_from_segments({same.data(), 3, 4, 10, 4, 1})));
  EXPECT_NEAR(rhat_from_segments({same.data(), 3, 4, 10, 4, 1}), std::sqrt(19.0 / 20), 1e-12);
  const std::vector<double> zeros(12, 0.0);
  EXPECT_TRUE(std::isnan(rhat_from_segments({zeros.data(), 3, 4, 10, 4, 1})));
  const std::vector<double> stuck{0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(rhat_from_segments({stuck.data(), 2, 4, 10, 4, 1}), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(mcse_from_segments({stuck.data(), 2, 4, 10, 4, 1}), 0.5, 1e-12);
  EXPECT_NEAR(ess_from_segments({stuck.data(), 2, 4, 10, 4, 1}), 1, 1e-12);
  EXPECT_TRUE(std::isnan(mcse_from_segments({stuck.data(), 1, 1, 10, 4, 1})));
  EXPECT_TRUE(std::isnan(rhat_from_segments({stuck.data(), 2, 1, 10, 4, 1})));
  EXPECT_TRUE(std::isnan(mcse_from_segments({nullptr, 0, 0, 10, 4, 1})));
}

}  // namespace
}  // namespace drover
