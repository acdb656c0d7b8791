// Draws of a variable of any number of neighbours, for 64 chains as bytes, from exp(-f) (once per Highway
// target).
//
// exp(-f) is the product over groups of four neighbours of the 16-entry tables of exp(-weight), or, at other
// temperatures and where such products could leave the range of floats, one exponential of the sum of
// weights. x = 1 when u (1 + exp(-f)) < 1, with 16 random bits first and 32 where these do not decide.
#if defined(DROVER_BYTE_ODDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_BYTE_ODDS_INL
#undef DROVER_BYTE_ODDS_INL
#else
#define DROVER_BYTE_ODDS_INL
#endif

#include <limits>

#include "drover/sample/gibbs/byte_groups-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

// The 16 products or sums of group g, of variable i, are one vector of floats, made on the way.
struct Group {
  FloatVector entries;
};

template <bool product>
HWY_INLINE void load_group(const View& view, std::size_t, std::size_t g, Group& group) {
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

// The 16 products or sums of group g, of variable i, are a table of bytes: products are there, sums are made
// on the way.
struct Group {
  alignas(64) std::uint8_t room[64];
  const std::uint8_t* table;
};

template <bool product>
HWY_INLINE void load_group(const View& view, std::size_t i, std::size_t g, Group& group) {
  group.table = product ? view.tables + 64 * (view.table_begin[i] + (g - view.group_begin[i])) : group.room;
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
    load_group<true>(view, i, g, group);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      combine<true>(group, group_index(bytes, view.neighbours + 4 * g, k), odds + 4 * k);
  }
}

// exp(-beta f) of all chains. `inverse_temperatures` has one for every lane; null: all are 1.
HWY_INLINE void odds_by_fields(const View& view, const std::uint8_t* HWY_RESTRICT bytes, std::size_t i,
                               const float* HWY_RESTRICT inverse_temperatures,
                               FloatVector* HWY_RESTRICT odds) {
  const FloatTag d;
  for (std::size_t k = 0; k < 4 * byte_vectors; ++k) odds[k] = hn::Set(d, view.bias[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
    Group group;
    load_group<false>(view, i, g, group);
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

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
