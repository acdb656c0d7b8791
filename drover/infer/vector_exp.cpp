#include "drover/infer/vector_exp.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/vector_exp.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/infer/vector_polynomials-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t most_lanes = 8;

HWY_INLINE Vector exp_of(Vector x) {
  const Double d;
  constexpr double lowest = -700;
  const auto clipped = hn::Max(x, hn::Set(d, lowest));
  const auto to_units = hn::Set(d, 1.4426950408889634);
  const auto shifted = hn::MulAdd(clipped, to_units, hn::Set(d, rounder));
  const auto whole = hn::Sub(shifted, hn::Set(d, rounder));
  auto f = hn::NegMulAdd(whole, hn::Set(d, 0x1.62e42fefa38p-1), clipped);  // 42 bits of log 2: exact
  f = hn::NegMulAdd(whole, hn::Set(d, 0x1.ef35793c7673p-45), f);
  const auto result = exp2_of_parts(shifted, hn::Mul(f, to_units));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, lowest)), result);
}

HWY_INLINE Vector log_of(Vector x) {
  const Double d;
  const hn::RebindToUnsigned<Double> du;
  const hn::RebindToSigned<Double> di;
  // From the bits of sqrt(1/2) on, the difference of the exponents is k.
  const auto bits = hn::Sub(hn::BitCast(du, x), hn::Set(du, 0x3fe6a09e667f3bcdULL));
  const auto exponent = hn::ShiftRight<52>(hn::BitCast(di, bits));
  const auto mantissa =
      hn::BitCast(d, hn::Sub(hn::BitCast(du, x), hn::ShiftLeft<52>(hn::BitCast(du, exponent))));
  const auto one = hn::Set(d, 1.0);
  const auto t = hn::Div(hn::Sub(mantissa, one), hn::Add(mantissa, one));
  const auto k = hn::ConvertTo(d, exponent);
  return hn::Mul(hn::Set(d, 0.6931471805599453), hn::MulAdd(twice_atanh_over(t), t, k));
}

// out = map(x), whole vectors first, then the rest in one that is filled up with `filling`.
template <class Map>
HWY_INLINE void for_all(const double* x, std::size_t count, double* out, double filling, Map map) {
  const Double d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) hn::StoreU(map(hn::LoadU(d, x + k)), d, out + k);
  if (k == count) return;
  HWY_ALIGN double rest[most_lanes];
  std::fill(rest, rest + most_lanes, filling);
  std::copy(x + k, x + count, rest);
  hn::Store(map(hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (count - k), out + k);
}

struct ExpMap {
  HWY_INLINE Vector operator()(Vector x) const { return exp_of(x); }
};
struct LogMap {
  HWY_INLINE Vector operator()(Vector x) const { return log_of(x); }
};

void ExpAll(const double* x, std::size_t count, double* out) {
  for_all(x, count, out, 0.0, ExpMap());
}

void LogAll(const double* x, std::size_t count, double* out) {
  for_all(x, count, out, 1.0, LogMap());
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(ExpAll);
HWY_EXPORT(LogAll);

}  // namespace

void exp_all(const double* x, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(ExpAll)(x, count, out);
}

void log_all(const double* x, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(LogAll)(x, count, out);
}

}  // namespace drover
#endif
