// What pixels do beside each of the 4096 patterns of their twelve nearest neighbours.
//
// A dependency network (Heckerman et al. 2000) over the contexts of the universal denoiser (Weissman et al. 2005), counted in
// an image and smoothed:
//   P(white | 4k neighbours) = (white + strength * P(white | the nearest 4(k-1))) / (all + strength)
// so that patterns that are rarely seen count as their nearer part does. These conditionals need not be those of one joint
// distribution; sampled in turn they still have a stationary one.
//
// Counted in an image as it was seen, patterns also bound its noise. Where white pixels are seen black with probability b and
// black ones white with probability w,
//   P(seen black | pattern) = b + (1 - b - w) P(black before | pattern) >= b,    and so for w,
// whatever the pattern. Where all are flipped alike, b = w = e is at most the lesser of the two limits, and that is tight
// where some pattern (all white, mostly) leaves the picture next to no choice. Fails: isolated dots of the picture on
// otherwise empty ground are taken for noise.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace drover {

inline constexpr std::size_t context_pixels = 12, context_patterns = std::size_t{1} << context_pixels;
/// Contexts reach so far.
inline constexpr std::size_t context_margin = 2;
/// No two pixels of one colour, (x + 2 y) mod 5, are in each other's context.
inline constexpr std::size_t context_colours = 5;

/// Where the neighbours lie, from a pixel, in an image with rows of `stride`: the nearest first.
using ContextSteps = std::array<std::ptrdiff_t, context_pixels>;
ContextSteps context_steps(std::size_t stride);

/// The pattern of 12 bits beside a pixel; 1 is white (a spin above 0).
inline std::size_t pattern_at(const signed char* pixel, const ContextSteps& steps) {
  std::size_t pattern = 0;
  for (std::size_t k = 0; k < context_pixels; ++k)
    pattern |= static_cast<std::size_t>(pixel[steps[k]] > 0) << k;
  return pattern;
}

/// How often a pixel was black and white beside each pattern.
using PatternCounts = std::vector<std::array<double, 2>>;

/// log P(white) / P(black) beside each pattern.
std::vector<float> log_odds(const PatternCounts& counts);

struct FlipLimits {
  double to_black = 1, to_white = 1;
};

/// Upper limits (two standard errors of a count) of how often noise turns a pixel, each by the pattern where it is least.
FlipLimits most_flips(const PatternCounts& counts);

}  // namespace drover
