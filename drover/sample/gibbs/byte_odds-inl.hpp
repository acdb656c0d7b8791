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

// Where the bytes of words come from that have byte 4 q + w of 16 alone. In full, since compilers would make
// it of 16 bytes anew for every variable.
struct ToWords {
  alignas(64) std::uint8_t from[4][64];

  constexpr ToWords() : from() {
    for (unsigned q = 0; q < 4; ++q)
      for (unsigned byte = 0; byte < 64; ++byte)
        from[q][byte] = byte % 4 == 0 ? static_cast<std::uint8_t>(4 * q + byte % 16 / 4) : 128;
  }
};

// Multiplies or adds the entries that `index` names into four vectors of floats.
template <bool product>
HWY_INLINE void combine(const Group& group, ByteVector index, FloatVector* HWY_RESTRICT totals) {
  const FloatTag d;
  static constexpr ToWords to_words;
  for (std::size_t q = 0; q < 4; ++q) {
    const ByteVector words = hn::TableLookupBytesOr0(index, hn::Load(ByteTag(), to_words.from[q]));
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
// r <= 65536 u < r + 1. It is 1 for every such u when 65536 - (1 + odds) - r (1 + odds) is not negative, and 0
// when 65536 - r (1 + odds) is; returns words with the sign of negative ones where neither says.
template <bool summed>
HWY_INLINE FloatVector draw_from_odds(const FloatVector* HWY_RESTRICT odds, ByteVector high, ByteVector low,
                                      ByteVector& drawn, std::size_t k, float* HWY_RESTRICT sums) {
  const ByteTag d;
  const FloatTag f;
  const SignedTag s;
  const FloatVector one = hn::Set(f, 1.0f), whole = hn::Set(f, 65536.0f);
  WordVector words[4];
  join_bytes(hn::Zero(d), hn::Zero(d), high, low, words);
  hn::Vec<IntegerTag> rest[4];
  FloatVector open = hn::Zero(f);
  for (std::size_t q = 0; q < 4; ++q) {
    const FloatVector r = hn::ConvertTo(f, hn::BitCast(IntegerTag(), words[q]));
    const FloatVector total = hn::Add(one, odds[q]);
    const FloatVector least = hn::Mul(r, total);
    const FloatVector at_most = hn::Sub(hn::Sub(whole, total), least);
    open = hn::Or(open, hn::AndNot(hn::Sub(whole, least), at_most));
    rest[q] = hn::BitCast(IntegerTag(), at_most);
    if constexpr (summed) add_to(sums + lane_of(k, q), hn::Div(one, total));
  }
  drawn = hn::BitCast(d, hn::VecFromMask(s, hn::Gt(signs_of(rest), hn::Set(s, -1))));
  return open;
}

// The same from 32 bits: v odds < 2^31 - v keeps the relative precision of small probabilities of both
// values.
HWY_INLINE ByteVector draw_from_odds_whole(const FloatVector* HWY_RESTRICT odds,
                                           const WordVector* HWY_RESTRICT random) {
  const IntegerTag n;
  const FloatTag f;
  hn::Mask<FloatTag> masks[4];
  for (std::size_t q = 0; q < 4; ++q) {
    const auto v = hn::BitCast(n, hn::Or(hn::ShiftRight<1>(random[q]), hn::Set(WordTag(), 1U)));
    const auto rest =
        hn::Sub(hn::Set(n, std::numeric_limits<std::int32_t>::max()), hn::Sub(v, hn::Set(n, 1)));
    masks[q] = hn::Lt(hn::Mul(hn::ConvertTo(f, v), odds[q]), hn::ConvertTo(f, rest));
  }
  return split_masks(masks);
}

// exp(-f) of all chains at temperature 1, as a product.
template <class States>
HWY_INLINE void odds_by_product(const View& view, States states, std::size_t i,
                                FloatVector* HWY_RESTRICT odds) {
  for (std::size_t k = 0; k < 4 * byte_vectors; ++k) odds[k] = hn::Set(FloatTag(), view.bias_odds[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
    Group group;
    load_group<true>(view, i, g, group);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      combine<true>(group, group_index(states, view.neighbours + 4 * g, k), odds + 4 * k);
  }
}

// exp(-beta f) of all chains. `inverse_temperatures` has one for every lane; null: all are 1.
template <class States>
HWY_INLINE void odds_by_fields(const View& view, States states, std::size_t i,
                               const float* HWY_RESTRICT inverse_temperatures,
                               FloatVector* HWY_RESTRICT odds) {
  const FloatTag d;
  for (std::size_t k = 0; k < 4 * byte_vectors; ++k) odds[k] = hn::Set(d, view.bias[i]);
  for (std::size_t g = view.group_begin[i]; g < view.group_begin[i + 1]; ++g) {
    Group group;
    load_group<false>(view, i, g, group);
    for (std::size_t k = 0; k < byte_vectors; ++k)
      combine<false>(group, group_index(states, view.neighbours + 4 * g, k), odds + 4 * k);
  }
  for (std::size_t k = 0; k < byte_vectors; ++k)
    for (std::size_t q = 0; q < 4; ++q) {
      FloatVector field = odds[4 * k + q];
      if (inverse_temperatures) field = hn::Mul(field, hn::LoadU(d, inverse_temperatures + lane_of(k, q)));
      odds[4 * k + q] = odds_of(field);
    }
}

// Draws any variable from exp(-f) of its chains.
template <bool by_fields, bool summed, class States>
HWY_INLINE bool draw_any(const View& view, States states, std::size_t i,
                         const float* HWY_RESTRICT inverse_temperatures, const LaneBytes& random,
                         float* HWY_RESTRICT sums) {
  ByteVector high[byte_vectors], low[byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), high, low);
  FloatVector open = hn::Zero(FloatTag());
  FloatVector odds[4 * byte_vectors];
  if constexpr (by_fields)
    odds_by_fields(view, states, i, inverse_temperatures, odds);
  else
    odds_by_product(view, states, i, odds);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    ByteVector drawn;
    open = hn::Or(open, draw_from_odds<summed>(odds + 4 * k, high[k], low[k], drawn, k, sums));
    states.store(i, k, drawn);
  }
  const IntegerTag n;
  return hn::AllFalse(n, hn::Lt(hn::BitCast(n, open), hn::Zero(n)));
}

template <bool by_fields, class States>
HWY_NOINLINE void draw_any_whole(const View& view, States states, std::size_t i,
                                 const float* HWY_RESTRICT inverse_temperatures, const LaneBytes& random) {
  ByteVector r[4][byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), r[3], r[2]);
  random.draw<1>(static_cast<std::uint32_t>(i), r[1], r[0]);
  FloatVector odds[4 * byte_vectors];
  if constexpr (by_fields)
    odds_by_fields(view, states, i, inverse_temperatures, odds);
  else
    odds_by_product(view, states, i, odds);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    WordVector words[4];
    join_bytes(r[3][k], r[2][k], r[1][k], r[0][k], words);
    states.store(i, k, draw_from_odds_whole(odds + 4 * k, words));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
