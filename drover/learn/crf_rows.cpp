#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/learn/crf_rows.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first
#include <hwy/highway.h>

#include "drover/learn/crf_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls f with a tag as wide as fits and each place of a row.
template <class Real, class F>
HWY_INLINE void over_row(std::size_t stride, F&& f) {
  if (stride >= 16) {
    const hn::CappedTag<Real, 16> d;
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) f(d, j);
  } else if (stride == 8) {
    const hn::CappedTag<Real, 8> d;
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) f(d, j);
  } else {
    const hn::CappedTag<Real, 4> d;
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) f(d, j);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const float* from) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, static_cast<double>(*from));
#else
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const double* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE void store_double(D d, hn::Vec<D> value, float* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = static_cast<float>(hn::GetLane(value));
  (void)d;
#else
  const hn::Rebind<float, D> df;
  hn::StoreU(hn::DemoteTo(df, value), df, to);
#endif
}

template <class D>
HWY_INLINE void store_double(D d, hn::Vec<D> value, double* to) {
  hn::StoreU(value, d, to);
}

template <class Real>
void from_parameters(const Lists& lists, const double* HWY_RESTRICT parameters, const float* scale,
                     std::size_t stride, std::size_t first, std::size_t last, Real* HWY_RESTRICT out) {
  constexpr std::uint64_t ahead = 16;
  for (std::size_t l = first; l < last; ++l)
    over_row<double>(stride, [&](auto d, std::size_t j) {
      auto sum = hn::Zero(d);
      for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1]; ++k) {
        if (k + ahead < lists.item.size())
          __builtin_prefetch(parameters + lists.item[k + ahead] * stride + j);
        const std::uint32_t item = lists.item[k];
        sum = hn::MulAdd(hn::Set(d, static_cast<double>(lists.factor[k] * scale[item])),
                         hn::LoadU(d, parameters + item * stride + j), sum);
      }
      store_double(d, sum, out + l * stride + j);
    });
}

template <class Real>
void from_rows(const Lists& lists, const Real* HWY_RESTRICT in, std::size_t stride, std::size_t first,
               std::size_t last, Real* HWY_RESTRICT out) {
  constexpr std::uint64_t piece = 64, ahead = 16;
  for (std::size_t l = first; l < last; ++l)
    over_row<Real>(stride, [&](auto d, std::size_t j) {
      auto sum = hn::Zero(d);
      for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1];) {
        const std::uint64_t end = lists.begin[l + 1] < k + piece ? lists.begin[l + 1] : k + piece;
        auto part = hn::Zero(d);
        for (; k < end; ++k) {
          if (k + ahead < lists.item.size()) __builtin_prefetch(in + lists.item[k + ahead] * stride + j);
          part = hn::Add(part, hn::LoadU(d, in + lists.item[k] * stride + j));
        }
        sum = hn::Add(sum, part);
      }
      hn::StoreU(sum, d, out + l * stride + j);
    });
}

template <class Real>
double to_gradient(const Lists& lists, const Real* HWY_RESTRICT in, const float* scale, const float* penalty,
                   const double* HWY_RESTRICT parameters, std::size_t stride, std::size_t first,
                   std::size_t last, double* HWY_RESTRICT out) {
  constexpr std::uint64_t ahead = 16;
  double cost = 0;
  for (std::size_t l = first; l < last; ++l) {
    double squares = 0;
    over_row<double>(stride, [&](auto d, std::size_t j) {
      auto sum = hn::Zero(d);
      for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1]; ++k) {
        if (k + ahead < lists.item.size()) __builtin_prefetch(in + lists.item[k + ahead] * stride + j);
        sum = hn::MulAdd(hn::Set(d, static_cast<double>(lists.factor[k])),
                         load_double(d, in + lists.item[k] * stride + j), sum);
      }
      const auto x = hn::LoadU(d, parameters + l * stride + j);
      const auto pull = hn::Mul(hn::Set(d, static_cast<double>(penalty[l])), x);
      squares += hn::GetLane(hn::SumOfLanes(d, hn::Mul(pull, x)));
      hn::StoreU(hn::MulAdd(hn::Set(d, static_cast<double>(scale[l])), sum, pull), d, out + l * stride + j);
    });
    cost += squares / 2;
  }
  return cost;
}

void FromParametersFloat(const Lists& lists, const double* parameters, const float* scale, std::size_t stride,
                         std::size_t first, std::size_t last, float* out) {
  from_parameters(lists, parameters, scale, stride, first, last, out);
}
void FromParametersDouble(const Lists& lists, const double* parameters, const float* scale,
                          std::size_t stride, std::size_t first, std::size_t last, double* out) {
  from_parameters(lists, parameters, scale, stride, first, last, out);
}
void FromRowsFloat(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                   std::size_t last, float* out) {
  from_rows(lists, in, stride, first, last, out);
}
void FromRowsDouble(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                    std::size_t last, double* out) {
  from_rows(lists, in, stride, first, last, out);
}
double ToGradientFloat(const Lists& lists, const float* in, const float* scale, const float* penalty,
                       const double* parameters, std::size_t stride, std::size_t first, std::size_t last,
                       double* out) {
  return to_gradient(lists, in, scale, penalty, parameters, stride, first, last, out);
}
double ToGradientDouble(const Lists& lists, const double* in, const float* scale, const float* penalty,
                        const double* parameters, std::size_t stride, std::size_t first, std::size_t last,
                        double* out) {
  return to_gradient(lists, in, scale, penalty, parameters, stride, first, last, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(FromParametersFloat);
HWY_EXPORT(FromParametersDouble);
HWY_EXPORT(FromRowsFloat);
HWY_EXPORT(FromRowsDouble);
HWY_EXPORT(ToGradientFloat);
HWY_EXPORT(ToGradientDouble);

template <>
void rows_from_parameters(const Lists& lists, const double* parameters, const float* scale,
                          std::size_t stride, std::size_t first, std::size_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(FromParametersFloat)(lists, parameters, scale, stride, first, last, out);
}
template <>
void rows_from_parameters(const Lists& lists, const double* parameters, const float* scale,
                          std::size_t stride, std::size_t first, std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(FromParametersDouble)(lists, parameters, scale, stride, first, last, out);
}
template <>
void rows_from_rows(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                    std::size_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(FromRowsFloat)(lists, in, stride, first, last, out);
}
template <>
void rows_from_rows(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                    std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(FromRowsDouble)(lists, in, stride, first, last, out);
}
template <>
double gradient_from_rows(const Lists& lists, const float* in, const float* scale, const float* penalty,
                          const double* parameters, std::size_t stride, std::size_t first, std::size_t last,
                          double* out) {
  return HWY_DYNAMIC_DISPATCH(ToGradientFloat)(lists, in, scale, penalty, parameters, stride, first, last,
                                               out);
}
template <>
double gradient_from_rows(const Lists& lists, const double* in, const float* scale, const float* penalty,
                          const double* parameters, std::size_t stride, std::size_t first, std::size_t last,
                          double* out) {
  return HWY_DYNAMIC_DISPATCH(ToGradientDouble)(lists, in, scale, penalty, parameters, stride, first, last,
                                                out);
}

}  // namespace drover
#endif  // HWY_ONCE
