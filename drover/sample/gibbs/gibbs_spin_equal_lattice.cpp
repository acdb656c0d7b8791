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

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

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
  std::uint64_t* counts;                          // how often n was 1 .. 4, as below; null: not counted
  std::size_t count_planes;                       // of which so many can be other than zero
};

// Counts of sweeps are numbers of so many bits, bit b of all sites together ("vertical" counters): the word
// of bit b and case n is counts[((n - 1) * most_count_planes + b) * row_words + k].
inline constexpr std::size_t most_count_planes = 5;
inline constexpr std::size_t most_counted = (1 << most_count_planes) - 1;

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

// Adds one to the counts of the sites in each case.
HWY_INLINE void count_sites(const BitVector* HWY_RESTRICT cases, std::uint64_t* HWY_RESTRICT counts,
                            std::size_t row_words, std::size_t planes) {
  const BitTag d;
  for (std::size_t n = 1; n < 5; ++n) {
    BitVector carry = cases[n];
    for (std::size_t b = 0; b < planes; ++b) {
      std::uint64_t* const at = counts + ((n - 1) * most_count_planes + b) * row_words;
      const BitVector before = hn::LoadU(d, at);
      hn::StoreU(hn::Xor(before, carry), d, at);
      carry = hn::And(before, carry);
    }
  }
}

// Draws the 512 sites of a unit: x = [random < threshold], bit by bit from the top.
template <bool has_border, bool counted>
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
    if constexpr (counted) count_sites(cases[part], row.counts + k, 8 * row.units, row.count_planes);
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

template <bool counted>
void draw_units(const EqualLatticeRow& row, const LaneWords& lane_words, std::uint32_t place) {
  for (std::size_t unit = 0; unit < row.units; ++unit) {
    std::uint64_t border = 0;
    for (std::size_t k = 8 * unit; k < 8 * unit + 8; ++k) border |= row.border[k];
    if (border)
      draw_unit<true, counted>(row, unit, lane_words, place + static_cast<std::uint32_t>(unit));
    else
      draw_unit<false, counted>(row, unit, lane_words, place + static_cast<std::uint32_t>(unit));
  }
}

void draw_equal_row(const EqualLatticeRow& row, const LaneRandom& random, std::uint32_t chain,
                    std::uint64_t sweep, std::uint32_t place) {
  const LaneWords lane_words(random, chain, sweep);
  if (row.counts)
    draw_units<true>(row, lane_words, place);
  else
    draw_units<false>(row, lane_words, place);
}

// Adds sum_n counts_n p_n of a row's sites to every second of `sums`, n = 0 being what is left of `sweeps`,
// and sets the counts to zero.
void add_counted(std::uint64_t* HWY_RESTRICT counts, std::size_t row_words, std::size_t sites,
                 std::size_t sweeps, const float* HWY_RESTRICT p, float* HWY_RESTRICT sums) {
  const FloatTag f;
  const hn::RebindToSigned<FloatTag> integers;
  const hn::Rebind<std::uint8_t, FloatTag> some_bytes;
  const hn::CappedTag<std::uint8_t, 64> bytes;
  constexpr std::size_t byte_lanes = hn::MaxLanes(bytes);
  const FloatVector never = hn::Set(f, static_cast<float>(sweeps) * p[0]);
  for (std::size_t k = 0; 64 * k < sites; ++k) {
    alignas(64) std::uint8_t numbers[4][64];
    for (std::size_t n = 0; n < 4; ++n)
      for (std::size_t first = 0; first < 64; first += byte_lanes) {
        auto number = hn::Zero(bytes);
        for (std::size_t b = 0; b < most_count_planes; ++b) {
          const std::uint64_t* const plane = counts + (n * most_count_planes + b) * row_words + k;
          const auto mask = hn::LoadMaskBits(bytes, reinterpret_cast<const std::uint8_t*>(plane) + first / 8);
          number = hn::Or(number, hn::IfThenElseZero(mask, hn::Set(bytes, std::uint8_t(1U << b))));
        }
        hn::Store(number, bytes, numbers[n] + first);
      }
    for (std::size_t plane = 0; plane < 4 * most_count_planes; ++plane) counts[plane * row_words + k] = 0;
    alignas(64) float total[64];
    for (std::size_t v = 0; v < vector_count; ++v) {
      FloatVector sum = never;
      for (std::size_t n = 0; n < 4; ++n) {
        const auto number = hn::PromoteTo(integers, hn::Load(some_bytes, numbers[n] + v * vector_lanes));
        sum = hn::MulAdd(hn::ConvertTo(f, number), hn::Set(f, p[n + 1] - p[0]), sum);
      }
      hn::Store(sum, f, total + v * vector_lanes);
    }
    add_to_every_second(sums + 128 * k, total, std::min<std::size_t>(64, sites - 64 * k));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(draw_equal_row);
HWY_EXPORT(add_counted);

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

// What `sweeps` sweeps have counted in a row becomes conditionals. Sites at an open border have a neighbour
// less, and are mended first, one by one.
void GibbsSpinEqualLattice::add_conditionals(State& state, std::size_t colour, std::size_t y,
                                             std::size_t sweeps, const Conditionals& conditionals,
                                             float* sums) const {
  const std::size_t words = board_.row_words(), shift = Checkerboard::shift(colour, y);
  std::uint64_t* const counts = state.room.data() + counts_of_row(colour, y);
  const auto &p = conditionals[neighbours_inside(y)], &p_border = conditionals[neighbours_inside(y) - 1];
  float* const first = sums + y * board_.width + shift;
  const std::size_t sites = board_.row_sites(colour, y);
  for (std::size_t j : {std::size_t{0}, sites - 1}) {
    if (!(border_[shift][j / 64] >> j % 64 & 1)) continue;
    float mend = static_cast<float>(sweeps) * (p_border[0] - p[0]);
    for (std::size_t n = 0; n < 4; ++n) {
      std::size_t count = 0;
      for (std::size_t b = 0; b < most_count_planes; ++b)
        count |= (counts[(n * most_count_planes + b) * words + j / 64] >> j % 64 & 1) << b;
      mend += static_cast<float>(count) * (p_border[n + 1] - p_border[0] - p[n + 1] + p[0]);
    }
    first[2 * j] += mend;
  }
  HWY_DYNAMIC_DISPATCH(add_counted)(counts, words, sites, sweeps, p.data(), first);
}

std::size_t GibbsSpinEqualLattice::counts_of_row(std::size_t colour, std::size_t y) const {
  return (colour * board_.height + y) * board_.row_words() * 4 * most_count_planes;
}

void GibbsSpinEqualLattice::run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const {
  const LaneRandom random(state.seed, Stream::sweep);
  std::array<ThresholdPlanes, 5> planes;  // by number of neighbours
  Conditionals conditionals{};
  for (int neighbours = 2; neighbours <= 4; ++neighbours)
    for (int n = 0; n < 5; ++n) {
      const long double p = n <= neighbours ? probability(neighbours, n, state.inverse_temperature) : 0;
      conditionals[neighbours][n] = static_cast<float>(p);
      const std::uint64_t threshold = threshold_of(p);
      for (int b = 0; b < 64; ++b)
        planes[neighbours][b][n] = threshold >> (63 - b) & 1 ? ~std::uint64_t{0} : 0;
    }
  if (sums) state.room.resize(counts_of_row(2, 0), 0);
  std::uint64_t* const words = state.words.data();
  std::uint64_t done = 0, counted = 0;
  const auto draw = [&](std::size_t sweep, std::size_t colour, std::size_t y) {
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
                              .at_the_border = &planes[inside - 1],
                              .counts = sums ? state.room.data() + counts_of_row(colour, y) : nullptr,
                              .count_planes = std::bit_width(counted + sweep + 1)};
    const auto place = static_cast<std::uint32_t>((colour * board_.height + y) * row.units);
    HWY_DYNAMIC_DISPATCH(draw_equal_row)(row, random, state.chain, first + done + sweep, place);
    board_.mend_row(words, colour, y);
  };
  while (done < count) {
    const std::uint64_t together =
        std::min<std::uint64_t>({board_.sweeps_together(band), count - done, most_counted - counted});
    board_.sweep_rows(together, band, 1 << 18, draw);
    done += together;
    counted += together;
    if (counted < most_counted && done < count) continue;
    if (sums)
      parallel_for(std::size_t{0}, board_.height, [&](std::size_t y) {
        for (std::size_t colour = 0; colour < 2; ++colour)
          add_conditionals(state, colour, y, counted, conditionals, sums);
      });
    counted = 0;
  }
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
