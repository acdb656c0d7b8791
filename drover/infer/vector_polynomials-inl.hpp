// The two polynomials of message passing, as vectors: compiled once per instruction set (Highway), so without
// an ordinary include guard.
#if defined(DROVER_INFER_VECTOR_POLYNOMIALS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef DROVER_INFER_VECTOR_POLYNOMIALS_INL_HPP
#undef DROVER_INFER_VECTOR_POLYNOMIALS_INL_HPP
#else
#define DROVER_INFER_VECTOR_POLYNOMIALS_INL_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Double = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Double>;

// Added to y, rounds it to a whole number, which is then in the lowest bits.
constexpr double rounder = 0x1.8p52;

// 2^(k + f) for |f| <= 1/2 and whole -1000 <= k <= 0, given as k + rounder. V is a vector of doubles of any
// length.
template <class V>
HWY_INLINE V exp2_of_parts(V shifted, V f) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<hn::DFromV<V>> du;
  // Even and odd powers apart: two short chains of operations instead of one long.
  const auto g = hn::Mul(f, f);
  auto even = hn::Set(d, 7.0372794991545595e-09), odd = hn::Set(d, 1.0208537944351327e-07);
  even = hn::MulAdd(even, g, hn::Set(d, 1.3215662828649158e-06));
  odd = hn::MulAdd(odd, g, hn::Set(d, 1.525265811613482e-05));
  even = hn::MulAdd(even, g, hn::Set(d, 0.0001540352996114633));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.0013333558228562905));
  even = hn::MulAdd(even, g, hn::Set(d, 0.009618129108034593));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.05550410866445882));
  even = hn::MulAdd(even, g, hn::Set(d, 0.24022650695908768));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.6931471805599497));
  even = hn::MulAdd(even, g, hn::Set(d, 1.0));
  const auto p = hn::MulAdd(odd, f, even);
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(du, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(du, p), exponent));
}

// 2^y for -1000 <= y <= 0.
template <class V>
HWY_INLINE V exp2_negative(V y) {
  const hn::DFromV<V> d;
  const auto shifted = hn::Add(y, hn::Set(d, rounder));
  return exp2_of_parts(shifted, hn::Sub(y, hn::Sub(shifted, hn::Set(d, rounder))));
}

// (2 / log 2) atanh(t) / t, |t| <= 1/3.
template <class V>
HWY_INLINE V twice_atanh_over(V t) {
  const hn::DFromV<V> d;
  const auto s = hn::Mul(t, t);
  const auto g = hn::Mul(s, s);
  auto odd = hn::Set(d, 0.25688966029624555), even = hn::Set(d, 0.14236609068224998);
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.19611929285226637));
  even = hn::MulAdd(even, g, hn::Set(d, 0.2216467085578743));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.26232349692321344));
  even = hn::MulAdd(even, g, hn::Set(d, 0.3205984347712667));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.41219859113701424));
  even = hn::MulAdd(even, g, hn::Set(d, 0.5770780162850955));
  odd = hn::MulAdd(odd, g, hn::Set(d, 0.9617966939262155));
  even = hn::MulAdd(even, g, hn::Set(d, 2.8853900817779268));
  return hn::MulAdd(odd, s, even);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#endif
