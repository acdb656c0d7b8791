// Draws of a variable of at most six neighbours, for 64 chains as bytes, from a table of its conditionals
// (once per Highway target).
//
// T = 2^32 p(x = 1) stands in the table for each state of the neighbours, one byte of it after the other:
// byte b of entry e at 16 2^beyond b + e, where the variable has at most 4 + beyond neighbours. The upper 16
// bits of T are compared with 16 random bits; where they tie (about one variable in a thousand) all 64 chains
// are drawn again from 32 bits that begin with the same 16. Sixteen entries are one byte shuffle. With
// AVX-512 up to 64 are one permutation; elsewhere there is a shuffle for each state of the fifth and sixth
// neighbour, and what such a neighbour changes (the exclusive or of the entries with it and without) stands
// in the table in place of the entries with it: masked by the neighbour's bytes and joined in two
// instructions, where blending takes three on many processors.
#if defined(DROVER_BYTE_THRESHOLDS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_BYTE_THRESHOLDS_INL
#undef DROVER_BYTE_THRESHOLDS_INL
#else
#define DROVER_BYTE_THRESHOLDS_INL
#endif

#include "drover/sample/gibbs/byte_groups-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// The order of bytes is that of signed numbers in the shuffle tables (all but one instruction set compare
// signed bytes only): bytes 3 and 2 of thresholds are kept with their highest bit turned.
HWY_INLINE ByteVector turned(ByteVector bytes) {
  return hn::Xor(bytes, hn::Set(ByteTag(), 0x80));
}

// Which entry of its table each chain of a vector takes: the first four neighbours and `beyond` more.
template <int beyond>
class TableIndex {
 public:
  template <class States>
  HWY_INLINE TableIndex(States states, const std::uint32_t* HWY_RESTRICT neighbours, std::size_t k)
      : low_(group_index(states, neighbours, k)) {
    for (int j = 0; j < beyond; ++j) {
#if HWY_TARGET == HWY_AVX3_DL
      low_ = states.add_bit(low_, neighbours[4 + j], k, static_cast<std::uint8_t>(16 << j));
#else
      high_[j] = states.load(neighbours[4 + j], k);
#endif
    }
  }

  // Byte b of the entries.
  HWY_INLINE ByteVector look_up(const std::uint8_t* HWY_RESTRICT table, int b) const {
    const std::uint8_t* const bytes = table + (16 << beyond) * b;
    if constexpr (beyond == 0) return hn::TableLookupBytes(hn::LoadDup128(ByteTag(), bytes), low_);
#if HWY_TARGET == HWY_AVX3_DL
    // One instruction looks up 32 or 64 entries; of an index it takes as many bits as it needs.
    __m512i entries;
    if constexpr (beyond == 1)
      entries = _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(bytes)));
    else
      entries = _mm512_load_si512(reinterpret_cast<const __m512i*>(bytes));
    return ByteVector{_mm512_maskz_permutexvar_epi8(~__mmask64{0}, low_.raw, entries)};
#else
    return look_up_part<beyond>(bytes);
#endif
  }

 private:
#if HWY_TARGET != HWY_AVX3_DL
  // Entries of 16 2^bits, by halves: the highest neighbour adds what the second says (arrange_table()).
  template <int bits>
  HWY_INLINE ByteVector look_up_part(const std::uint8_t* HWY_RESTRICT bytes) const {
    if constexpr (bits == 0)
      return hn::TableLookupBytes(hn::LoadDup128(ByteTag(), bytes), low_);
    else
      return hn::Xor(look_up_part<bits - 1>(bytes),
                     hn::And(high_[bits - 1], look_up_part<bits - 1>(bytes + (8 << bits))));
  }

  ByteVector high_[beyond > 0 ? beyond : 1];  // bytes of the further neighbours, 0 or 255
#endif
  ByteVector low_;
};

// Makes a table of entries as they are one that look_up() of this instruction set reads.
void arrange_table([[maybe_unused]] std::uint8_t* table, [[maybe_unused]] unsigned beyond) {
#if HWY_TARGET != HWY_AVX3_DL
  for (unsigned b = 0; b < 4; ++b, table += 16 << beyond)
    for (unsigned half = 16; half < 16U << beyond; half *= 2)
      for (unsigned entry = 0; entry < 16U << beyond; ++entry)
        if (entry & half) table[entry] ^= table[entry - half];
#endif
}

// Draws a variable of at most 4 + beyond neighbours from 16 random bits; false when these tie in some chain.
template <int beyond, bool summed, class States>
HWY_INLINE bool draw_from_table(const std::uint8_t* HWY_RESTRICT table, States states, std::size_t i,
                                const std::uint32_t* HWY_RESTRICT neighbours, const LaneBytes& random,
                                float* HWY_RESTRICT sums) {
  const ByteTag d;
  const SignedTag s;
  ByteVector high[byte_vectors], low[byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), high, low);
  ByteVector ties = hn::Zero(d);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    const TableIndex<beyond> index(states, neighbours, k);
    const ByteVector b3 = index.look_up(table, 3), b2 = index.look_up(table, 2);
    const SignedVector t3 = hn::BitCast(s, b3), t2 = hn::BitCast(s, b2);
    const SignedVector r3 = hn::BitCast(s, high[k]), r2 = hn::BitCast(s, low[k]);
    const ByteMask equal = hn::Eq(r3, t3);
    const ByteMask one = hn::Or(hn::Lt(r3, t3), hn::And(equal, hn::Lt(r2, t2)));
    ties = hn::Or(ties, hn::BitCast(d, hn::VecFromMask(s, hn::And(equal, hn::Eq(r2, t2)))));
    states.store(i, k, hn::BitCast(d, hn::VecFromMask(s, one)));
    if constexpr (summed) {
      WordVector words[4];
      join_bytes(hn::Zero(d), turned(b3), turned(b2), index.look_up(table, 1), words);
      for (std::size_t q = 0; q < 4; ++q) add_scaled(sums + lane_of(k, q), words[q]);
    }
  }
  return hn::AllTrue(d, hn::Eq(ties, hn::Zero(d)));
}

// The same from all 32 bits.
template <int beyond, class States>
HWY_NOINLINE void draw_from_whole_table(const std::uint8_t* HWY_RESTRICT table, States states, std::size_t i,
                                        const std::uint32_t* HWY_RESTRICT neighbours,
                                        const LaneBytes& random) {
  const ByteTag d;
  const SignedTag s;
  ByteVector r[4][byte_vectors];
  random.draw<0>(static_cast<std::uint32_t>(i), r[3], r[2]);
  random.draw<1>(static_cast<std::uint32_t>(i), r[1], r[0]);
  for (std::size_t k = 0; k < byte_vectors; ++k) {
    const TableIndex<beyond> index(states, neighbours, k);
    ByteMask one = hn::MaskFromVec(hn::Zero(s));
    for (int b = 0; b < 4; ++b) {
      ByteVector entry = index.look_up(table, b);
      if (b < 2) entry = turned(entry);
      const SignedVector t = hn::BitCast(s, entry), u = hn::BitCast(s, r[b][k]);
      one = hn::Or(hn::Lt(u, t), hn::And(hn::Eq(u, t), one));
    }
    states.store(i, k, hn::BitCast(d, hn::VecFromMask(s, one)));
  }
}

template <int beyond, bool summed, class States>
HWY_INLINE void draw_by_table(const std::uint8_t* HWY_RESTRICT table, States states, std::size_t i,
                              const std::uint32_t* HWY_RESTRICT neighbours, const LaneBytes& random,
                              float* HWY_RESTRICT sums) {
  if (!draw_from_table<beyond, summed>(table, states, i, neighbours, random, sums))
    draw_from_whole_table<beyond>(table, states, i, neighbours, random);
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

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
