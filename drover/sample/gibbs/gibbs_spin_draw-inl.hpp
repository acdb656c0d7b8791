// What the spin kernels share: 64 fields and 64 random words become 64 bits (once per Highway target).
//
// With field f = log p(x=1 | rest) - log p(x=0 | rest), the less likely value has probability
// q = 1 / (1 + exp(|f|)) and is drawn when u (1 + exp(|f|)) < 1. Working from the small side keeps the
// relative precision of q down to 2^-31, the step of u, for both values; below that q counts as zero. (31
// bits, as they are a signed integer: most instruction sets convert no other to float.)
//
// At temperature 1 no exponential is needed: exp(-f) is the product of exp(-bias) and the exp(-weight) of the
// neighbours that are 1, all known beforehand. This holds while the product stays in the range of floats, |f|
// <= 80.
#if defined(DROVER_GIBBS_SPIN_DRAW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_GIBBS_SPIN_DRAW_INL
#undef DROVER_GIBBS_SPIN_DRAW_INL
#else
#define DROVER_GIBBS_SPIN_DRAW_INL
#endif

#include "drover/sample/lane_random-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

using FloatMask = hn::Mask<FloatTag>;

/// sum + term or product * factor where the mask is set.
template <bool product>
HWY_INLINE FloatVector combine(FloatVector total, FloatMask mask, FloatVector term) {
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(mask, product ? hn::Mul(total, term) : hn::Add(total, term), total);
#else
  if constexpr (product) return hn::Mul(total, hn::IfThenElse(mask, term, hn::Set(FloatTag(), 1.0f)));
  return hn::Add(total, hn::IfThenElseZero(mask, term));
#endif
}

alignas(64) inline constexpr std::uint32_t single_bits[32] = {
    1U << 0,  1U << 1,  1U << 2,  1U << 3,  1U << 4,  1U << 5,  1U << 6,  1U << 7,
    1U << 8,  1U << 9,  1U << 10, 1U << 11, 1U << 12, 1U << 13, 1U << 14, 1U << 15,
    1U << 16, 1U << 17, 1U << 18, 1U << 19, 1U << 20, 1U << 21, 1U << 22, 1U << 23,
    1U << 24, 1U << 25, 1U << 26, 1U << 27, 1U << 28, 1U << 29, 1U << 30, 1U << 31};

/// Bits k * vector_lanes .. of a word, as a mask.
HWY_INLINE FloatMask mask_of(std::uint64_t word, std::size_t k) {
#if HWY_TARGET <= HWY_AVX3
  const std::uint64_t part = word >> (k * vector_lanes);
  return hn::LoadMaskBits(FloatTag(), reinterpret_cast<const std::uint8_t*>(&part));
#else
  // One half of the word serves several vectors, so that it is spread once.
  const WordTag d;
  const std::size_t first = k * vector_lanes;
  const WordVector bits = hn::Set(d, static_cast<std::uint32_t>(word >> first / 32 * 32));
  return hn::RebindMask(FloatTag(), hn::TestBit(bits, hn::Load(d, single_bits + first % 32)));
#endif
}

/// The word whose bits k * vector_lanes .. are the mask.
template <class D>
HWY_INLINE std::uint64_t bits_of(D d, hn::Mask<D> mask, std::size_t k) {
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits << (k * vector_lanes);
}

/// exp(x) for x >= 0, relative error below 3e-7; saturates at exp(87).
/// x = n log 2 + r with |r| <= log(2) / 2, and a polynomial of degree 6 in r.
HWY_INLINE FloatVector exp_positive(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  x = hn::Min(x, hn::Set(d, 87.0f));
  // Adding 1.5 * 2^23 leaves n in the low bits of the sum.
  const FloatVector magic = hn::Set(d, 12582912.0f);
  const FloatVector shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const FloatVector n = hn::Sub(shifted, magic);
  FloatVector r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);  // exact: 9 bits of log 2
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  FloatVector p = hn::Set(d, 1.0f / 720);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

/// p(x = 1) of a field.
HWY_INLINE FloatVector probability_of(FloatVector field) {
  const FloatTag d;
  const FloatVector one = hn::Set(d, 1.0f);
  const FloatVector unlikely = hn::Div(one, hn::Add(one, exp_positive(hn::Abs(field))));
  return hn::IfThenElse(hn::Gt(field, hn::Zero(d)), hn::Sub(one, unlikely), unlikely);
}

/// 2^31 u: an odd number below 2^31.
HWY_INLINE hn::Vec<hn::RebindToSigned<FloatTag>> odd_number(WordVector random) {
  return hn::BitCast(hn::RebindToSigned<FloatTag>(),
                     hn::Or(hn::ShiftRight<1>(random), hn::Set(WordTag(), 1U)));
}

/// One vector of draws.
HWY_INLINE FloatMask draw_mask(FloatVector field, WordVector random) {
  const FloatTag d;
  const FloatVector scale = hn::Set(d, 0x1p-31f);
  const FloatVector u = hn::ConvertTo(d, odd_number(random));
  const FloatVector total = hn::Add(hn::Set(d, 1.0f), exp_positive(hn::Abs(field)));
  return hn::Xor(hn::Lt(hn::Mul(hn::Mul(u, scale), total), hn::Set(d, 1.0f)), hn::Gt(field, hn::Zero(d)));
}

/// p(x = 1) given exp(-f).
HWY_INLINE FloatVector probability_of_odds(FloatVector odds) {
  const FloatVector one = hn::Set(FloatTag(), 1.0f);
  return hn::Div(one, hn::Add(one, odds));
}

/// One vector of draws given exp(-f): 1 when u exp(-f) < 1 - u. Both u and 1 - u keep their relative
/// precision near zero, so that small probabilities of either value are right.
HWY_INLINE FloatMask draw_mask_of_odds(FloatVector odds, WordVector random) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const auto u = odd_number(random);
  const auto rest = hn::Xor(u, hn::Set(di, 0x7ffffffe));  // 2^31 - u, as u is odd
  return hn::Lt(hn::Mul(hn::ConvertTo(d, u), odds), hn::ConvertTo(d, rest));
}

/// Draws all 64 lanes given exp(-f).
HWY_INLINE std::uint64_t draw_word_of_odds(const FloatVector* HWY_RESTRICT odds,
                                           const WordVector* HWY_RESTRICT random) {
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < vector_count; ++k)
    word |= bits_of(FloatTag(), draw_mask_of_odds(odds[k], random[k]), k);
  return word;
}

/// Adds p to the sums at `sums`.
HWY_INLINE void add_to(float* HWY_RESTRICT sums, FloatVector p) {
  const FloatTag d;
  hn::StoreU(hn::Add(hn::LoadU(d, sums), p), d, sums);
}

/// sums[2 j] += p[j] for j < count.
HWY_INLINE void add_to_every_second(float* HWY_RESTRICT sums, const float* HWY_RESTRICT p,
                                    std::size_t count) {
  const FloatTag d;
  std::size_t j = 0;
  // What lies between gets zeros added, all but what follows the last.
  for (; j + vector_lanes < count; j += vector_lanes) {
    alignas(64) float spread[2 * vector_lanes];
    hn::StoreInterleaved2(hn::Load(d, p + j), hn::Zero(d), d, spread);
    add_to(sums + 2 * j, hn::Load(d, spread));
    add_to(sums + 2 * j + vector_lanes, hn::Load(d, spread + vector_lanes));
  }
  for (; j < count; ++j) sums[2 * j] += p[j];
}

/// Draws all 64 lanes.
HWY_INLINE std::uint64_t draw_word(const FloatVector* HWY_RESTRICT fields,
                                   const WordVector* HWY_RESTRICT random) {
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < vector_count; ++k)
    word |= bits_of(FloatTag(), draw_mask(fields[k], random[k]), k);
  return word;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
