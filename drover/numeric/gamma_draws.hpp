// Gamma variates by the thousand, in logarithms, as a function of (seed, chain, sweep, place).
//
// Marsaglia, Tsang: A simple method for generating gamma variables; ACM TOMS 26, 2000. With d = a - 1/3,
// w = x / (3 sqrt(d)), x normal and v = (1 + w)^3:
//   accept d v if v > 0 and log u < x^2 / 2 + d - d v + d log v        (a >= 1; at least 95 % are accepted)
//   a < 1: Gamma(a) = Gamma(a + 1) u^(1/a)
// Single precision, 64 draws at a time with Highway. The test's right side is, by the series of log(1 + w),
//   d w^4 (-3/4 + 3/5 w - 3/6 w^2 + ...)
// which is used for small w, where the formula as it stands would lose its digits. Refused draws are
// repeated one by one in double precision.
#pragma once

#include <cstdint>

#include "drover/core/random.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

class GammaDraws {
 public:
  static constexpr std::uint32_t width = 64;

  GammaDraws(std::uint64_t seed, Stream stream) : lanes_(seed, stream), single_(seed, stream) {}

  /// logs[i] = log g_i with g_i ~ Gamma(shapes[i]), i < 64; returns the sum of the g_i with i < count. Every
  /// (chain, sweep, group) has its own numbers; group < 2^30, chain < 2^16, shapes > 0.
  double draw(std::uint32_t chain, std::uint64_t sweep, std::uint32_t group, const float* shapes,
              std::uint32_t count, float* logs) const;

 private:
  LaneRandom lanes_;
  Random single_;
};

/// One draw in double precision: the logarithm of a Gamma(shape) variate.
double draw_log_gamma(const Random& random, std::uint32_t chain, std::uint64_t sweep, std::uint32_t site,
                      double shape);

}  // namespace drover
