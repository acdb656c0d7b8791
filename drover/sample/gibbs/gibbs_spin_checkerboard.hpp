// What the lattice kernels share: one chain, a bit per site, the two colours of the checkerboard apart.
//
// Site (x, y) has colour (x + y) % 2 and is bit j = x / 2 of its colour's row y. So the upper and lower
// neighbours of bit j are bit j of the other colour's rows, and the left and right ones are bits j - 1, j or
// j, j + 1 of the other colour's row y. Every row has spare words around it: the bit before the first and the
// bit behind the last repeat the other end when the lattice is periodic, and are zero otherwise.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/types.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

struct Checkerboard {
  std::size_t width = 0, height = 0;
  bool periodic_x = false;

  static constexpr std::size_t margin = 8;  ///< words before and behind a row, so that rows stay aligned

  std::size_t size() const { return width * height; }
  /// Words of one row, in whole units of 8 (512 bits).
  std::size_t row_words() const { return ((width + 1) / 2 + 511) / 512 * 8; }
  std::size_t stride() const { return row_words() + 2 * margin; }
  /// Where the first word of a row is; row `height` of either colour is always zero.
  std::size_t row(std::size_t colour, std::size_t y) const {
    return (colour * (height + 1) + y) * stride() + margin;
  }
  std::size_t word_count() const { return 2 * (height + 1) * stride(); }
  /// x = 2 j + shift for the sites of a row.
  static std::size_t shift(std::size_t colour, std::size_t y) { return (colour + y) % 2; }
  /// How many sites a row has.
  std::size_t row_sites(std::size_t colour, std::size_t y) const {
    return (width + 1 - shift(colour, y)) / 2;
  }

  /// Clears what lies outside a row and sets the bits that repeat its ends.
  void mend_row(std::uint64_t* words, std::size_t colour, std::size_t y) const {
    const std::size_t count = row_sites(colour, y);
    std::uint64_t* const first = words + row(colour, y);
    const std::uint64_t last_bit = first[(count - 1) / 64] >> (count - 1) % 64 & 1, first_bit = first[0] & 1;
    first[-1] = periodic_x ? last_bit << 63 : 0;
    if (count % 64 != 0) first[count / 64] &= (std::uint64_t{1} << count % 64) - 1;
    for (std::size_t k = (count + 63) / 64; k <= row_words(); ++k) first[k] = 0;
    if (periodic_x) first[count / 64] |= first_bit << count % 64;
  }

  /// Fair bits.
  std::vector<std::uint64_t> start(std::uint64_t seed, std::uint32_t chain) const {
    std::vector<std::uint64_t> words(word_count(), 0);
    const LaneRandom random(seed, Stream::start);
    std::uint32_t place = 0;
    for (std::size_t colour = 0; colour < 2; ++colour)
      for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t k = 0; 64 * k < row_sites(colour, y); ++k) {
          const auto draws = random.words(chain, 0, place++);
          words[row(colour, y) + k] = std::uint64_t{draws[0]} << 32 | draws[1];
        }
        mend_row(words.data(), colour, y);
      }
    return words;
  }

  void read(std::span<const std::uint64_t> words, std::span<Value> values) const {
    for (std::size_t y = 0; y < height; ++y) {
      const std::uint64_t *even = words.data() + row(y % 2, y), *odd = words.data() + row(1 - y % 2, y);
      for (std::size_t begin = 0; begin < width; begin += 128, ++even, ++odd) {
        Value* const to = values.data() + y * width + begin;
        const std::size_t count = std::min<std::size_t>(128, width - begin);
        for (std::size_t j = 0; j < count / 2; ++j) to[2 * j] = *even >> j & 1, to[2 * j + 1] = *odd >> j & 1;
        if (count % 2 != 0) to[count - 1] = *even >> count / 2 & 1;
      }
    }
  }

  void write(std::span<std::uint64_t> words, std::span<const Value> values) const {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        std::uint64_t& word = words[row((x + y) % 2, y) + x / 128];
        const std::size_t bit = x / 2 % 64;
        word = (word & ~(std::uint64_t{1} << bit)) | std::uint64_t{values[y * width + x]} << bit;
      }
      for (std::size_t colour = 0; colour < 2; ++colour) mend_row(words.data(), colour, y);
    }
  }

  /// Draws every row of `count` sweeps, in each first colour 0, then colour 1: draw(sweep, colour, y) for
  /// sweep < count and all y, in the order of sweep_stretch(). The result is that of the plain order. Bands have
  /// at least `band` rows where the lattice has; lattices below `parallel_from` sites are not worth threads.
  /// `count` is at most sweeps_together(band).
  template <class DrawRow>
  void sweep_rows(std::size_t count, std::size_t band, std::size_t parallel_from, DrawRow draw) const {
    assert(count <= sweeps_together(band));
    sweep_stretch(height, 2 * height, 2 * count, band, size() >= parallel_from, false,
                  [&](std::size_t step, std::size_t row) {
                    draw(step / 2, step % 2, row < height ? row : row - height);  // no division for every row
                  });
  }

  /// Draws the rows first .. last of `steps` half-sweeps, draw(step, row), in an order that keeps what it touches in
  /// cache and lets bands of rows run in parallel. A half-sweep reads the rows y - 1, y, y + 1 of the one before it
  /// only. So within a band half-sweep h follows one row behind half-sweep h - 1, and leaves out the first and last
  /// h rows, which wait for the neighbouring band; when all bands are done, these triangles on both sides of every
  /// border are filled, borders in parallel. The border before the first row is one too, and with `both_ends` that
  /// behind the last: their triangles reach beyond the stretch.
  template <class DrawStep>
  static void sweep_stretch(std::size_t first, std::size_t last, std::size_t steps, std::size_t band,
                            bool parallel, bool both_ends, DrawStep draw) {
    const std::size_t bands = std::max<std::size_t>(1, (last - first) / band);
    const auto border = [&](std::size_t b) { return first + b * (last - first) / bands; };
    const auto for_each = [&](std::size_t count, auto body) {
      if (parallel)
        parallel_for(std::size_t{0}, count, body);
      else
        for (std::size_t b = 0; b < count; ++b) body(b);
    };
    for_each(bands, [&](std::size_t b) {
      const std::size_t begin = border(b), end = border(b + 1);
      for (std::size_t front = begin; front < end; ++front)
        for (std::size_t h = 0; h < steps && 2 * h <= front - begin; ++h) draw(h, front - h);
    });
    for_each(bands + (both_ends ? 1 : 0), [&](std::size_t b) {
      const std::size_t middle = border(b);
      for (std::size_t h = 1; h < steps; ++h)
        for (std::size_t row = middle - h; row < middle + h; ++row) draw(h, row);
    });
  }

  /// How many sweeps sweep_rows() can do at once: the triangles at two borders must not meet.
  std::size_t sweeps_together(std::size_t band) const {
    const std::size_t shortest = height / std::max<std::size_t>(1, height / band);
    return std::clamp<std::size_t>((shortest + 1) / 4, 1, 4);
  }
};

/// All of a Kernel but the draws and the scores: a class derived from it has run(state, first_sweep, count,
/// sums), where sums may be null, and log_scores().
template <class Derived>
class CheckerboardKernel {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<std::uint64_t> words;  ///< as Checkerboard lays them out
    std::vector<std::uint64_t> room;   ///< of kernels that count by bits; all zero between calls

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(words);
    }
  };

  std::size_t size() const { return board_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    return {seed, first_chain, 1.0F, board_.start(seed, first_chain), {}};
  }
  void sweep(State& state, std::uint64_t sweep) const { sweeps(state, sweep, 1); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const { sweeps(state, sweep, 1, sums); }
  /// Sweeps first .. first + count - 1: the same bits as one by one, but several go through memory together.
  void sweeps(State& state, std::uint64_t first, std::uint64_t count) const {
    derived().run(state, first, count, nullptr);
  }
  void sweeps(State& state, std::uint64_t first, std::uint64_t count, ConditionalSums sums) const {
    assert(sums.sums.size() == entry_count());
    derived().run(state, first, count, sums.sums.data());
  }
  void read(const State& state, std::uint32_t, std::span<Value> values) const {
    board_.read(state.words, values);
  }
  void write(State& state, std::uint32_t, std::span<const Value> values) const {
    board_.write(state.words, values);
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    state.inverse_temperature = inverse_temperatures[0];
  }

 protected:
  explicit CheckerboardKernel(const Checkerboard& board) : board_(board) {}
  Checkerboard board_;

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }
};

}  // namespace drover
