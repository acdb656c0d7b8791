// A chain over the pixels of a black and white image: Gibbs sampling colour by colour, by a coupling or by patterns.
//
// A pixel is white with odds of what was seen of it times what its neighbours make likely: 2 J times the sum of the four
// nearest spins, or the log odds of the pattern beside it (drover/image/pixel_patterns.hpp). Beyond the border stand
// zeros, which agree with nobody; patterns see a frame of one side there. A draw is a function of the sweep's key and the
// pixel: the same bits for any number of threads. 6 bytes a pixel, 10 with sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/image/denoising.hpp"
#include "drover/image/pixel_patterns.hpp"

namespace drover {

/// log l(y | white) / l(y | black), for many y.
class SideOdds {
 public:
  SideOdds(double sigma, PixelRange range)
      : range_(range),
        slope_(2 / (sigma * sigma)),
        end_(log_likelihood(1, 1, sigma, range) - log_likelihood(1, -1, sigma, range)) {}
  double operator()(double y) const {
    if (range_ == PixelRange::two) return y > 0 ? end_ : -end_;
    if (range_ == PixelRange::clipped && std::abs(y) >= 1) return y > 0 ? end_ : -end_;
    return slope_ * y;
  }

 private:
  PixelRange range_;
  double slope_, end_;
};

class PixelChain {
 public:
  PixelChain(std::size_t width, std::size_t height);

  /// The log odds of every pixel by itself: set(x, y) gives them.
  template <class Set>
  void see(const Set& set) {
    for_rows([&](std::size_t y) {
      for (std::size_t x = 0; x < width_; ++x) seen_[y * width_ + x] = static_cast<float>(set(x, y));
    });
  }
  /// At the more likely side of every pixel.
  void start();

  void sweep(double coupling, std::uint32_t key);
  void sweep(std::span<const float> patterns, std::uint32_t key);
  /// Sweeps add what they make likely of every pixel to sums() from here on.
  void count();
  void stop_counting() { counts_ = false; }
  /// What patterns see beyond the border.
  void frame(signed char side);

  const signed char* row(std::size_t y) const {
    return spins_.data() + (y + context_margin) * stride() + context_margin;
  }
  std::size_t stride() const { return width_ + 2 * context_margin; }
  /// The sum of the four nearest.
  int neighbours(std::size_t x, std::size_t y) const {
    const signed char* spin = row(y) + x;
    return spin[-1] + spin[1] + *(spin - stride()) + spin[stride()];
  }
  signed char most() const;  ///< the side of more pixels
  void add_patterns(PatternCounts& counts) const;

  const std::vector<float>& sums() const { return sums_; }

 private:
  /// body(y) for every row.
  template <class Body>
  void for_rows(const Body& body) const {
    parallel_for({0, height_, 16}, [&](const IndexRange& range) {
      for (std::size_t y = range.begin(); y < range.end(); ++y) body(y);
    });
  }
  void draw(std::size_t x, std::size_t y, float pull, std::uint32_t key);

  std::size_t width_, height_;
  ContextSteps steps_;
  std::vector<float> seen_, sums_;
  std::vector<signed char> spins_;
  bool counts_ = false;
};

}  // namespace drover
