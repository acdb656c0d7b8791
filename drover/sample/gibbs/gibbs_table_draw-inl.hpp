// The parts that the table kernels share, compiled once per SIMD target: uniform numbers, exp2, and the draw
// of one value per lane from its log-weights.
//
// Include only after hwy/foreach_target.h.

// Highway's include guard: the file is included once for every target.
#if defined(DROVER_SAMPLE_GIBBS_TABLE_DRAW_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_SAMPLE_GIBBS_TABLE_DRAW_INL_HPP
#undef DROVER_SAMPLE_GIBBS_TABLE_DRAW_INL_HPP
#else
#define DROVER_SAMPLE_GIBBS_TABLE_DRAW_INL_HPP
#endif

#include <hwy/highway.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "drover/core/random.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using IntVector = hn::Vec<IntTag>;
using WordVector = hn::Vec<WordTag>;

/// High and low halves of the products of `a` with one 32-bit factor.
HWY_INLINE void multiply_wide(WordVector a, WordVector factor, WordVector& high, WordVector& low) {
  const WordTag d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = static_cast<std::uint64_t>(hn::GetLane(a)) * hn::GetLane(factor);
  high = hn::Set(d, static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(d, static_cast<std::uint32_t>(product));
#else
  const hn::RepartitionToWide<WordTag> wide;
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
#endif
}

/// Philox4x32-10 with the counters of Random::block(chain, sweep, site), a chain and site per lane.
HWY_INLINE void philox_blocks(std::uint64_t seed, Stream stream, WordVector chain, std::uint64_t sweep,
                              WordVector site, WordVector out[4]) {
  const WordTag d;
  WordVector c0 = site, c1 = chain;
  WordVector c2 = hn::Set(d, static_cast<std::uint32_t>(sweep));
  WordVector c3 =
      hn::Set(d, static_cast<std::uint32_t>(sweep >> 32) ^ (static_cast<std::uint32_t>(stream) << 24));
  const WordVector factor0 = hn::Set(d, 0xD2511F53U), factor1 = hn::Set(d, 0xCD9E8D57U);
  auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    WordVector high0, low0, high1, low1;
    multiply_wide(c0, factor0, high0, low0);
    multiply_wide(c2, factor1, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, key0));
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, key1));
    c1 = low1;
    c3 = low0;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/// The middle of one of 2^23 equal parts of (0, 1): never 0 and never 1.
HWY_INLINE FloatVector to_uniform(WordVector words) {
  const FloatTag d;
  const auto part = hn::ConvertTo(d, hn::BitCast(IntTag(), hn::ShiftRight<9>(words)));
  return hn::MulAdd(part, hn::Set(d, 0x1p-23F), hn::Set(d, 0x1p-24F));
}

/// 2^x for x <= 0, relative error 2e-7; below -125 it stays at 2^-125.
HWY_INLINE FloatVector exp2_of_negative(FloatVector x) {
  const FloatTag d;
  const IntTag di;
  x = hn::Max(x, hn::Set(d, -125.0F));
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits of the sum.
  const FloatVector magic = hn::Set(d, 0x1.8p23F);
  const FloatVector shifted = hn::Add(x, magic);
  const FloatVector f = hn::Sub(x, hn::Sub(shifted, magic));
  // Interpolates 2^f at the Chebyshev points of [-1/2, 1/2].
  FloatVector p = hn::MulAdd(hn::Set(d, 1.3390863364616e-3F), f, hn::Set(d, 9.6760319183249e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 5.5503571142192e-2F));
  p = hn::MulAdd(p, f, hn::Set(d, 2.4022107485308e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 6.9314718802623e-1F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  const IntVector power = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), power));
}

/// field + term where the mask is set.
HWY_INLINE FloatVector add_where(hn::Mask<FloatTag> mask, FloatVector field, FloatVector term) {
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(mask, hn::Add(field, term), field);  // one instruction
#else
  return hn::Add(field, hn::IfThenElseZero(mask, term));  // blending takes three
#endif
}

/// The weight 2^(inverse_temperature * (field - highest)); a field of minus infinity has weight zero at any
/// temperature.
HWY_INLINE FloatVector weight_of(FloatVector field, FloatVector highest, FloatVector inverse_temperature) {
  const FloatTag d;
  const FloatVector power = exp2_of_negative(hn::Mul(hn::Sub(field, highest), inverse_temperature));
  return hn::IfThenElseZero(hn::Ge(field, hn::Set(d, std::numeric_limits<float>::lowest())), power);
}

// The draw takes the first value whose cumulative weight exceeds uniform * total. As uniform <= 1 - 2^-24,
// the threshold stays below the total after rounding, and both sums run in the same order, so that value
// exists and has a positive weight; as sums never fall, its number is how many of them do not exceed the
// threshold. A lane without any possible value has left the support: it keeps its old value.

/// `fields` become the weights, `total` their sum.
template <std::uint32_t states>
HWY_INLINE IntVector draw_value(FloatVector (&fields)[states], FloatVector inverse_temperature,
                                FloatVector uniform, IntVector old_value, FloatVector& total) {
  const FloatTag d;
  const IntTag di;
  FloatVector highest = fields[0];
  for (std::uint32_t k = 1; k < states; ++k) highest = hn::Max(highest, fields[k]);
  total = hn::Zero(d);
  for (std::uint32_t k = 0; k < states; ++k) {
    fields[k] = weight_of(fields[k], highest, inverse_temperature);
    total = hn::Add(total, fields[k]);
  }
  const FloatVector threshold = hn::Mul(uniform, total);
  FloatVector sum = fields[0];
  IntVector drawn = hn::Zero(di);
  for (std::uint32_t k = 1; k < states; ++k) {
    drawn = hn::Sub(drawn, hn::VecFromMask(di, hn::RebindMask(di, hn::Le(sum, threshold))));
    sum = hn::Add(sum, fields[k]);
  }
  return hn::IfThenElse(hn::RebindMask(di, hn::Gt(total, hn::Zero(d))), drawn, old_value);
}

/// The same for any number of states; `fields` holds states * Lanes floats.
HWY_INLINE IntVector draw_value(std::uint32_t states, float* HWY_RESTRICT fields,
                                FloatVector inverse_temperature, FloatVector uniform, IntVector old_value,
                                FloatVector& total) {
  const FloatTag d;
  const IntTag di;
  const std::size_t N = hn::Lanes(d);
  FloatVector highest = hn::LoadU(d, fields);
  for (std::uint32_t k = 1; k < states; ++k) highest = hn::Max(highest, hn::LoadU(d, fields + k * N));
  total = hn::Zero(d);
  HWY_UNROLL(4)
  for (std::uint32_t k = 0; k < states; ++k) {
    const FloatVector weight = weight_of(hn::LoadU(d, fields + k * N), highest, inverse_temperature);
    hn::StoreU(weight, d, fields + k * N);
    total = hn::Add(total, weight);
  }
  const FloatVector threshold = hn::Mul(uniform, total);
  FloatVector sum = hn::LoadU(d, fields);
  IntVector drawn = hn::Zero(di);
  for (std::uint32_t k = 1; k < states; ++k) {
    drawn = hn::Sub(drawn, hn::VecFromMask(di, hn::RebindMask(di, hn::Le(sum, threshold))));
    sum = hn::Add(sum, hn::LoadU(d, fields + k * N));
  }
  return hn::IfThenElse(hn::RebindMask(di, hn::Gt(total, hn::Zero(d))), drawn, old_value);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif  // include guard of the target
