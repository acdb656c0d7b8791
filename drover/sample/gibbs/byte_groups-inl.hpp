// What the byte kernels have in common (once per Highway target): the states of 64 chains in memory, the index
// that four neighbours spell in them, lookups in tables of bytes, bytes that become words and back, exp(-f).
#if defined(DROVER_BYTE_GROUPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_BYTE_GROUPS_INL
#undef DROVER_BYTE_GROUPS_INL
#else
#define DROVER_BYTE_GROUPS_INL
#endif

#include <hwy/cache_control.h>

#include "drover/sample/gibbs/byte_random-inl.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"

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

// The chains' states, 0 or 255 in registers, as bytes in memory.
struct ByteStates {
  std::uint8_t* bytes;

  HWY_INLINE ByteVector load(std::size_t i, std::size_t k) const {
    return hn::Load(ByteTag(), bytes + 64 * i + k * byte_lanes);
  }
  HWY_INLINE void store(std::size_t i, std::size_t k, ByteVector values) const {
    hn::Store(values, ByteTag(), bytes + 64 * i + k * byte_lanes);
  }
  // Adds `bit` to those whose state is 1; they do not have it yet.
  HWY_INLINE ByteVector add_bit(ByteVector to, std::size_t i, std::size_t k, std::uint8_t bit) const {
    return hn::OrAnd(to, load(i, k), hn::Set(ByteTag(), bit));
  }
  HWY_INLINE void prefetch(std::size_t i) const { hwy::Prefetch(bytes + 64 * i); }
};

// The same as bits in memory, in the order of those bytes.
struct BitStates {
  std::uint8_t* bytes;

  HWY_INLINE ByteVector load(std::size_t i, std::size_t k) const {
    const ByteTag d;
    return hn::VecFromMask(d, hn::LoadMaskBits(d, bytes + 8 * i + k * (byte_lanes / 8)));
  }
  HWY_INLINE void store(std::size_t i, std::size_t k, ByteVector values) const {
    const ByteTag d;
    hn::StoreMaskBits(d, hn::MaskFromVec(values), bytes + 8 * i + k * (byte_lanes / 8));
  }
  HWY_INLINE ByteVector add_bit(ByteVector to, std::size_t i, std::size_t k, std::uint8_t bit) const {
#if HWY_TARGET <= HWY_AVX3
    __mmask64 ones;
    hwy::CopyBytes<8>(bytes + 8 * i, &ones);
    return ByteVector{_mm512_mask_add_epi8(to.raw, ones, to.raw, hn::Set(ByteTag(), bit).raw)};
#else
    return hn::OrAnd(to, load(i, k), hn::Set(ByteTag(), bit));
#endif
  }
  HWY_INLINE void prefetch(std::size_t i) const {
    hwy::Prefetch(bytes + 8 * i);
  }
};

// The index 0 .. 15 that four neighbours spell in the chains of vector k.
template <class States>
HWY_INLINE ByteVector group_index(States states, const std::uint32_t* HWY_RESTRICT neighbours,
                                  std::size_t k) {
  ByteVector index = states.add_bit(hn::Zero(ByteTag()), neighbours[0], k, 1);
  index = states.add_bit(index, neighbours[1], k, 2);
  index = states.add_bit(index, neighbours[2], k, 4);
  return states.add_bit(index, neighbours[3], k, 8);
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

// The inverse of join_bytes() for signs: four vectors of words become bytes of the same signs. Words are far from
// zero or 0 or -1, and so are bytes.
HWY_INLINE SignedVector signs_of(const hn::Vec<IntegerTag>* HWY_RESTRICT words) {
  const hn::Repartition<std::int16_t, ByteTag> h;
  const auto lower = hn::ReorderDemote2To(h, words[0], words[1]);
  const auto upper = hn::ReorderDemote2To(h, words[2], words[3]);
#if HWY_TARGET <= HWY_AVX3
  return SignedVector{_mm512_packs_epi16(lower.raw, upper.raw)};
#elif HWY_TARGET == HWY_AVX2
  return SignedVector{_mm256_packs_epi16(lower.raw, upper.raw)};
#elif HWY_TARGET == HWY_SSE4
  return SignedVector{_mm_packs_epi16(lower.raw, upper.raw)};
#else
  const ByteTag d;
  alignas(16) static constexpr std::uint8_t to_lower[16] = {1,   3,   5,   7,   9,   11,  13,  15,
                                                            128, 128, 128, 128, 128, 128, 128, 128};
  alignas(16) static constexpr std::uint8_t to_upper[16] = {128, 128, 128, 128, 128, 128, 128, 128,
                                                            1,   3,   5,   7,   9,   11,  13,  15};
  return hn::BitCast(SignedTag(),
                     hn::Or(hn::TableLookupBytesOr0(hn::BitCast(d, lower), hn::LoadDup128(d, to_lower)),
                            hn::TableLookupBytesOr0(hn::BitCast(d, upper), hn::LoadDup128(d, to_upper))));
#endif
}

// The same for masks.
HWY_INLINE ByteVector split_masks(const hn::Mask<FloatTag>* HWY_RESTRICT masks) {
  hn::Vec<IntegerTag> words[4];
  for (int q = 0; q < 4; ++q) words[q] = hn::BitCast(IntegerTag(), hn::VecFromMask(FloatTag(), masks[q]));
  return hn::BitCast(ByteTag(), signs_of(words));
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

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
