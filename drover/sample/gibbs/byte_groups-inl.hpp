// What the byte kernels have in common (once per Highway target): the index that four neighbours spell in 64
// chains, lookups in tables of bytes, bytes that become words and back, exp(-f).
#if defined(DROVER_BYTE_GROUPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_BYTE_GROUPS_INL
#undef DROVER_BYTE_GROUPS_INL
#else
#define DROVER_BYTE_GROUPS_INL
#endif

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
