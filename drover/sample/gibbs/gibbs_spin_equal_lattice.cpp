#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_equal_lattice.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

#ifndef DROVER_EQUAL_LATTICE_ROW
#define DROVER_EQUAL_LATTICE_ROW
namespace drover {

// The rows that one row of sites is drawn from. Each pointer is at the row's first byte.
struct EqualLatticeRow {
  std::size_t sites;
  std::uint8_t* own;
  const std::uint8_t *up, *level, *beside, *down;  // of the other colour; level and beside: left and right
  const GibbsSpinEqualLattice::Law* law;
  std::uint8_t *low_counts, *high_counts;  // how often n was 1 and 2, 3 and 4; null: not counted
  std::uint32_t place, tie_place;          // of the random numbers: by 256 sites, and by site
};

// Pairs of counts of four bits each, by n, and so for sites at the border.
alignas(16) inline constexpr std::uint8_t low_count[16] = {0, 1, 16, 0, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0, 0, 0};
alignas(16) inline constexpr std::uint8_t high_count[16] = {0, 0, 0, 1, 16, 0, 0, 0, 0, 0, 0, 1, 16, 0, 0, 0};
inline constexpr std::uint64_t most_counted = 15;

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using ByteTag = hn::Repartition<std::uint8_t, WordTag>;
using ByteVector = hn::Vec<ByteTag>;
inline constexpr std::size_t byte_lanes = hn::MaxLanes(ByteTag());

// So many ties are settled together.
constexpr std::size_t ties_at_once = 4;

// The first two words of LaneRandom's places `site + sites[k]`, each as one number.
HWY_INLINE void first_words(const LaneRandom& random, std::uint32_t chain, std::uint64_t sweep,
                            std::uint32_t site, const std::uint32_t* HWY_RESTRICT sites,
                            std::uint64_t* HWY_RESTRICT result) {
  const hn::FixedTag<std::uint8_t, 16> bytes;
  const hn::Repartition<std::uint32_t, decltype(bytes)> words;
  const auto key = [&](unsigned r) {
    return hn::BitCast(bytes, hn::LoadU(words, random.round_keys()[r].data()));
  };
  const std::uint32_t counter[4] = {0, 16 * chain, static_cast<std::uint32_t>(sweep),
                                    static_cast<std::uint32_t>(sweep >> 32)};
  const auto start = hn::Xor(hn::BitCast(bytes, hn::LoadU(words, counter)), key(0));
  hn::Vec<decltype(bytes)> v[ties_at_once];
  for (std::size_t k = 0; k < ties_at_once; ++k)
    v[k] = hn::Xor(start, hn::BitCast(bytes, hn::InsertLane(hn::Zero(words), 0, site + sites[k])));
  for (unsigned r = 1; r < LaneRandom::rounds; ++r)
    for (std::size_t k = 0; k < ties_at_once; ++k) v[k] = hn::AESRound(v[k], key(r));
  for (std::size_t k = 0; k < ties_at_once; ++k) {
    v[k] = hn::AESLastRound(v[k], key(LaneRandom::rounds));
    result[k] = hn::GetLane(hn::BitCast(hn::Repartition<std::uint64_t, decltype(bytes)>(), v[k]));
  }
}

// A bit for every byte of a vector.
using MaskWord = std::conditional_t<byte_lanes == 64, std::uint64_t,
                                    std::conditional_t<byte_lanes == 32, std::uint32_t, std::uint16_t>>;

// Appends the places of the bits of a word. One or none, as nearly always, take no branch on them: it would often be
// guessed wrong, so that their number is added, which compilers leave as it is.
HWY_INLINE std::size_t append_places(std::uint64_t bits, std::uint32_t first,
                                     std::uint32_t* HWY_RESTRICT list, std::size_t count) {
  std::uint32_t* HWY_RESTRICT next = list + count;
  *next = first + static_cast<std::uint32_t>(std::countr_zero(bits));
  count += static_cast<std::size_t>(std::popcount(bits));
  for (bits &= bits - 1; HWY_UNLIKELY(bits != 0); bits &= bits - 1)
    *++next = first + static_cast<std::uint32_t>(std::countr_zero(bits));
  return count;
}

// The row by value: bytes that are stored could otherwise be parts of it.
template <bool counted>
HWY_INLINE void draw_sites(const EqualLatticeRow row, const LaneRandom& random, std::uint32_t chain,
                           std::uint64_t sweep) {
  const ByteTag d;
  const hn::RebindToSigned<ByteTag> signed_bytes;
  const LaneWords lane_words(random, chain, sweep);
  const ByteVector thresholds = hn::LoadDup128(d, row.law->first.data()), one = hn::Set(d, std::uint8_t{1});
  const ByteVector low_codes = hn::LoadDup128(d, low_count), high_codes = hn::LoadDup128(d, high_count);
  constexpr std::size_t stretch = 512;
  std::uint32_t tied[stretch + ties_at_once];  // sites whose first eight bits are those of their thresholds
  for (std::size_t begin = 0; begin < row.sites; begin += stretch) {
    const std::size_t end = std::min(row.sites, begin + stretch);
    // Of every 64 sites, those tied. What follows from them waits: stores whose places depend on them would hold up
    // the loads of the sites behind.
    std::uint64_t equals[stretch / 64];
    for (std::size_t first = begin; first < end; first += 256) {
      WordVector words[vector_count];
      lane_words.draw(row.place + static_cast<std::uint32_t>(first / 256), words);
      for (std::size_t part = first; part < std::min(end, first + 256); part += 64) {  // rows have whole ones
        std::uint64_t equal = 0;
        for (std::size_t v = 0; v < 64; v += byte_lanes) {
          const std::size_t j = part + v;
          const ByteVector sum = hn::Add(hn::Add(hn::LoadU(d, row.up + j), hn::LoadU(d, row.down + j)),
                                         hn::Add(hn::LoadU(d, row.level + j), hn::LoadU(d, row.beside + j)));
          const auto threshold = hn::BitCast(signed_bytes, hn::TableLookupBytes(thresholds, sum));
          const auto bits = hn::BitCast(signed_bytes, words[(j - first) / byte_lanes]);
          hn::StoreU(hn::IfThenElseZero(hn::RebindMask(d, hn::Lt(bits, threshold)), one), d, row.own + j);
          MaskWord some = 0;
          hn::StoreMaskBits(signed_bytes, hn::Eq(bits, threshold), reinterpret_cast<std::uint8_t*>(&some));
          equal |= std::uint64_t{some} << v;
          if constexpr (counted) {
            std::uint8_t* const low = row.low_counts + j;
            std::uint8_t* const high = row.high_counts + j;
            hn::StoreU(hn::Add(hn::LoadU(d, low), hn::TableLookupBytes(low_codes, sum)), d, low);
            hn::StoreU(hn::Add(hn::LoadU(d, high), hn::TableLookupBytes(high_codes, sum)), d, high);
          }
        }
        equals[(part - begin) / 64] = equal;
      }
    }
    std::size_t ties = 0;
    for (std::size_t part = begin; part < end; part += 64)
      ties = append_places(equals[(part - begin) / 64], static_cast<std::uint32_t>(part), tied, ties);
    // The first few always: how many there are would be guessed wrong nearly every time. What is too many is drawn
    // behind the row, which is mended afterwards.
    for (std::size_t k = 0; k < ties_at_once; ++k) tied[ties + k] = static_cast<std::uint32_t>(row.sites);
    std::size_t settled = 0;
    do {
      std::uint64_t words[ties_at_once];
      first_words(random, chain, sweep, row.tie_place, tied + settled, words);
      for (std::size_t k = 0; k < ties_at_once; ++k) {
        const std::size_t j = tied[settled + k];
        const std::size_t sum = (row.up[j] + row.down[j] + row.level[j] + row.beside[j]) & 15;
        row.own[j] = words[k] >> 8 < row.law->rest[sum] ? 1 : 0;
      }
      settled += ties_at_once;
    } while (HWY_UNLIKELY(settled < ties));
  }
}

void draw_equal_row(const EqualLatticeRow& row, const LaneRandom& random, std::uint32_t chain,
                    std::uint64_t sweep) {
  if (row.low_counts)
    draw_sites<true>(row, random, chain, sweep);
  else
    draw_sites<false>(row, random, chain, sweep);
}

// sum_n counts_n p_n of some sites, n = 0 being what is left of all sweeps.
HWY_INLINE FloatVector counted_sum(const std::uint8_t* HWY_RESTRICT low,
                                   const std::uint8_t* HWY_RESTRICT high, FloatVector never,
                                   const FloatVector* HWY_RESTRICT more) {
  const FloatTag f;
  const hn::RebindToSigned<FloatTag> integers;
  const hn::Rebind<std::uint8_t, FloatTag> some_bytes;
  const auto fifteen = hn::Set(integers, 15);
  const auto a = hn::PromoteTo(integers, hn::LoadU(some_bytes, low));
  const auto b = hn::PromoteTo(integers, hn::LoadU(some_bytes, high));
  FloatVector sum = hn::MulAdd(hn::ConvertTo(f, hn::And(a, fifteen)), more[0], never);
  sum = hn::MulAdd(hn::ConvertTo(f, hn::ShiftRight<4>(a)), more[1], sum);
  sum = hn::MulAdd(hn::ConvertTo(f, hn::And(b, fifteen)), more[2], sum);
  return hn::MulAdd(hn::ConvertTo(f, hn::ShiftRight<4>(b)), more[3], sum);
}

// Adds what `sweeps` sweeps have counted in a row, the sites of even x and of odd x, and clears the counts.
void add_counted(std::uint8_t* HWY_RESTRICT even, std::uint8_t* HWY_RESTRICT odd, std::size_t row_bytes,
                 std::size_t width, std::size_t sweeps, const float* HWY_RESTRICT p,
                 float* HWY_RESTRICT sums) {
  const FloatTag f;
  const FloatVector never = hn::Set(f, static_cast<float>(sweeps) * p[0]);
  FloatVector more[4];
  for (std::size_t n = 0; n < 4; ++n) more[n] = hn::Set(f, p[n + 1] - p[0]);
  for (std::size_t x = 0; x < width; x += 2 * vector_lanes) {
    alignas(64) float total[2 * vector_lanes];
    hn::StoreInterleaved2(counted_sum(even + x / 2, even + row_bytes + x / 2, never, more),
                          counted_sum(odd + x / 2, odd + row_bytes + x / 2, never, more), f, total);
    if (x + 2 * vector_lanes <= width) {
      add_to(sums + x, hn::Load(f, total));
      add_to(sums + x + vector_lanes, hn::Load(f, total + vector_lanes));
    } else {
      for (std::size_t k = 0; x + k < width; ++k) sums[x + k] += total[k];
    }
  }
  std::memset(even, 0, 2 * row_bytes);
  std::memset(odd, 0, 2 * row_bytes);
}

// Sites of a row that are 1, and pairs of ones with the neighbours to the right and below.
void count_row(const EqualLatticeRow& row, const std::uint8_t* right, std::uint64_t* HWY_RESTRICT ones,
               std::uint64_t* HWY_RESTRICT pairs) {
  const ByteTag d;
  const hn::Repartition<std::uint64_t, ByteTag> wide;
  auto all_ones = hn::Zero(wide), all_pairs = hn::Zero(wide);
  for (std::size_t j = 0; j < row.sites; j += byte_lanes) {  // behind the sites stand zeros, and 8 or a copy
    const ByteVector own = hn::LoadU(d, row.own + j);
    const ByteVector x =
        j + byte_lanes <= row.sites ? own : hn::IfThenElseZero(hn::FirstN(d, row.sites - j), own);
    all_ones = hn::Add(all_ones, hn::SumsOf8(x));
    all_pairs = hn::Add(all_pairs, hn::SumsOf8(hn::Add(hn::And(x, hn::LoadU(d, right + j)),
                                                       hn::And(x, hn::LoadU(d, row.down + j)))));
  }
  *ones = hn::GetLane(hn::SumOfLanes(wide, all_ones));
  *pairs = hn::GetLane(hn::SumOfLanes(wide, all_pairs));
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(draw_equal_row);
HWY_EXPORT(add_counted);
HWY_EXPORT(count_row);

constexpr std::size_t band = 128;   // rows of one task
constexpr std::size_t margin = 64;  // bytes before and behind a row, so that rows stay aligned

// 2^64 p, at most 2^64 - 1.
std::uint64_t threshold_of(long double p) {
  const long double scaled = std::floor(p * 0x1p64L);
  return scaled >= 0x1p64L ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

}  // namespace

GibbsSpinEqualLattice::GibbsSpinEqualLattice(const EqualLattice& lattice)
    : lattice_(lattice), board_{lattice.width, lattice.height, lattice.periodic_x} {
  assert((!lattice.periodic_x || lattice.width % 2 == 0) && (!lattice.periodic_y || lattice.height % 2 == 0));
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

std::size_t GibbsSpinEqualLattice::row_bytes() const {
  return ((board_.width + 1) / 2 + 63) / 64 * 64;
}

std::size_t GibbsSpinEqualLattice::row(std::size_t colour, std::size_t y) const {
  return (colour * (board_.height + 1) + y) * (row_bytes() + 2 * margin) + margin;
}

std::size_t GibbsSpinEqualLattice::counts_of_row(std::size_t colour, std::size_t y) const {
  return (colour * board_.height + y) * 2 * row_bytes();
}

void GibbsSpinEqualLattice::mend_row(std::uint8_t* bytes, std::size_t colour, std::size_t y) const {
  const std::size_t count = board_.row_sites(colour, y);
  std::uint8_t* const first = bytes + row(colour, y);
  std::memset(first + count, 0, margin);  // of a fixed length, so that it is no call; no more bytes are left
  first[-1] = lattice_.periodic_x ? first[count - 1] : no_neighbour;
  first[count] = lattice_.periodic_x ? first[0] : no_neighbour;
}

GibbsSpinEqualLattice::State GibbsSpinEqualLattice::start(std::uint64_t seed,
                                                          std::uint32_t first_chain) const {
  State state{seed, first_chain, 1.0F, Bytes(row(1, board_.height) + row_bytes() + margin, 0), {}};
  const LaneRandom random(seed, Stream::start);
  std::uint32_t place = 0;
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = 0; y < board_.height; ++y) {
      const std::size_t count = board_.row_sites(colour, y);
      std::uint8_t* const first = state.bytes.data() + row(colour, y);
      for (std::size_t begin = 0; begin < count; begin += 2048) {  // a bit of the 64 words for each
        const LaneRandom::Words words = random.words(first_chain, 0, place++);
        for (std::size_t j = begin; j < std::min(count, begin + 2048); ++j)
          first[j] = words[(j - begin) / 32] >> j % 32 & 1;
      }
      mend_row(state.bytes.data(), colour, y);
    }
  return state;
}

void GibbsSpinEqualLattice::sweeps(State& state, std::uint64_t first, std::uint64_t count) const {
  run(state, first, count, nullptr);
}

void GibbsSpinEqualLattice::sweeps(State& state, std::uint64_t first, std::uint64_t count,
                                   ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count());
  run(state, first, count, sums.sums.data());
}

GibbsSpinEqualLattice::Rows::Rows(const GibbsSpinEqualLattice& kernel, State& state, bool counted)
    : kernel_(kernel), state_(state), random_(state.seed, Stream::sweep) {
  const auto probability = [&](int neighbours, int n) {
    return kernel.probability(neighbours, n, state.inverse_temperature);
  };
  for (int neighbours = 2; neighbours <= 4; ++neighbours)
    for (int n = 0; n <= neighbours; ++n)
      conditionals_[neighbours][n] = static_cast<float>(probability(neighbours, n));
  for (int inside = 3; inside <= 4; ++inside)
    for (int border = 0; border < 2; ++border)
      for (int n = 0; n <= inside - border; ++n) {
        const std::uint64_t threshold = threshold_of(probability(inside - border, n));
        laws_[inside].first[no_neighbour * border + n] = static_cast<std::uint8_t>(threshold >> 56 ^ 0x80);
        laws_[inside].rest[no_neighbour * border + n] = threshold << 8 >> 8;
      }
  if (counted) state.room.resize(kernel.counts_of_row(2, 0), 0);
}

void GibbsSpinEqualLattice::Rows::draw(std::uint64_t sweep, std::size_t colour, std::size_t y,
                                       const float* sums) const {
  const Checkerboard& board = kernel_.board_;
  std::uint8_t* const bytes = state_.bytes.data();
  const std::size_t number = colour * board.height + y, units = (kernel_.row_bytes() + 255) / 256;
  const std::uint8_t* const level = bytes + kernel_.row(1 - colour, y);
  std::uint8_t* const counts = sums ? state_.room.data() + kernel_.counts_of_row(colour, y) : nullptr;
  const EqualLatticeRow drawn{
      .sites = board.row_sites(colour, y),
      .own = bytes + kernel_.row(colour, y),
      .up = bytes + kernel_.row(1 - colour, kernel_.above(y)),
      .level = level,
      .beside = Checkerboard::shift(colour, y) ? level + 1 : level - 1,
      .down = bytes + kernel_.row(1 - colour, kernel_.below(y)),
      .law = &laws_[kernel_.neighbours_inside(y)],
      .low_counts = counts,
      .high_counts = sums ? counts + kernel_.row_bytes() : nullptr,
      .place = static_cast<std::uint32_t>(number * units),
      .tie_place = static_cast<std::uint32_t>(2 * board.height * units + number * kernel_.row_bytes())};
  HWY_DYNAMIC_DISPATCH(draw_equal_row)(drawn, random_, state_.chain, sweep);
  kernel_.mend_row(bytes, colour, y);
}

std::uint64_t GibbsSpinEqualLattice::Rows::next_part(std::uint64_t sweeps, bool counted) {
  return counted ? sweeps / ((sweeps + most_counted - 1) / most_counted) : sweeps;
}

// Sites at an open border have a neighbour less, and are mended first, one by one.
void GibbsSpinEqualLattice::Rows::close(std::size_t y, std::uint64_t sweeps, float* sums) const {
  const std::size_t width = kernel_.board_.width, row_bytes = kernel_.row_bytes();
  const int inside = kernel_.neighbours_inside(y);
  const auto &p = conditionals_[inside], &p_border = conditionals_[inside - 1];
  const auto counts = [&](std::size_t shift) {
    return state_.room.data() + kernel_.counts_of_row((shift + y) % 2, y);
  };
  if (!kernel_.lattice_.periodic_x)
    for (std::size_t x : {std::size_t{0}, width - 1}) {
      const std::uint8_t* const pairs = counts(x % 2) + x / 2;
      const int count[4] = {pairs[0] & 15, pairs[0] >> 4, pairs[row_bytes] & 15, pairs[row_bytes] >> 4};
      float mend = static_cast<float>(sweeps) * (p_border[0] - p[0]);
      for (std::size_t n = 0; n < 4; ++n)
        mend += static_cast<float>(count[n]) * (p_border[n + 1] - p_border[0] - p[n + 1] + p[0]);
      sums[x] += mend;
    }
  HWY_DYNAMIC_DISPATCH(add_counted)(counts(0), counts(1), row_bytes, width, sweeps, p.data(), sums);
}

void GibbsSpinEqualLattice::run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const {
  const Rows rows(*this, state, sums != nullptr);
  std::uint64_t done = 0;
  const auto draw = [&](std::size_t sweep, std::size_t colour, std::size_t y) {
    rows.draw(first + done + sweep, colour, y, sums);
  };
  while (done < count) {
    const std::uint64_t end = done + Rows::next_part(count - done, sums != nullptr), begin = done;
    for (std::uint64_t together = 0; done < end; done += together) {
      together = std::min<std::uint64_t>(board_.sweeps_together(band), end - done);
      board_.sweep_rows(together, band, 1 << 18, draw);
    }
    if (sums)
      parallel_for(IndexRange(0, board_.height, 64), [&](const IndexRange& range) {
        for (std::size_t y = range.begin(); y != range.end(); ++y)
          rows.close(y, end - begin, sums + y * board_.width);
      });
  }
}

void GibbsSpinEqualLattice::load_row(const State& state, std::size_t colour, std::size_t y,
                                     std::uint64_t* words) const {
  std::fill_n(words, row_words(), 0);
  const std::uint8_t* const bytes = state.bytes.data() + row(colour, y);
  for (std::size_t j = 0; j < board_.row_sites(colour, y); ++j)
    words[j / 64] |= std::uint64_t{bytes[j]} << j % 64;
}

void GibbsSpinEqualLattice::store_row(State& state, std::size_t colour, std::size_t y,
                                      const std::uint64_t* words) const {
  std::uint8_t* const bytes = state.bytes.data() + row(colour, y);
  for (std::size_t j = 0; j < board_.row_sites(colour, y); ++j) bytes[j] = words[j / 64] >> j % 64 & 1;
  mend_row(state.bytes.data(), colour, y);
}

void GibbsSpinEqualLattice::read(const State& state, std::uint32_t, std::span<Value> values) const {
  for (std::size_t y = 0; y < board_.height; ++y)
    for (std::size_t x = 0; x < board_.width; ++x)
      values[y * board_.width + x] = state.bytes[row((x + y) % 2, y) + x / 2];
}

void GibbsSpinEqualLattice::read(const State& state, std::span<std::uint8_t> values) const {
  parallel_for(IndexRange(0, board_.height, 64), [&](const IndexRange& rows) {
    for (std::size_t y = rows.begin(); y != rows.end(); ++y) {
      const std::uint8_t* const even = state.bytes.data() + row(y % 2, y);
      const std::uint8_t* const odd = state.bytes.data() + row(1 - y % 2, y);
      std::uint8_t* const to = values.data() + y * board_.width;
      for (std::size_t j = 0; j < board_.width / 2; ++j) to[2 * j] = even[j], to[2 * j + 1] = odd[j];
      if (board_.width % 2) to[board_.width - 1] = even[board_.width / 2];
    }
  });
}

void GibbsSpinEqualLattice::write(State& state, std::uint32_t, std::span<const Value> values) const {
  for (std::size_t y = 0; y < board_.height; ++y) {
    for (std::size_t x = 0; x < board_.width; ++x)
      state.bytes[row((x + y) % 2, y) + x / 2] = static_cast<std::uint8_t>(values[y * board_.width + x]);
    for (std::size_t colour = 0; colour < 2; ++colour) mend_row(state.bytes.data(), colour, y);
  }
}

GibbsSpinEqualLattice::Counts GibbsSpinEqualLattice::score_parts(const State& state, std::size_t begin,
                                                                 std::size_t end) const {
  auto* const bytes = const_cast<std::uint8_t*>(state.bytes.data());  // only read
  std::uint64_t all_ones = 0, neighbours_of_ones = 0, all_pairs = 0;
  for (std::size_t y = begin; y < end; ++y) {
    for (std::size_t colour = 0; colour < 2; ++colour) {
      const std::uint8_t* const level = bytes + row(1 - colour, y);
      EqualLatticeRow counted{};
      counted.sites = board_.row_sites(colour, y);
      counted.own = bytes + row(colour, y);
      counted.down = bytes + row(1 - colour, below(y));
      std::uint64_t ones = 0, pairs = 0;
      HWY_DYNAMIC_DISPATCH(count_row)
      (counted, Checkerboard::shift(colour, y) ? level + 1 : level, &ones, &pairs);
      all_ones += ones;
      all_pairs += pairs;
      neighbours_of_ones += static_cast<std::uint64_t>(neighbours_inside(y)) * ones;
    }
    if (!lattice_.periodic_x)
      for (std::size_t x : {std::size_t{0}, board_.width - 1})
        neighbours_of_ones -= bytes[row((x + y) % 2, y) + x / 2];
  }
  return {all_ones, neighbours_of_ones, all_pairs};
}

// sum_i x_i (field - weight / 2 * neighbours_i) + weight * pairs of ones.
double GibbsSpinEqualLattice::score_of(const Counts& counts) const {
  const auto [ones, neighbours, pairs] = counts;
  return lattice_.log_constant + lattice_.field * static_cast<double>(ones) +
         lattice_.weight * (static_cast<double>(pairs) - static_cast<double>(neighbours) / 2);
}

void GibbsSpinEqualLattice::log_scores(const State& state, std::span<double> scores) const {
  scores[0] = score_of(score_parts(state, 0, board_.height));
}

}  // namespace drover
#endif
