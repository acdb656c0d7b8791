// The posteriors that are made for images: against enumeration, known parameters, and filters.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/image/binary_estimate.hpp"
#include "drover/image/binary_posterior.hpp"
#include "drover/image/grey_posterior.hpp"
#include "drover/image/pixel_patterns.hpp"
#include "drover/infer/enumerate.hpp"

namespace drover {
namespace {

TEST(BinaryPosterior, AgreesWithEnumeration) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RandomSequence random(seed, Stream::generate);
    std::vector<double> values;
    for (int p = 0; p < 12; ++p) values.push_back(1.5 * random.normal());
    const NoisyImage image{4, 3, PixelRange::open, values};
    const double coupling = 0.1 + 0.08 * static_cast<double>(seed);
    const Enumeration exact = enumerate(compile(denoising_model(image, 0.9, coupling)));
    const BinaryPosterior found =
        binary_posterior(image, {.coupling = coupling, .sigma = 0.9}, 2, 50, 20000, seed);
    // Conditional expectations vary by at most 1, and 40,000 sweeps of a weakly coupled grid are thousands of
    // independent ones: five standard errors of 2,000 draws.
    for (std::size_t p = 0; p < 12; ++p)
      EXPECT_NEAR(found.mean[p], 2 * exact.marginals[p][1] - 1, 5 / std::sqrt(2000.0)) << seed << " " << p;
  }
}

/// Draws of an Ising model, by its own long chain.
std::vector<double> ising_draw(std::size_t width, std::size_t height, double coupling, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  std::vector<double> spins;
  for (std::size_t i = 0; i < width * height; ++i) spins.push_back(random.uniform() < 0.5 ? -1 : 1);
  for (int sweep = 0; sweep < 200; ++sweep)
    for (std::size_t y = 0; y < height; ++y)
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t i = y * width + x;
        const double n = (x > 0 ? spins[i - 1] : 0) + (x + 1 < width ? spins[i + 1] : 0) +
                         (y > 0 ? spins[i - width] : 0) + (y + 1 < height ? spins[i + width] : 0);
        spins[i] = random.uniform() * (1 + std::exp(-2 * coupling * n)) < 1 ? 1 : -1;
      }
  return spins;
}

TEST(BinaryModel, FindsCouplingLevelsLightAndNoise) {
  const std::size_t width = 120, height = 100;
  for (const double coupling : {0.35, 0.45}) {
    const std::vector<double> spins = ising_draw(width, height, coupling, 3);
    NoisyImage image{width, height, PixelRange::open, {}};
    RandomSequence random(9, Stream::generate);
    for (std::size_t i = 0; i < spins.size(); ++i) {
      const double u = 2 * static_cast<double>(i % width) / (width - 1) - 1;
      image.values.push_back(0.1 + 0.3 * spins[i] + 0.2 * u + 0.1 * random.normal());
    }
    BinaryImageModel model = estimate_binary_model(image, {}, {}, 1);
    EXPECT_NEAR(model.coupling, coupling, 0.04);
    EXPECT_NEAR(model.black, -0.2, 0.02);
    EXPECT_NEAR(model.white, 0.4, 0.02);
    EXPECT_FALSE(model.even_light);
    EXPECT_NEAR(model.light[0], 0.2, 0.02);
    EXPECT_NEAR(model.sigma, 0.1, 0.01);
    normalise(image, model);
    double wrong = 0;
    for (std::size_t i = 0; i < spins.size(); ++i) wrong += (image.values[i] >= 0) != (spins[i] > 0);
    EXPECT_LT(wrong / static_cast<double>(spins.size()), 0.005);  // Phi(-3) = 0.0013
    // What is given stays.
    EXPECT_EQ(estimate_binary_model(image, 0.7, 0.5, 1).coupling, 0.7);
    EXPECT_EQ(estimate_binary_model(image, 0.7, 0.5, 1).sigma, 0.5);
  }
}

TEST(BinaryModel, FlippedPixelsTellTheCoupling) {
  // 5 % of the pixels of an Ising image are flipped: no level says anything but the side.
  const std::size_t width = 150, height = 150;
  std::vector<double> spins = ising_draw(width, height, 0.5, 4), seen = spins;
  RandomSequence random(2, Stream::generate);
  for (double& y : seen)
    if (random.uniform() < 0.05) y = -y;
  const NoisyImage image = noisy_image(seen, width, height);
  const BinaryImageModel model = estimate_binary_model(image, {}, {}, 1);
  // The chain that made it is short for an ordered image, which looks a little more ordered than it is.
  EXPECT_NEAR(model.coupling, 0.5, 0.1);
  const BinaryPosterior found = binary_posterior(image, model, 1, 10, 30, 1);
  EXPECT_LT(wrong_share(found.mean, spins), 0.75 * wrong_share(seen, spins));
}

/// A pixel's twelve neighbours, white beyond the border, as the place of its pattern.
std::size_t pattern_of(std::size_t state, int width, int height, int x, int y) {
  constexpr int places[12][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1},
                                 {-1, 1}, {1, 1}, {-2, 0}, {2, 0}, {0, -2},  {0, 2}};
  std::size_t pattern = 0;
  for (int k = 0; k < 12; ++k) {
    const int u = x + places[k][0], v = y + places[k][1];
    const bool outside = u < 0 || v < 0 || u >= width || v >= height;
    pattern |= (outside ? 1 : state >> (v * width + u) & 1U) << k;
  }
  return pattern;
}

TEST(BinaryPosterior, PatternsHaveTheirStationaryDistribution) {
  // Sweeps over 4 x 3 pixels as a matrix: its stationary distribution by repetition.
  constexpr int width = 4, height = 3, pixels = width * height;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RandomSequence random(seed, Stream::generate);
    std::vector<double> values;
    for (int p = 0; p < pixels; ++p) values.push_back(0.5 * random.normal());
    const NoisyImage image{width, height, PixelRange::open, values};
    BinaryImageModel model{.coupling = 0, .sigma = 1};
    for (int p = 0; p < 4096; ++p) model.patterns.push_back(static_cast<float>(0.7 * random.normal()));
    const auto white = [&](std::size_t state, int x, int y) {
      const double odds =
          static_cast<double>(model.patterns[pattern_of(state, width, height, x, y)]) +
          2 * values[static_cast<std::size_t>(y * width + x)];  // log l(y | 1) - log l(y | -1), sigma 1
      return 1 / (1 + std::exp(-odds));
    };
    std::vector<double> law(std::size_t{1} << pixels, 1.0 / (1U << pixels)), expected(pixels);
    for (int sweep = 0; sweep < 60; ++sweep) {
      std::fill(expected.begin(), expected.end(), 0.0);
      for (int colour = 0; colour < 5; ++colour)
        for (int p = 0; p < pixels; ++p) {
          const int x = p % width, y = p / width;
          if ((x + 2 * y) % 5 != colour) continue;
          for (std::size_t s = 0; s < law.size(); ++s) {
            if (s >> p & 1U) continue;
            const double both = law[s] + law[s | 1U << p], up = white(s, x, y);
            expected[static_cast<std::size_t>(p)] += both * up;
            law[s] = both * (1 - up);
            law[s | 1U << p] = both * up;
          }
        }
    }
    const BinaryPosterior found = binary_posterior(image, model, 2, 50, 20000, seed);
    // As above: five standard errors of 2,000 draws.
    for (std::size_t p = 0; p < pixels; ++p)
      EXPECT_NEAR(found.mean[p], 2 * expected[p] - 1, 5 / std::sqrt(2000.0)) << seed << " " << p;
  }
}

/// Rings and slanted lines, one to three pixels wide.
std::vector<double> line_art(std::size_t side, std::uint64_t seed) {
  std::vector<double> ink(side * side, 1);
  RandomSequence random(seed, Stream::generate);
  const auto dot = [&](double u, double v) {
    if (u >= 0 && v >= 0 && u < static_cast<double>(side) && v < static_cast<double>(side))
      ink[static_cast<std::size_t>(v) * side + static_cast<std::size_t>(u)] = -1;
  };
  for (int k = 0; k < 8; ++k) {
    const double x = random.uniform() * static_cast<double>(side),
                 y = random.uniform() * static_cast<double>(side), r = 10 + 30 * random.uniform(),
                 turn = 6.28 * random.uniform();
    for (int width = 0; width < 1 + k % 3; ++width)
      for (double t = 0; t < 6.2832; t += 0.005) {
        dot(x + (r + width) * std::cos(t), y + (r + width) * std::sin(t));
        const double along = (t - 3.14) * 40;
        dot(x + along * std::cos(turn) + width, y + along * std::sin(turn));
      }
  }
  return ink;
}

std::vector<double> flipped(std::vector<double> image, double share, std::uint64_t seed) {
  RandomSequence random(seed, Stream::start);
  for (double& y : image)
    if (random.uniform() < share) y = -y;
  return image;
}

/// Pixels that are right in one image alone, in turn for each.
struct Beaten {
  double first = 0, second = 0;
  void add(std::span<const double> one, std::span<const double> other, std::span<const double> clean) {
    for (std::size_t i = 0; i < clean.size(); ++i) {
      const bool right = (one[i] >= 0) == (clean[i] >= 0), other_right = (other[i] >= 0) == (clean[i] >= 0);
      first += right && !other_right;
      second += !right && other_right;
    }
  }
  /// Were neither better, each such pixel would be a toss: five standard errors of the difference (McNemar 1947).
  bool clearly() const { return first - second > 5 * std::sqrt(first + second); }
};

/// The width of a Gauss filter that is best for this very image, of those in bench/denoise.py.
std::vector<double> best_gauss(std::span<const double> seen, std::span<const double> clean,
                               std::ptrdiff_t side) {
  std::vector<double> best;
  for (const double width : {0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5}) {
    std::vector<double> across(seen.begin(), seen.end()), both(seen.size());
    for (const bool down : {false, true}) {
      std::swap(across, both);
      for (std::ptrdiff_t i = 0; i < side * side; ++i) {
        double sum = 0;
        for (std::ptrdiff_t k = -5; k <= 5; ++k) {
          // The pixel at the border goes on beyond it.
          const std::ptrdiff_t y = std::clamp<std::ptrdiff_t>(i / side + (down ? k : 0), 0, side - 1),
                               x = std::clamp<std::ptrdiff_t>(i % side + (down ? 0 : k), 0, side - 1);
          sum += both[static_cast<std::size_t>(y * side + x)] *
                 std::exp(-0.5 * static_cast<double>(k * k) / (width * width));
        }
        across[static_cast<std::size_t>(i)] = sum;
      }
    }
    if (best.empty() || wrong_share(across, clean) < wrong_share(best, clean)) best = across;
  }
  return best;
}

TEST(BinaryModel, LearnsTheStrokesOfLineArt) {
  for (const double share : {0.01, 0.05}) {
    Beaten coupling, gauss;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const std::size_t side = 180;
      const std::vector<double> clean = line_art(side, seed), seen = flipped(clean, share, seed);
      const NoisyImage image = noisy_image(seen, side, side);
      BinaryImageModel model = estimate_binary_model(image, {}, {}, 1);
      ASSERT_EQ(model.patterns.size(), 4096);
      const std::vector<double> learnt = binary_posterior(image, model, 1, 10, 30, 1).mean;
      model.patterns.clear();
      coupling.add(learnt, binary_posterior(image, model, 1, 10, 30, 1).mean, clean);
      gauss.add(learnt, best_gauss(seen, clean, side), clean);
    }
    // Of so few flips a difference is hard to tell from chance; ahead all the same.
    for (const Beaten& beaten : {coupling, gauss})
      EXPECT_TRUE(share < 0.05 ? beaten.first > beaten.second : beaten.clearly())
          << share << " " << beaten.first << " " << beaten.second;
  }
}

TEST(BinaryModel, HasNoPatternsBesideAGivenCoupling) {
  const NoisyImage image = noisy_image(flipped(line_art(60, 1), 0.05, 1), 60, 60);
  EXPECT_TRUE(estimate_binary_model(image, 0.7, {}, 1).patterns.empty());
}

/// Half a page of letters of three strokes each, one pixel wide; the other half is empty.
std::vector<double> print(std::size_t side, std::uint64_t seed) {
  constexpr std::size_t letters = 26, height = 9, width = 7;
  RandomSequence random(seed, Stream::generate);
  std::vector<double> alphabet(letters * height * width, 1), page(side * side, 1);
  for (std::size_t stroke = 0; stroke < 3 * letters; ++stroke) {
    double* letter = &alphabet[stroke / 3 * height * width];
    const bool across = random.uniform() < 0.5;
    const std::size_t at = random.below(across ? height : width);
    for (std::size_t k = 0; k < (across ? width : height); ++k)
      letter[across ? at * width + k : k * width + at] = -1;
  }
  for (std::size_t top = 4; top + 14 < side; top += 14)
    for (std::size_t left = 4; left < side / 2; left += 9) {
      const double* letter = &alphabet[random.below(letters) * height * width];
      for (std::size_t k = 0; k < height * width; ++k)
        page[(top + k / width) * side + left + k % width] = letter[k];
    }
  return page;
}

TEST(BinaryModel, DotsOnEmptyGroundTellTheNoise) {
  const std::size_t side = 200;
  for (const double share : {0.01, 0.03}) {
    const std::vector<double> clean = print(side, 1);
    const NoisyImage image = noisy_image(flipped(clean, share, 1), side, side);
    const BinaryImageModel model = estimate_binary_model(image, {}, {}, 1);
    const double found = 0.5 * std::erfc(std::sqrt(0.5) / model.sigma);
    double empty = 0;  // pixels in the middle of 5 x 5 white ones
    for (std::size_t y = 2; y + 2 < side; ++y)
      for (std::size_t x = 2; x + 2 < side; ++x) {
        bool white = true;
        for (std::size_t v = y - 2; v <= y + 2; ++v)
          for (std::size_t u = x - 2; u <= x + 2; ++u) white &= clean[v * side + u] > 0;
        empty += white;
      }
    // Those whose twelve neighbours were not flipped: of these the flipped ones are a Poisson count, whose limit lies
    // up to two of its errors above; five on either side.
    const double counted = std::pow(1 - share, 12) * empty, error = std::sqrt(share / counted);
    EXPECT_GT(found, share - 5 * error) << share << " " << error;
    EXPECT_LT(found, share + 7 * error + 4 / counted) << share << " " << error;
    Beaten beaten;
    beaten.add(binary_posterior(image, model, 1, 10, 30, 1).mean, image.values, clean);
    EXPECT_TRUE(beaten.clearly()) << share << " " << beaten.first << " " << beaten.second;
  }
}

TEST(PixelPatterns, LimitFlipsByThePatternThatHasLeast) {
  PatternCounts counts(context_patterns);
  EXPECT_EQ(most_flips(counts).to_black, 1);
  counts[5] = {40, 60};
  EXPECT_NEAR(most_flips(counts).to_black, (40 + 2 * std::sqrt(41.0) + 2) / 100, 1e-12);
  EXPECT_NEAR(most_flips(counts).to_white, (60 + 2 * std::sqrt(61.0) + 2) / 100, 1e-12);
  counts[4095] = {8, 992};
  EXPECT_NEAR(most_flips(counts).to_black, (8 + 6 + 2) / 1000.0, 1e-12);
  counts[7] = {0, 20};  // too few to say more
  EXPECT_NEAR(most_flips(counts).to_black, (8 + 6 + 2) / 1000.0, 1e-12);
  counts[0] = {996, 3};
  EXPECT_NEAR(most_flips(counts).to_black, (8 + 6 + 2) / 1000.0, 1e-12);
  EXPECT_NEAR(most_flips(counts).to_white, (3 + 4 + 2) / 999.0, 1e-12);
}

TEST(BinaryModel, LeavesAHalfToneAlone) {
  // A slope of greys by Bayer's matrix: every pattern of it says what the pixel is, or nearly.
  constexpr int matrix[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  const std::size_t side = 160;
  std::vector<double> clean;
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x)
      clean.push_back(static_cast<double>(x) / side > (matrix[y % 4][x % 4] + 0.5) / 16 ? 1 : -1);
  const NoisyImage image = noisy_image(clean, side, side);
  const BinaryImageModel model = estimate_binary_model(image, {}, {}, 1);
  // No more pixels are turned than were ever believed to be: a pattern of a sixteenth of the image's is a limit of
  // 4 in some hundred pixels.
  EXPECT_LT(0.5 * std::erfc(std::sqrt(0.5) / model.sigma), 4.0 / 100);
  EXPECT_LT(wrong_share(binary_posterior(image, model, 1, 10, 30, 1).mean, clean), 4.0 / 100);
}

/// Discs, a slope and stripes.
NoisyImage drawn_photograph(std::size_t side) {
  NoisyImage image{side, side, PixelRange::open, {}};
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < side; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(side),
                   v = static_cast<double>(y) / static_cast<double>(side);
      double value = 0.6 * u - 0.3;
      if ((u - 0.3) * (u - 0.3) + (v - 0.4) * (v - 0.4) < 0.04) value = 0.7;
      if ((u - 0.7) * (u - 0.7) + (v - 0.6) * (v - 0.6) < 0.02) value = -0.6;
      if (v > 0.8) value += 0.2 * std::sin(40 * u);
      image.values.push_back(value);
    }
  return image;
}

TEST(GreyPosterior, BeatsTheNoiseAndALocalWienerFilter) {
  const NoisyImage clean = drawn_photograph(96);
  for (const double sigma : {0.1, 0.2}) {
    const NoisyImage noisy = add_noise(clean.values, 96, 96, sigma, 5);
    const double estimated = estimate_sigma_grey(noisy);
    EXPECT_NEAR(estimated, sigma, 0.06 * sigma);
    const GreyPosterior found = grey_posterior(noisy, estimated);
    const std::vector<double> mean(found.mean.begin(), found.mean.end());
    // Wiener's filter with the mean and variance of windows of 5 x 5.
    std::vector<double> wiener(noisy.values.size());
    for (std::ptrdiff_t y = 0; y < 96; ++y)
      for (std::ptrdiff_t x = 0; x < 96; ++x) {
        double sum = 0, squares = 0, count = 0;
        for (std::ptrdiff_t r = std::max<std::ptrdiff_t>(0, y - 2); r <= std::min<std::ptrdiff_t>(95, y + 2);
             ++r)
          for (std::ptrdiff_t c = std::max<std::ptrdiff_t>(0, x - 2);
               c <= std::min<std::ptrdiff_t>(95, x + 2); ++c) {
            const double value = noisy.values[static_cast<std::size_t>(r * 96 + c)];
            sum += value;
            squares += value * value;
            ++count;
          }
        const double local = sum / count, variance = squares / count - local * local;
        const std::size_t i = static_cast<std::size_t>(y * 96 + x);
        wiener[i] = local + std::max(0.0, 1 - sigma * sigma / variance) * (noisy.values[i] - local);
      }
    const double error = mean_squared_error(mean, clean.values);
    EXPECT_LT(error, 0.2 * sigma * sigma);
    EXPECT_LT(error, 0.7 * mean_squared_error(wiener, clean.values));
  }
}

/// As a file keeps it: nothing beyond black and white.
NoisyImage cut(const NoisyImage& image) {
  std::vector<double> values = image.values;
  for (double& y : values) y = std::clamp(y, -1.0, 1.0);
  return noisy_image(std::move(values), image.width, image.height);
}

TEST(GreyPosterior, NoiseIsKnownBesideSharpEdgesBlankMarginsAndClippedPixels) {
  // Stripes of black, grey and white that are 12 wide, a blank frame that never saw the noise.
  const std::size_t side = 240, frame = 20;
  NoisyImage clean{side, side, PixelRange::open, {}};
  for (std::size_t i = 0; i < side * side; ++i)
    clean.values.push_back((i % side) / 48 % 2 == 0 ? (i / side) / 12 % 2 == 0 ? 1 : -1 : 0.3);
  for (const double sigma : {0.04, 0.1, 0.2}) {
    NoisyImage noisy = cut(add_noise(clean.values, side, side, sigma, 3));
    for (std::size_t y = 0; y < side; ++y)
      for (std::size_t x = 0; x < side; ++x)
        if (std::min({x, y, side - 1 - x, side - 1 - y}) < frame) noisy.values[y * side + x] = 0.5;
    // Some 60 blocks of 256 second differences: 6 % is about five standard errors of their lowest twentieth.
    EXPECT_NEAR(estimate_sigma_grey(noisy), sigma, 0.06 * sigma);
  }
}

TEST(GreyPosterior, WhitePaperStaysWhite) {
  // Half black and half white: seen by themselves, clipped pixels have the mean 1 - sigma / sqrt(2 pi).
  const std::size_t side = 80;
  NoisyImage clean{side, side, PixelRange::open, {}};
  for (std::size_t i = 0; i < side * side; ++i) clean.values.push_back(i % side < side / 2 ? -1 : 1);
  const double sigma = 0.2;
  const GreyPosterior found = grey_posterior(cut(add_noise(clean.values, side, side, sigma, 7)), sigma);
  double mean = 0, counted = 0;
  for (std::size_t y = 5; y < side - 5; ++y)
    for (std::size_t x = 5; x < side - 5; ++x) {
      if (x + 5 > side / 2 && x < side / 2 + 5) continue;
      mean += found.mean[y * side + x] * clean.values[y * side + x];
      ++counted;
    }
  // The latent values know the mean of all these pixels to sigma / sqrt(4200); mean field weighs them unevenly.
  EXPECT_NEAR(mean / counted, 1, 0.1 * sigma);
}

TEST(GreyPosterior, KnowsNoScaleAndNoThreads) {
  const NoisyImage noisy = add_noise(drawn_photograph(70).values, 70, 70, 0.1, 5);
  NoisyImage darker = noisy;
  for (double& y : darker.values) y *= 0.25;
  const GreyPosterior bright = grey_posterior(noisy, 0.1), dark = grey_posterior(darker, 0.025);
  for (std::size_t i = 0; i < bright.mean.size(); ++i) EXPECT_NEAR(0.25 * bright.mean[i], dark.mean[i], 1e-4);
  GreyPosterior alone;
  BinaryPosterior one;
  tbb::task_arena(1).execute([&] {
    alone = grey_posterior(noisy, 0.1);
    one = binary_posterior(noisy, {.coupling = 0.6, .sigma = 0.5}, 1, 5, 10, 1);
  });
  EXPECT_EQ(alone.mean, bright.mean);
  EXPECT_EQ(one.mean, binary_posterior(noisy, {.coupling = 0.6, .sigma = 0.5}, 1, 5, 10, 1).mean);
  BinaryImageModel learnt{.coupling = 0.6, .sigma = 0.5};
  for (int p = 0; p < 4096; ++p) learnt.patterns.push_back(static_cast<float>(p % 7 - 3));
  tbb::task_arena(1).execute([&] { one = binary_posterior(noisy, learnt, 1, 5, 10, 1); });
  EXPECT_EQ(one.mean, binary_posterior(noisy, learnt, 1, 5, 10, 1).mean);
}

}  // namespace
}  // namespace drover
