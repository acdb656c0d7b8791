#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>

#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_equal_lattice.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/lane_random-inl.hpp"

#ifndef DROVER_EQUAL_LATTICE_ROW
#define DROVER_EQUAL_LATTICE_ROW
namespace drover {

// Bit b (from the top) of the thresholds of n = 0 .. 4, each as a word of all zeros or all ones.
using ThresholdPlanes = std::array<std::array<std::uint64_t, 5>, 64>;

struct EqualLatticeRow {
  std::size_t units;  // of 8 words
  std::size_t shift;  // x = 2 j + shift
  std::uint64_t* own;
  const std::uint64_t *up, *level, *down;         // states of the other colour
  const std::uint64_t* border;                    // sites with a neighbour less
  const ThresholdPlanes *inside, *at_the_border;  // thresholds of the others, and of these
};

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using BitTag = hn::Repartition<std::uint64_t, WordTag>;
using BitVector = hn::Vec<BitTag>;
inline constexpr std::size_t bit_words = hn::MaxLanes(BitTag());  // words of a vector
inline constexpr std::size_t parts = 8 / bit_words;               // vectors of a unit

// Where a count of four bits is 0, 1, 2, 3, 4.
HWY_INLINE void count_cases(BitVector a, BitVector b, BitVector c, BitVector d,
                            BitVector* HWY_RESTRICT cases) {
  const BitVector ab = hn::Xor(a, b), cd = hn::Xor(c, d), both_ab = hn::And(a, b), both_cd = hn::And(c, d);
  const BitVector odd = hn::Xor(ab, cd), twos = hn::Xor(hn::Xor(both_ab, both_cd), hn::And(ab, cd));
  cases[4] = hn::And(both_ab, both_cd);
  cases[3] = hn::And(odd, twos);
  cases[2] = hn::AndNot(odd, twos);
  cases[1] = hn::AndNot(twos, odd);
  cases[0] = hn::AndNot(hn::Or(hn::Or(odd, twos), cases[4]), hn::Set(BitTag(), ~std::uint64_t{0}));
}

HWY_INLINE BitVector select(const BitVector* HWY_RESTRICT cases, const std::array<std::uint64_t, 5>& plane) {
  const BitTag d;
  BitVector bits = hn::And(cases[0], hn::Set(d, plane[0]));
  for (int n = 1; n < 5; ++n) bits = hn::Or(bits, hn::And(cases[n], hn::Set(d, plane[n])));
  return bits;
}

// Draws the 512 sites of a unit: x = [random < threshold], bit by bit from the top.
template <bool has_border>
HWY_INLINE void draw_unit(const EqualLatticeRow& row, std::size_t unit, const LaneWords& lane_words,
                          std::uint32_t place) {
  const BitTag d;
  BitVector cases[parts][5], border[parts], undecided[parts], drawn[parts];
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t k = 8 * unit + part * bit_words;
    const BitVector level = hn::LoadU(d, row.level + k);
    const BitVector beside =
        row.shift ? hn::Or(hn::ShiftRight<1>(level), hn::ShiftLeft<63>(hn::LoadU(d, row.level + k + 1)))
                  : hn::Or(hn::ShiftLeft<1>(level), hn::ShiftRight<63>(hn::LoadU(d, row.level + k - 1)));
    count_cases(hn::LoadU(d, row.up + k), hn::LoadU(d, row.down + k), level, beside, cases[part]);
    if constexpr (has_border) border[part] = hn::LoadU(d, row.border + k);
    undecided[part] = hn::Set(d, ~std::uint64_t{0});
    drawn[part] = hn::Zero(d);
  }
  // 64 words of randomness are four planes of 512 bits.
  for (std::uint32_t fours = 0; fours < 16; ++fours) {
    WordVector random[vector_count];
    lane_words.draw(16 * place + fours, random);
    BitVector open = hn::Zero(d);
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t plane = 0; plane < 4; ++plane) {
        const BitVector bits = hn::BitCast(d, random[plane * parts + part]);
        BitVector threshold = select(cases[part], (*row.inside)[4 * fours + plane]);
        if constexpr (has_border)
          threshold =
              hn::Or(hn::AndNot(border[part], threshold),
                     hn::And(border[part], select(cases[part], (*row.at_the_border)[4 * fours + plane])));
        drawn[part] = hn::Or(drawn[part], hn::And(undecided[part], hn::AndNot(bits, threshold)));
        undecided[part] = hn::AndNot(hn::Xor(bits, threshold), undecided[part]);
      }
      open = hn::Or(open, undecided[part]);
    }
    if (hn::AllTrue(d, hn::Eq(open, hn::Zero(d)))) break;
  }
  for (std::size_t part = 0; part < parts; ++part)
    hn::StoreU(drawn[part], d, row.own + 8 * unit + part * bit_words);
}

void draw_equal_row(const EqualLatticeRow& row, const LaneRandom& random, std::uint32_t chain,
                    std::uint64_t sweep, std::uint32_t place) {
  const LaneWords lane_words(random, chain, sweep);
  for (std::size_t unit = 0; unit < row.units; ++unit) {
    std::uint64_t border = 0;
    for (std::size_t k = 8 * unit; k < 8 * unit + 8; ++k) border |= row.border[k];
    if (border)
      draw_unit<true>(row, unit, lane_words, place + static_cast<std::uint32_t>(unit));
    else
      draw_unit<false>(row, unit, lane_words, place + static_cast<std::uint32_t>(unit));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(draw_equal_row);

constexpr std::size_t band = 128;  // rows of one task

// 2^64 p, at most 2^64 - 1.
std::uint64_t threshold_of(long double p) {
  const long double scaled = std::floor(p * 0x1p64L);
  return scaled >= 0x1p64L ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

}  // namespace

GibbsSpinEqualLattice::GibbsSpinEqualLattice(const EqualLattice& lattice)
    : CheckerboardKernel({lattice.width, lattice.height, lattice.periodic_x}), lattice_(lattice) {
  assert((!lattice.periodic_x || lattice.width % 2 == 0) && (!lattice.periodic_y || lattice.height % 2 == 0));
  for (std::size_t shift = 0; shift < 2; ++shift) {
    border_[shift].assign(board_.row_words(), 0);
    if (lattice.periodic_x) continue;
    for (std::size_t x : {std::size_t{0}, lattice.width - 1})
      if (x % 2 == shift) border_[shift][x / 128] |= std::uint64_t{1} << x / 2 % 64;
  }
}

long double GibbsSpinEqualLattice::probability(int neighbours, int n, float inverse_temperature) const {
  const long double field = lattice_.field + lattice_.weight / 2 * (2 * n - neighbours);
  return 1 / (1 + std::exp(-inverse_temperature * field));
}

std::size_t GibbsSpinEqualLattice::above(std::size_t y) const {
  if (y > 0) return y - 1;
  return lattice_.periodic_y ? lattice_.height - 1 : lattice_.height;
}

std::size_t GibbsSpinEqualLattice::below(std::size_t y) const {
  if (y + 1 < lattice_.height) return y + 1;
  return lattice_.periodic_y ? 0 : lattice_.height;
}

int GibbsSpinEqualLattice::neighbours_inside(std::size_t y) const {
  return !lattice_.periodic_y && (y == 0 || y + 1 == lattice_.height) ? 3 : 4;
}

// The conditionals of one row, about to be drawn.
void GibbsSpinEqualLattice::add_conditionals(const State& state, std::size_t colour, std::size_t y,
                                             float* sums) const {
  float p[5][5] = {};
  for (int neighbours = 2; neighbours <= 4; ++neighbours)
    for (int n = 0; n <= neighbours; ++n)
      p[neighbours][n] = static_cast<float>(probability(neighbours, n, state.inverse_temperature));
  const std::size_t shift = Checkerboard::shift(colour, y);
  const std::uint64_t* const words = state.words.data();
  const auto bit = [&](std::size_t row, std::size_t j) {
    return static_cast<int>(words[row + j / 64] >> j % 64 & 1);
  };
  const std::size_t up = board_.row(1 - colour, above(y)), down = board_.row(1 - colour, below(y));
  const std::size_t level = board_.row(1 - colour, y);
  for (std::size_t j = 0; j < board_.row_sites(colour, y); ++j) {
    const int left = shift ? bit(level, j) : bit(level - 1, j + 63),
              right = shift ? bit(level, j + 1) : bit(level, j);
    const int n = bit(up, j) + bit(down, j) + left + right;
    const int neighbours = neighbours_inside(y) - static_cast<int>(border_[shift][j / 64] >> j % 64 & 1);
    sums[y * board_.width + 2 * j + shift] += p[neighbours][n];
  }
}

void GibbsSpinEqualLattice::run(State& state, std::uint64_t sweep, float* sums) const {
  const LaneRandom random(state.seed, Stream::sweep);
  std::array<ThresholdPlanes, 5> planes;  // by number of neighbours
  for (int neighbours = 2; neighbours <= 4; ++neighbours)
    for (int n = 0; n < 5; ++n) {
      const std::uint64_t threshold =
          n <= neighbours ? threshold_of(probability(neighbours, n, state.inverse_temperature)) : 0;
      for (int b = 0; b < 64; ++b)
        planes[neighbours][b][n] = threshold >> (63 - b) & 1 ? ~std::uint64_t{0} : 0;
    }
  std::uint64_t* const words = state.words.data();
  const auto draw = [&](std::size_t colour, std::size_t y) {
    if (sums) add_conditionals(state, colour, y, sums);
    const std::size_t shift = Checkerboard::shift(colour, y);
    const int inside = neighbours_inside(y);
    const EqualLatticeRow row{.units = board_.row_words() / 8,
                              .shift = shift,
                              .own = words + board_.row(colour, y),
                              .up = words + board_.row(1 - colour, above(y)),
                              .level = words + board_.row(1 - colour, y),
                              .down = words + board_.row(1 - colour, below(y)),
                              .border = border_[shift].data(),
                              .inside = &planes[inside],
                              .at_the_border = &planes[inside - 1]};
    const auto place = static_cast<std::uint32_t>((colour * board_.height + y) * row.units);
    HWY_DYNAMIC_DISPATCH(draw_equal_row)(row, random, state.chain, sweep, place);
    board_.mend_row(words, colour, y);
  };
  board_.sweep_rows(band, 1 << 18, draw);
}

// Sums are counts of bits: sum_i x_i (field - weight / 2 * neighbours_i) + weight * pairs of ones.
void GibbsSpinEqualLattice::log_scores(const State& state, std::span<double> scores) const {
  const std::uint64_t* const words = state.words.data();
  std::uint64_t ones = 0, neighbours_of_ones = 0, pairs = 0;
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = 0; y < board_.height; ++y) {
      const std::size_t shift = Checkerboard::shift(colour, y), count = board_.row_sites(colour, y);
      const std::uint64_t* const own = words + board_.row(colour, y);
      const std::uint64_t* const level = words + board_.row(1 - colour, y);
      const std::uint64_t* const down = words + board_.row(1 - colour, below(y));
      for (std::size_t k = 0; 64 * k < count; ++k) {
        const std::uint64_t inside =
            count - 64 * k < 64 ? (std::uint64_t{1} << (count - 64 * k)) - 1 : ~std::uint64_t{0};
        const std::uint64_t x = own[k] & inside;
        const std::uint64_t right = shift ? level[k] >> 1 | level[k + 1] << 63 : level[k];
        ones += std::popcount(x);
        neighbours_of_ones += neighbours_inside(y) * std::popcount(x) - std::popcount(x & border_[shift][k]);
        pairs += std::popcount(x & right) + std::popcount(x & down[k]);
      }
    }
  scores[0] = lattice_.log_constant + lattice_.field * static_cast<double>(ones) +
              lattice_.weight * (static_cast<double>(pairs) - static_cast<double>(neighbours_of_ones) / 2);
}

}  // namespace drover
#endif
