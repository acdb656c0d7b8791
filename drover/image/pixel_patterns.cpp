#include "drover/image/pixel_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace drover {

ContextSteps context_steps(std::size_t stride) {
  // Across and down, then the corners, then two away.
  constexpr int places[context_pixels][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1},
                                             {-1, 1}, {1, 1}, {-2, 0}, {2, 0}, {0, -2},  {0, 2}};
  ContextSteps steps{};
  for (std::size_t k = 0; k < context_pixels; ++k)
    steps[k] = places[k][0] + places[k][1] * static_cast<std::ptrdiff_t>(stride);
  return steps;
}

std::vector<float> log_odds(const PatternCounts& counts) {
  constexpr double strength = 4;
  std::vector<double> share = {0.5};
  for (std::size_t pixels = 0; pixels <= context_pixels; pixels += 4) {
    const std::size_t known = std::size_t{1} << pixels;
    std::vector<std::array<double, 2>> seen(known);
    for (std::size_t p = 0; p < context_patterns; ++p)
      for (std::size_t side = 0; side < 2; ++side) seen[p % known][side] += counts[p][side];
    std::vector<double> finer(known);
    for (std::size_t p = 0; p < known; ++p)
      finer[p] = (seen[p][1] + strength * share[p % share.size()]) / (seen[p][0] + seen[p][1] + strength);
    share = std::move(finer);
  }
  std::vector<float> odds;
  odds.reserve(context_patterns);
  for (const double p : share) {
    const double sure = std::clamp(p, 1e-6, 1 - 1e-6);
    odds.push_back(static_cast<float>(std::log(sure / (1 - sure))));
  }
  return odds;
}

FlipLimits most_flips(const PatternCounts& counts) {
  FlipLimits limits;
  const auto lower = [](double count, double all, double& least) {
    // Of a Poisson count: what would be seen as rarely as this once in forty times; 4 when none was.
    const double limit = count + 2 * std::sqrt(count + 1) + 2;
    if (limit < least * all) least = limit / all;
  };
  for (const auto& [black, white] : counts) {
    lower(black, black + white, limits.to_black);
    lower(white, black + white, limits.to_white);
  }
  return limits;
}

}  // namespace drover
