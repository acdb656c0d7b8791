#include "drover/image/pixel_chain.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace drover {

namespace {

/// A random 32-bit word from a counter (two rounds of a multiply-xorshift hash; C. Wellons, hash-prospector).
std::uint32_t hashed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x21f0aaadU;
  x ^= x >> 15;
  x *= 0xd35a2d97U;
  return x ^ x >> 15;
}

}  // namespace

PixelChain::PixelChain(std::size_t width, std::size_t height)
    : width_(width),
      height_(height),
      steps_(context_steps(stride())),
      seen_(width * height),
      spins_(stride() * (height + 2 * context_margin), 0) {}

void PixelChain::start() {
  frame(0);
  for_rows([&](std::size_t y) {
    signed char* spins = spins_.data() + (row(y) - spins_.data());
    for (std::size_t x = 0; x < width_; ++x) spins[x] = seen_[y * width_ + x] >= 0 ? 1 : -1;
  });
}

void PixelChain::count() {
  sums_.resize(seen_.size());
  counts_ = true;
}

void PixelChain::frame(signed char side) {
  for (std::size_t y = 0; y < height_ + 2 * context_margin; ++y) {
    signed char* line = spins_.data() + y * stride();
    const bool outside = y < context_margin || y >= height_ + context_margin;
    std::fill_n(line, outside ? stride() : context_margin, side);
    if (!outside) std::fill_n(line + context_margin + width_, context_margin, side);
  }
}

void PixelChain::draw(std::size_t x, std::size_t y, float pull, std::uint32_t key) {
  const std::size_t i = y * width_ + x;
  const float p = 1 / (1 + std::exp(-(pull + seen_[i])));
  const std::uint32_t word = hashed(hashed(static_cast<std::uint32_t>(i)) ^ key);
  spins_[(y + context_margin) * stride() + context_margin + x] =
      static_cast<float>(word >> 8) * 0x1p-24F < p ? 1 : -1;
  if (counts_) sums_[i] += p;
}

void PixelChain::sweep(double coupling, std::uint32_t key) {
  std::array<float, 9> pull{};
  for (int n = -4; n <= 4; ++n) pull[static_cast<std::size_t>(n + 4)] = static_cast<float>(2 * coupling * n);
  for (std::size_t colour = 0; colour < 2; ++colour)
    for_rows([&](std::size_t y) {
      for (std::size_t x = (y + colour) % 2; x < width_; x += 2)
        draw(x, y, pull[static_cast<std::size_t>(neighbours(x, y) + 4)], key);
    });
}

void PixelChain::sweep(std::span<const float> patterns, std::uint32_t key) {
  assert(patterns.size() == context_patterns);
  for (std::size_t colour = 0; colour < context_colours; ++colour)
    for_rows([&](std::size_t y) {
      // x + 2 y = colour, counted by fives.
      for (std::size_t x = (colour + 3 * y) % context_colours; x < width_; x += context_colours)
        draw(x, y, patterns[pattern_at(row(y) + x, steps_)], key);
    });
}

signed char PixelChain::most() const {
  std::ptrdiff_t sum = 0;
  for (std::size_t y = 0; y < height_; ++y) sum = std::accumulate(row(y), row(y) + width_, sum);
  return sum >= 0 ? 1 : -1;
}

void PixelChain::add_patterns(PatternCounts& counts) const {
  for (std::size_t y = 0; y < height_; ++y)
    for (const signed char* spin = row(y); spin < row(y) + width_; ++spin)
      ++counts[pattern_at(spin, steps_)][*spin > 0 ? 1 : 0];
}

}  // namespace drover
