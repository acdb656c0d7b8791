#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/gibbs/spin_scan.hpp"
#include "drover/sample/lane_random.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_bytes.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/byte_random-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using View = GibbsSpinBytes::View;

using SignedTag = hn::RebindToSigned<ByteTag>;
using SignedVector = hn::Vec<SignedTag>;
using ByteMask = hn::Mask<SignedTag>;
using HalfwordTag = hn::Repartition<std::uint16_t, ByteTag>;
using HalfwordVector = hn::Vec<HalfwordTag>;
using WordTag = hn::Repartition<std::uint32_t, ByteTag>;
using WordVector = hn::Vec<WordTag>;
using IntegerTag = hn::Repartition<std::int32_t, ByteTag>;
using FloatTag = hn::Repartition<float, ByteTag>;
using FloatVector = hn::Vec<FloatTag>;

// The bytes of vector k become four vectors of words, q = 0 .. 3, that hold the lanes from
// lane_of(k, q) on.
HWY_INLINE constexpr std::size_t lane_of(std::size_t k, std::size_t q) {
  return 16 * q + k * (byte_lanes / 4);
}

// The index 0 .. 15 that four neighbours spell in the chains of vector k.
HWY_INLINE ByteVector group_index(const std::uint8_t* HWY_RESTRICT bytes,
                                  const std::uint32_t* HWY_RESTRICT neighbours, std::size_t k) {
  const ByteTag d;
  const auto of = [&](int j) {
    return hn::Load(d, bytes + std::size_t{64} * neighbours[j] + k * byte_lanes);
  };
  ByteVector index = hn::And(of(0), hn::Set(d, 1));
  index = hn::OrAnd(index, of(1), hn::Set(d, 2));
  index = hn::OrAnd(index, of(2), hn::Set(d, 4));
  return hn::OrAnd(index, of(3), hn::Set(d, 8));
}

// Byte b of the entries that `index` names.
HWY_INLINE ByteVector look_up(const std::uint8_t* HWY_RESTRICT table, int b, ByteVector index) {
  return hn::TableLookupBytes(hn::LoadDup128(ByteTag(), table + 16 * b), index);
}

// Four bytes per chain, b3 the most significant, as four vectors of words.
HWY_INLINE void join_bytes(ByteVector b3, ByteVector b2, ByteVector b1, ByteVector b0,
                           WordVector* HWY_RESTRICT words) {
  const ByteTag d;
  const HalfwordTag h;
  const WordTag w;
  const auto low_lower = hn::BitCast(h, hn::InterleaveLower(d, b0, b1));
  const auto low_upper = hn::BitCast(h, hn::InterleaveUpper(d, b0, b1));
  const auto high_lower = hn::BitCast(h, hn::InterleaveLower(d, b2, b3));
  const auto high_upper = hn::BitCast(h, hn::InterleaveUpper(d, b2, b3));
  words[0] = hn::BitCast(w, hn::InterleaveLower(h, low_lower, high_lower));
  words[1] = hn::BitCast(w, hn::InterleaveUpper(h, low_lower, high_lower));
  words[2] = hn::BitCast(w, hn::InterleaveLower(h, low_upper, high_upper));
  words[3] = hn::BitCast(w, hn::InterleaveUpper(h, low_upper, high_upper));
}

// The inverse for masks: four vectors of words, each 0 or all ones, become bytes.
HWY_INLINE ByteVector split_masks(const hn::Mask<FloatTag>* HWY_RESTRICT masks) {
  const hn::Repartition<std::int16_t, ByteTag> h;
  const ByteTag d;
  const auto word = [&](int q) { return hn::BitCast(IntegerTag(), hn::VecFromMask(FloatTag(), masks[q])); };
  const auto lower = hn::BitCast(d, hn::ReorderDemote2To(h, word(0), word(1)));
  const auto upper = hn::BitCast(d, hn::ReorderDemote2To(h, word(2), word(3)));
  alignas(16) static constexpr std::uint8_t to_lower[16] = {0,   2,   4,   6,   8,   10,  12,  14,
                                                            128, 128, 128, 128, 128, 128, 128, 128};
  alignas(16) static constexpr std::uint8_t to_upper[16] = {128, 128, 128, 128, 128, 128, 128, 128,
                                                            0,   2,   4,   6,   8,   10,  12,  14};
  return hn::Or(hn::TableLookupBytesOr0(lower, hn::LoadDup128(d, to_lower)),
                hn::TableLookupBytesOr0(upper, hn::LoadDup128(d, to_upper)));
}

HWY_INLINE void add_to(float* HWY_RESTRICT sums, FloatVector p) {
  const FloatTag d;
  hn::StoreU(hn::Add(hn::LoadU(d, sums), p), d, sums);
}

// Adds 2^-24 words; the product is exact, so that fused or not the result is the same.
HWY_INLINE void add_scaled(float* HWY_RESTRICT sums, WordVector words) {
  const FloatTag d;
  const FloatVector numbers = hn::ConvertTo(d, hn::BitCast(IntegerTag(), words));
  hn::StoreU(hn::MulAdd(numbers, hn::Set(d, 0x1p-24f), hn::LoadU(d, sums)), d, sums);
}

// The order of bytes is that of signed numbers in the shuffle tables (all but one instruction set compare
// signed bytes only): bytes 3 and 2 of thresholds are kept with their highest bit turned.
HWY_INLINE ByteVector turned(ByteVector bytes) {
  return hn::Xor(bytes, hn::Set(ByteTag(), 0x80));
}

// Draws a variable of at most four neighbours from 16 random bits; false when these tie in some chain.
template <bool summed>
HWY_INLINE bool draw_from_table(const std::uint8_t* HWY_RESTRICT table, std::uint8_t* bytes, std::size_t i,
                                const std::uint32_t* HWY_RESTRICT neighbours, const LaneBytes& random,
                                float* HWY_RESTRICT sums) {
  const ByteTag d;
  const SignedTag s;
  ByteVector high[byte_vectors], low[byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), high, low);
  ByteVector ties = hn::Zero(d);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    const ByteVector index = group_index(bytes, neighbours, k);
    const ByteVector b3 = look_up(table, 3, index), b2 = look_up(table, 2, index);
    const SignedVector t3 = hn::BitCast(s, b3), t2 = hn::BitCast(s, b2);
    const SignedVector r3 = hn::BitCast(s, high[k]), r2 = hn::BitCast(s, low[k]);
    const ByteMask equal = hn::Eq(r3, t3);
    const ByteMask one = hn::Or(hn::Lt(r3, t3), hn::And(equal, hn::Lt(r2, t2)));
    ties = hn::Or(ties, hn::BitCast(d, hn::VecFromMask(s, hn::And(equal, hn::Eq(r2, t2)))));
    hn::Store(hn::BitCast(d, hn::VecFromMask(s, one)), d, bytes + 64 * i + k * byte_lanes);
    if constexpr (summed) {
      WordVector words[4];
      join_bytes(hn::Zero(d), turned(b3), turned(b2), look_up(table, 1, index), words);
      for (std::size_t q = 0; q < 4; ++q) add_scaled(sums + lane_of(k, q), words[q]);
    }
  }
  return hn::AllTrue(d, hn::Eq(ties, hn::Zero(d)));
}

// The same from all 32 bits.
HWY_NOINLINE void draw_from_whole_table(const std::uint8_t* HWY_RESTRICT table, std::uint8_t* bytes,
                                        std::size_t i, const std::uint32_t* HWY_RESTRICT neighbours,
                                        const LaneBytes& random) {
  const ByteTag d;
  const SignedTag s;
  ByteVector r[4][byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), r[3], r[2]);
  random.draw<1>(static_cast<std::uint32_t>(i), r[1], r[0]);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    const ByteVector index = group_index(bytes, neighbours, k);
    ByteMask one = hn::MaskFromVec(hn::Zero(s));
    for (int b = 0; b < 4; ++b) {
      ByteVector entry = look_up(table, b, index);
      if (b < 2) entry = turned(entry);
      const SignedVector t = hn::BitCast(s, entry), u = hn::BitCast(s, r[b][k]);
      one = hn::Or(hn::Lt(u, t), hn::And(hn::Eq(u, t), one));
    }
    hn::Store(hn::BitCast(d, hn::VecFromMask(s, one)), d, bytes + 64 * i + k * byte_lanes);
  }
}

// The 16 sums of subsets of four weights.
HWY_INLINE void subset_sums(const float* HWY_RESTRICT weights, float* HWY_RESTRICT sums) {
  alignas(64) static constexpr float has[4][16] = {{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
                                                   {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1},
                                                   {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1},
                                                   {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}};
  const FloatTag d;
  for (std::size_t e = 0; e < 16; e += hn::MaxLanes(d)) {
    FloatVector total = hn::Zero(d);
    for (std::size_t j = 0; j < 4; ++j)
      total = hn::Add(total, hn::Mul(hn::Set(d, weights[j]), hn::Load(d, has[j] + e)));
    hn::Store(total, d, sums + e);
  }
}

// Byte b of word e goes to place 16 b + e.
HWY_INLINE void split_words(const void* HWY_RESTRICT words, std::uint8_t* HWY_RESTRICT table) {
  const hn::FixedTag<std::uint8_t, 16> d;
  hn::Vec<decltype(d)> b0, b1, b2, b3;
  hn::LoadInterleaved4(d, static_cast<const std::uint8_t*>(words), b0, b1, b2, b3);
  hn::Store(b0, d, table);
  hn::Store(b1, d, table + 16);
  hn::Store(b2, d, table + 32);
  hn::Store(b3, d, table + 48);
}

#if HWY_TARGET <= HWY_AVX3

// The 16 products or sums of a group are one vector of floats, made on the way.
struct Group {
  FloatVector entries;
};

template <bool product>
HWY_INLINE void load_group(const View& view, std::size_t g, Group& group) {
  static constexpr std::uint16_t has[4] = {0xAAAA, 0xCCCC, 0xF0F0, 0xFF00};
  const FloatTag d;
  const float* const terms = (product ? view.odds : view.weights) + 4 * g;
  group.entries = hn::Set(d, product ? 1.0f : 0.0f);
  for (std::size_t j = 0; j < 4; ++j) {
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(has + j));
    const FloatVector term = hn::Set(d, terms[j]);
    const FloatVector with = product ? hn::Mul(group.entries, term) : hn::Add(group.entries, term);
    group.entries = hn::IfThenElse(mask, with, group.entries);
  }
}

// Multiplies or adds the entries that `index` names into four vectors of floats.
template <bool product>
HWY_INLINE void combine(const Group& group, ByteVector index, FloatVector* HWY_RESTRICT totals) {
  const FloatTag d;
  alignas(16) static constexpr std::uint8_t to_words[4][16] = {
      {0, 128, 128, 128, 1, 128, 128, 128, 2, 128, 128, 128, 3, 128, 128, 128},
      {4, 128, 128, 128, 5, 128, 128, 128, 6, 128, 128, 128, 7, 128, 128, 128},
      {8, 128, 128, 128, 9, 128, 128, 128, 10, 128, 128, 128, 11, 128, 128, 128},
      {12, 128, 128, 128, 13, 128, 128, 128, 14, 128, 128, 128, 15, 128, 128, 128}};
  for (std::size_t q = 0; q < 4; ++q) {
    const ByteVector words = hn::TableLookupBytesOr0(index, hn::LoadDup128(ByteTag(), to_words[q]));
    const FloatVector term =
        hn::TableLookupLanes(group.entries, hn::IndicesFromVec(d, hn::BitCast(IntegerTag(), words)));
    totals[q] = product ? hn::Mul(totals[q], term) : hn::Add(totals[q], term);
  }
}

#else

// The 16 products or sums of a group are a table of bytes: products are there, sums are made on the way.
struct Group {
  alignas(64) std::uint8_t room[64];
  const std::uint8_t* table;
};

template <bool product>
HWY_INLINE void load_group(const View& view, std::size_t g, Group& group) {
  group.table = product ? view.tables + 64 * g : group.room;
  if (product) return;
  alignas(64) float sums[16];
  subset_sums(view.weights + 4 * g, sums);
  split_words(sums, group.room);
}

// Multiplies or adds the entries that `index` names into four vectors of floats.
template <bool product>
HWY_INLINE void combine(const Group& group, ByteVector index, FloatVector* HWY_RESTRICT totals) {
  WordVector words[4];
  join_bytes(look_up(group.table, 3, index), look_up(group.table, 2, index), look_up(group.table, 1, index),
             look_up(group.table, 0, index), words);
  for (std::size_t q = 0; q < 4; ++q) {
    const FloatVector term = hn::BitCast(FloatTag(), words[q]);
    totals[q] = product ? hn::Mul(totals[q], term) : hn::Add(totals[q], term);
  }
}

#endif

// Draws the chains of vector k given odds = exp(-f), from 16 random bits r: x = 1 when u (1 + odds) < 1 with
// r <= 65536 u < r + 1. Returns all ones where that does not decide.
template <bool summed>
HWY_INLINE ByteVector draw_from_odds(const FloatVector* HWY_RESTRICT odds, ByteVector high, ByteVector low,
                                     std::uint8_t* HWY_RESTRICT out, std::size_t k,
                                     float* HWY_RESTRICT sums) {
  const ByteTag d;
  const FloatTag f;
  const FloatVector one = hn::Set(f, 1.0f), whole = hn::Set(f, 65536.0f);
  WordVector words[4];
  join_bytes(hn::Zero(d), hn::Zero(d), high, low, words);
  hn::Mask<FloatTag> sure[4];
  FloatVector open = hn::Zero(f);
  for (std::size_t q = 0; q < 4; ++q) {
    const FloatVector r = hn::ConvertTo(f, hn::BitCast(IntegerTag(), words[q]));
    const FloatVector total = hn::Add(one, odds[q]);
    const FloatVector least = hn::Mul(r, total);
    sure[q] = hn::Le(least, hn::Sub(whole, total));
    const auto possible = hn::Lt(least, whole);
    open = hn::Or(open, hn::VecFromMask(f, hn::Xor(sure[q], possible)));
    if constexpr (summed) add_to(sums + lane_of(k, q), hn::Div(one, total));
  }
  hn::Store(split_masks(sure), d, out);
  return hn::BitCast(d, open);
}

// The same from 32 bits: v odds < 2^31 - v keeps the relative precision of small probabilities of both
// values.
HWY_INLINE void draw_from_odds_whole(const FloatVector* HWY_RESTRICT odds,
                                     const WordVector* HWY_RESTRICT random, std::uint8_t* HWY_RESTRICT out) {
  const IntegerTag n;
  const FloatTag f;
  hn::Mask<FloatTag> masks[4];
  for (std::size_t q = 0; q < 4; ++q) {
    const auto v = hn::BitCast(n, hn::Or(hn::ShiftRight<1>(random[q]), hn::Set(WordTag(), 1U)));
    const auto rest =
        hn::Sub(hn::Set(n, std::numeric_limits<std::int32_t>::max()), hn::Sub(v, hn::Set(n, 1)));
    masks[q] = hn::Lt(hn::Mul(hn::ConvertTo(f, v), odds[q]), hn::ConvertTo(f, rest));
  }
  hn::Store(split_masks(masks), ByteTag(), out);
}

// exp(-f) of all chains at temperature 1, as a product.
HWY_INLINE void odds_by_product(const View& view, const std::uint8_t* HWY_RESTRICT bytes, std::size_t i,
                                FloatVector* HWY_RESTRICT odds) {
  for (std::size_t k = 0; k < 4 * byte_vectors; ++k) odds[k] = hn::Set(FloatTag(), view.bias_odds[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
    Group group;
    load_group<true>(view, g, group);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      combine<true>(group, group_index(bytes, view.neighbours + 4 * g, k), odds + 4 * k);
  }
}

// exp(x) for |x| <= 64 to a few units in the last place, by IEEE operations only: 2^n times a polynomial of
// degree 6 in the rest, |rest| <= log(2) / 2.
HWY_INLINE FloatVector exponential(FloatVector x) {
  const FloatTag d;
  const FloatVector magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const FloatVector shifted = hn::Add(hn::Mul(x, hn::Set(d, 1.44269504f)), magic);
  const FloatVector n = hn::Sub(shifted, magic);
  FloatVector r = hn::Sub(x, hn::Mul(n, hn::Set(d, 0.693359375f)));  // exact: 9 bits of log 2
  r = hn::Add(r, hn::Mul(n, hn::Set(d, 2.12194440e-4f)));
  FloatVector p = hn::Set(d, 1.0f / 720);
  for (float c : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
    p = hn::Add(hn::Mul(p, r), hn::Set(d, c));
  return hn::BitCast(
      d, hn::Add(hn::BitCast(IntegerTag(), p), hn::ShiftLeft<23>(hn::BitCast(IntegerTag(), shifted))));
}

// exp(-f), with |f| cut at 60: such probabilities are zero or one.
HWY_INLINE FloatVector odds_of(FloatVector field) {
  const FloatTag d;
  return exponential(hn::Min(hn::Max(hn::Neg(field), hn::Set(d, -60.0f)), hn::Set(d, 60.0f)));
}

// The table of thresholds of a variable of at most four neighbours, when all chains have one temperature.
// The smaller of p and 1 - p is made and the other is its complement, so that both keep their precision.
HWY_INLINE void make_thresholds(const View& view, std::size_t i, float inverse_temperature,
                                std::uint8_t* HWY_RESTRICT table) {
  const FloatTag d;
  const IntegerTag n;
  const FloatVector one = hn::Set(d, 1.0f);
  alignas(64) float fields[16];
  alignas(64) std::int32_t thresholds[16];
  subset_sums(view.weights + std::size_t{4} * view.group_begin[i], fields);
  for (std::size_t e = 0; e < 16; e += hn::MaxLanes(d)) {
    const FloatVector field =
        hn::Mul(hn::Add(hn::Load(d, fields + e), hn::Set(d, view.bias[i])), hn::Set(d, inverse_temperature));
    const FloatVector smaller = hn::Div(one, hn::Add(one, odds_of(hn::Neg(hn::Abs(field)))));
    const auto word =
        hn::ConvertTo(n, hn::Min(hn::Mul(smaller, hn::Set(d, 0x1p32f)), hn::Set(d, 2147483520.0f)));
    const auto positive = hn::BitCast(n, hn::VecFromMask(d, hn::Gt(field, hn::Zero(d))));
    hn::Store(hn::Xor(hn::Xor(word, positive), hn::Set(n, static_cast<std::int32_t>(0x80800000U))), n,
              thresholds + e);
  }
  split_words(thresholds, table);
}

// exp(-beta f) of all chains. `inverse_temperatures` has one for every lane; null: all are 1.
HWY_INLINE void odds_by_fields(const View& view, const std::uint8_t* HWY_RESTRICT bytes, std::size_t i,
                               const float* HWY_RESTRICT inverse_temperatures,
                               FloatVector* HWY_RESTRICT odds) {
  const FloatTag d;
  for (std::size_t k = 0; k < 4 * byte_vectors; ++k) odds[k] = hn::Set(d, view.bias[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
    Group group;
    load_group<false>(view, g, group);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      combine<false>(group, group_index(bytes, view.neighbours + 4 * g, k), odds + 4 * k);
  }
  for (std::size_t k = 0; k < byte_vectors; ++k)
    for (std::size_t q = 0; q < 4; ++q) {
      FloatVector field = odds[4 * k + q];
      if (inverse_temperatures) field = hn::Mul(field, hn::LoadU(d, inverse_temperatures + lane_of(k, q)));
      odds[4 * k + q] = odds_of(field);
    }
}

// Draws any variable from exp(-f) of its chains.
template <bool by_fields, bool summed>
HWY_INLINE bool draw_any(const View& view, std::uint8_t* bytes, std::size_t i,
                         const float* HWY_RESTRICT inverse_temperatures, const LaneBytes& random,
                         float* HWY_RESTRICT sums) {
  ByteVector high[byte_vectors], low[byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), high, low);
  const ByteTag d;
  ByteVector open = hn::Zero(d);
  FloatVector odds[4 * byte_vectors];
  if constexpr (by_fields)
    odds_by_fields(view, bytes, i, inverse_temperatures, odds);
  else
    odds_by_product(view, bytes, i, odds);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    open = hn::Or(open, draw_from_odds<summed>(odds + 4 * k, high[k], low[k], bytes + 64 * i + k * byte_lanes,
                                               k, sums));
  }
  return hn::AllTrue(d, hn::Eq(open, hn::Zero(d)));
}

template <bool by_fields>
HWY_NOINLINE void draw_any_whole(const View& view, std::uint8_t* bytes, std::size_t i,
                                 const float* HWY_RESTRICT inverse_temperatures, const LaneBytes& random) {
  ByteVector r[4][byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), r[3], r[2]);
  random.draw<1>(static_cast<std::uint32_t>(i), r[1], r[0]);
  FloatVector odds[4 * byte_vectors];
  if constexpr (by_fields)
    odds_by_fields(view, bytes, i, inverse_temperatures, odds);
  else
    odds_by_product(view, bytes, i, odds);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    WordVector words[4];
    join_bytes(r[3][k], r[2][k], r[1][k], r[0][k], words);
    draw_from_odds_whole(odds + 4 * k, words, bytes + 64 * i + k * byte_lanes);
  }
}

// How many variables ahead of its use memory is asked for.
inline constexpr std::size_t bytes_ahead = 6, rows_ahead = 12;

HWY_INLINE void prefetch_row(const View& view, std::size_t i) {
  hwy::Prefetch(view.neighbours + std::size_t{4} * view.group_begin[i]);
  hwy::Prefetch(view.tables + std::size_t{64} * view.group_begin[i]);
}

HWY_INLINE void prefetch_bytes(const View& view, const std::uint8_t* bytes, std::size_t i) {
  for (std::size_t e = std::size_t{4} * view.group_begin[i]; e < std::size_t{4} * view.group_begin[i + 1];
       ++e)
    hwy::Prefetch(bytes + std::size_t{64} * view.neighbours[e]);
}

enum class Heat { none, uniform, by_lane };

// A piece of a sweep: places begin .. end - 1 of its order.
template <Heat heat, bool summed>
HWY_NOINLINE void sweep_part(const View& view, const GibbsSpinBytes::Job& job, const LaneBytes& random,
                             std::size_t begin, std::size_t end) {
  std::uint8_t* const bytes = job.bytes;
  const std::uint32_t* const order = job.order;
  for (std::size_t place = begin; place < end; ++place) {
    const std::size_t i = order ? order[place] : place;
    if (view.prefetch && place + rows_ahead < view.size) {
      if (order) prefetch_row(view, order[place + rows_ahead]);
      prefetch_bytes(view, bytes, order ? order[place + bytes_ahead] : place + bytes_ahead);
    }
    float* const sums = summed ? job.sums + 64 * i : nullptr;
    const std::size_t group = view.group_begin[i];
    if (heat != Heat::by_lane && view.group_begin[i + 1] == group + 1) {
      alignas(64) std::uint8_t heated[64];
      if (heat == Heat::uniform) make_thresholds(view, i, job.inverse_temperatures[0], heated);
      const std::uint8_t* table = heat == Heat::uniform ? heated : view.tables + 64 * group;
      const std::uint32_t* neighbours = view.neighbours + 4 * group;
      if (!draw_from_table<summed>(table, bytes, i, neighbours, random, sums))
        draw_from_whole_table(table, bytes, i, neighbours, random);
    } else if (heat == Heat::none && view.moderate) {
      if (!draw_any<false, summed>(view, bytes, i, nullptr, random, sums))
        draw_any_whole<false>(view, bytes, i, nullptr, random);
    } else if (!draw_any<true, summed>(view, bytes, i, job.inverse_temperatures, random, sums)) {
      draw_any_whole<true>(view, bytes, i, job.inverse_temperatures, random);
    }
  }
}

// All sweeps of a job together, each `reach` variables behind the one before it: no variable is drawn before
// its neighbours are in the state that they have in sweeps one after the other.
template <Heat heat, bool summed>
void sweep_all(const View& view, const GibbsSpinBytes::Job& job) {
  constexpr std::size_t step = 64;
  LaneBytes random[GibbsSpinBytes::most_together];
  for (std::size_t k = 0; k < job.count; ++k) random[k].start(*job.random, job.batch, job.first_sweep + k);
  if (job.count == 1) return sweep_part<heat, summed>(view, job, random[0], 0, view.size);
  const std::size_t last = view.size + (job.count - 1) * view.reach;
  for (std::size_t front = 0; front < last; front += step)
    for (std::size_t k = 0; k < job.count; ++k) {
      const std::size_t behind = k * view.reach;
      if (front + step <= behind) break;
      sweep_part<heat, summed>(view, job, random[k], front < behind ? 0 : std::min(view.size, front - behind),
                               std::min(view.size, front + step - behind));
    }
}

template <Heat heat>
void sweep_heated(const View& view, const GibbsSpinBytes::Job& job) {
  if (job.sums)
    sweep_all<heat, true>(view, job);
  else
    sweep_all<heat, false>(view, job);
}

void sweep_bytes(const View& view, const GibbsSpinBytes::Job& job) {
  const float* const inverse = job.inverse_temperatures;
  if (!inverse)
    sweep_heated<Heat::none>(view, job);
  else if (std::all_of(inverse, inverse + 64, [&](float b) { return b == inverse[0]; }))
    sweep_heated<Heat::uniform>(view, job);
  else
    sweep_heated<Heat::by_lane>(view, job);
}

// Adds sum_i x_i (bias_i + 1/2 sum_j weight_ij x_j) to every lane's score; floats within a block of
// variables, then double.
void add_scores(const View& view, const std::uint8_t* HWY_RESTRICT bytes, double* HWY_RESTRICT scores) {
  constexpr std::size_t block = 32;
  const FloatTag d;
  for (std::size_t begin = 0; begin < view.size; begin += block) {
    FloatVector totals[4 * byte_vectors];
    for (FloatVector& total : totals) total = hn::Zero(d);
    for (std::size_t i = begin; i < std::min(begin + block, view.size); ++i) {
      if (view.prefetch && i + bytes_ahead < view.size) prefetch_bytes(view, bytes, i + bytes_ahead);
      FloatVector fields[4 * byte_vectors];
      for (FloatVector& field : fields) field = hn::Zero(d);
      for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
        Group group;
        load_group<false>(view, g, group);
        for (std::size_t k = 0; k < byte_vectors; ++k)
          combine<false>(group, group_index(bytes, view.neighbours + 4 * g, k), fields + 4 * k);
      }
      for (std::size_t k = 0; k < byte_vectors; ++k) {
        const ByteVector here = hn::Load(ByteTag(), bytes + 64 * i + k * byte_lanes);
        WordVector masks[4];
        join_bytes(here, here, here, here, masks);
        for (std::size_t q = 0; q < 4; ++q) {
          const FloatVector term =
              hn::Add(hn::Mul(fields[4 * k + q], hn::Set(d, 0.5f)), hn::Set(d, view.bias[i]));
          totals[4 * k + q] = hn::Add(totals[4 * k + q], hn::And(term, hn::BitCast(d, masks[q])));
        }
      }
    }
    alignas(64) float sums[64];
    for (std::size_t k = 0; k < byte_vectors; ++k)
      for (std::size_t q = 0; q < 4; ++q) hn::StoreU(totals[4 * k + q], d, sums + lane_of(k, q));
    for (std::size_t lane = 0; lane < 64; ++lane) scores[lane] += sums[lane];
  }
}

// Independent fair bits.
void start_bytes(const LaneRandom& lane_random, std::uint32_t batch, std::uint8_t* bytes, std::size_t size) {
  const SignedTag s;
  LaneBytes random;
  random.start(lane_random, batch, 0);
  for (std::size_t i = 0; i < size; ++i) {
    ByteVector high[byte_vectors], low[byte_vectors];
    random.draw<0>(static_cast<std::uint32_t>(i), high, low);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      hn::Store(hn::BitCast(ByteTag(), hn::VecFromMask(s, hn::Lt(hn::BitCast(s, high[k]), hn::Zero(s)))),
                ByteTag(), bytes + 64 * i + k * byte_lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(sweep_bytes);
HWY_EXPORT(add_scores);
HWY_EXPORT(start_bytes);

constexpr std::size_t group_size = 4;

// Byte b of entry e stands at 16 b + e.
void set_entry(std::uint8_t* table, unsigned entry, std::uint32_t word) {
  for (unsigned b = 0; b < 4; ++b) table[16 * b + entry] = static_cast<std::uint8_t>(word >> (8 * b));
}

double subset_sum(const float* weights, unsigned bits) {
  double sum = 0;
  for (unsigned j = 0; j < group_size; ++j)
    if (bits >> j & 1) sum += weights[j];
  return sum;
}

// 2^32 p(x = 1) for each of the 16 states of four neighbours, the upper two bytes in signed order.
void fill_thresholds(float bias, const float* weights, std::uint8_t* table) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    const double field = bias + subset_sum(weights, bits);
    const double scaled = std::floor(0x1p32 / (1 + std::exp(-field)) + 0.5);
    set_entry(table, bits, static_cast<std::uint32_t>(std::min(scaled, 0x1p32 - 1)) ^ 0x80800000U);
  }
}

// The largest distance of two neighbours in the order of a sweep.
std::size_t reach_of(const SpinGraph& graph) {
  std::size_t reach = 1;
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (std::size_t j : graph.neighbours(i)) reach = std::max(reach, j > i ? j - i : i - j);
  return reach;
}

// As many sweeps as find room in a cache together, when the whole model does not: a variable takes about 400
// bytes with its sums.
std::size_t sweeps_together(std::size_t size, std::size_t reach, Scan scan) {
  constexpr std::size_t small_cache = 512, large_cache = 6144;  // variables
  if (scan == Scan::random || size <= small_cache || 2 * reach > large_cache) return 1;
  return std::min(GibbsSpinBytes::most_together, large_cache / reach);
}

// exp(-weight) multiplied over each of the 16 states of four neighbours, in the order of the vector code.
void fill_odds(const float* odds, std::uint8_t* table) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    float product = 1;
    for (unsigned j = 0; j < group_size; ++j)
      if (bits >> j & 1) product *= odds[j];
    set_entry(table, bits, std::bit_cast<std::uint32_t>(product));
  }
}

}  // namespace

GibbsSpinBytes::GibbsSpinBytes(const SpinGraph& graph, Scan scan)
    : scan_(scan),
      moderate_(largest_field(graph) <= 80),
      prefetch_(is_scattered(graph) || (scan == Scan::random && graph.size() > (std::size_t{1} << 12))),
      reach_(reach_of(graph)),
      together_(sweeps_together(graph.size(), reach_, scan)),
      log_constant_(graph.log_constant),
      bias_(graph.bias),
      bias_odds_(graph.size()),
      group_begin_(graph.size() + 1, 0) {
  for (std::size_t i = 0; i < size(); ++i) {
    const std::size_t groups = (graph.degree(i) + group_size - 1) / group_size;
    group_begin_[i + 1] = group_begin_[i] + static_cast<std::uint32_t>(std::max<std::size_t>(groups, 1));
  }
  neighbours_.resize(group_size * group_begin_.back());
  weights_.resize(neighbours_.size());
  odds_.resize(neighbours_.size());
  assign_large(tables_, std::size_t{64} * group_begin_.back(), std::uint8_t{0});
  parallel_for(IndexRange(0, size(), 4096), [&](const IndexRange& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const std::size_t begin = group_size * group_begin_[i], end = group_size * group_begin_[i + 1];
      std::fill(neighbours_.begin() + begin, neighbours_.begin() + end, static_cast<std::uint32_t>(i));
      std::fill(weights_.begin() + begin, weights_.begin() + end, 0.0f);
      std::ranges::copy(graph.neighbours(i), neighbours_.begin() + begin);
      std::ranges::copy(graph.weights(i), weights_.begin() + begin);
      bias_odds_[i] = std::exp(-bias_[i]);
      for (std::size_t e = begin; e < end; ++e) odds_[e] = std::exp(-weights_[e]);
      if (end - begin == group_size)
        fill_thresholds(bias_[i], weights_.data() + begin, tables_.data() + 16 * begin);
      else
        for (std::size_t e = begin; e < end; e += group_size)
          fill_odds(odds_.data() + e, tables_.data() + 16 * e);
    }
  });
}

GibbsSpinBytes::View GibbsSpinBytes::view() const {
  return {.size = size(),
          .bias = bias_.data(),
          .bias_odds = bias_odds_.data(),
          .group_begin = group_begin_.data(),
          .neighbours = neighbours_.data(),
          .weights = weights_.data(),
          .odds = odds_.data(),
          .tables = tables_.data(),
          .moderate = moderate_,
          .prefetch = prefetch_,
          .reach = reach_};
}

GibbsSpinBytes::State GibbsSpinBytes::start(std::uint64_t seed, std::uint32_t first_chain) const {
  assert(first_chain % lanes() == 0);
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  assign_large(state.bytes, std::size_t{64} * size(), std::uint8_t{0});
  state.inverse_temperatures.assign(lanes(), 1.0f);
  if (scan_ == Scan::random) state.order.resize(size());
  const LaneRandom random(seed, Stream::start);
  HWY_DYNAMIC_DISPATCH(start_bytes)(random, first_chain / lanes(), state.bytes.data(), size());
  return state;
}

void GibbsSpinBytes::run(State& state, std::uint64_t first_sweep, std::uint64_t count, float* sums) const {
  const bool tempered = std::ranges::any_of(state.inverse_temperatures, [](float b) { return b != 1.0f; });
  const LaneRandom random(state.seed, Stream::sweep);
  Job job{.bytes = state.bytes.data(),
          .inverse_temperatures = tempered ? state.inverse_temperatures.data() : nullptr,
          .order = scan_ == Scan::random ? state.order.data() : nullptr,
          .random = &random,
          .batch = state.first_chain / lanes(),
          .sums = sums};
  for (std::uint64_t done = 0; done < count; done += job.count) {
    job.first_sweep = first_sweep + done;
    job.count = std::min<std::uint64_t>(together_, count - done);
    if (scan_ == Scan::random) shuffle_sites(state.seed, job.first_sweep, state.order);
    HWY_DYNAMIC_DISPATCH(sweep_bytes)(view(), job);
  }
}

void GibbsSpinBytes::sweep(State& state, std::uint64_t sweep) const {
  run(state, sweep, 1, nullptr);
}

void GibbsSpinBytes::sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, sweep, 1, sums.sums.data());
}

void GibbsSpinBytes::sweeps(State& state, std::uint64_t first, std::uint64_t count) const {
  run(state, first, count, nullptr);
}

void GibbsSpinBytes::sweeps(State& state, std::uint64_t first, std::uint64_t count,
                            ConditionalSums sums) const {
  assert(sums.sums.size() == entry_count() * lanes());
  run(state, first, count, sums.sums.data());
}

void GibbsSpinBytes::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  const std::uint8_t* bytes = state.bytes.data() + place_of_lane(lane);
  for (std::size_t i = 0; i < size(); ++i) values[i] = bytes[64 * i] & 1;
}

void GibbsSpinBytes::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  std::uint8_t* bytes = state.bytes.data() + place_of_lane(lane);
  for (std::size_t i = 0; i < size(); ++i) bytes[64 * i] = values[i] ? 255 : 0;
}

void GibbsSpinBytes::log_scores(const State& state, std::span<double> scores) const {
  std::ranges::fill(scores, log_constant_);
  HWY_DYNAMIC_DISPATCH(add_scores)(view(), state.bytes.data(), scores.data());
}

void GibbsSpinBytes::set_inverse_temperatures(State& state,
                                              std::span<const float> inverse_temperatures) const {
  state.inverse_temperatures.assign(inverse_temperatures.begin(), inverse_temperatures.end());
}

}  // namespace drover
#endif
