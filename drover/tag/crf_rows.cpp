#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/tag/crf_rows.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first
#include <hwy/highway.h>

#include "drover/tag/crf_rows.hpp"

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

template <class Real>
void weighted(const Lists& lists, const Real* HWY_RESTRICT in, std::size_t stride, std::size_t first,
              std::size_t last, Real* HWY_RESTRICT out) {
  constexpr std::uint64_t ahead = 16;
  for (std::size_t l = first; l < last; ++l)
    over_row<Real>(stride, [&](auto d, std::size_t j) {
      auto sum = hn::Zero(d);
      for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1]; ++k) {
        if (k + ahead < lists.item.size()) __builtin_prefetch(in + lists.item[k + ahead] * stride + j);
        sum = hn::MulAdd(hn::Set(d, static_cast<Real>(lists.factor[k])),
                         hn::LoadU(d, in + lists.item[k] * stride + j), sum);
      }
      hn::StoreU(sum, d, out + l * stride + j);
    });
}

template <class Real>
void summed(const Lists& lists, const Real* HWY_RESTRICT in, std::size_t stride, std::size_t first,
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
void weighted_in_double(const Lists& lists, const Real* HWY_RESTRICT in, std::size_t stride,
                        std::size_t first, std::size_t last, double* HWY_RESTRICT out) {
  constexpr std::uint64_t ahead = 16;
  for (std::size_t l = first; l < last; ++l)
    over_row<double>(stride, [&](auto d, std::size_t j) {
      auto sum = hn::Zero(d);
      for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1]; ++k) {
        if (k + ahead < lists.item.size()) __builtin_prefetch(in + lists.item[k + ahead] * stride + j);
        sum = hn::MulAdd(hn::Set(d, static_cast<double>(lists.factor[k])),
                         load_double(d, in + lists.item[k] * stride + j), sum);
      }
      hn::StoreU(sum, d, out + (l - first) * stride + j);
    });
}

void WeightedFloat(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                   std::size_t last, float* out) {
  weighted(lists, in, stride, first, last, out);
}
void WeightedDouble(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                    std::size_t last, double* out) {
  weighted(lists, in, stride, first, last, out);
}
void SummedFloat(const Lists& lists, const float* in, std::size_t stride, std::size_t first, std::size_t last,
                 float* out) {
  summed(lists, in, stride, first, last, out);
}
void SummedDouble(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                  std::size_t last, double* out) {
  summed(lists, in, stride, first, last, out);
}
void InDoubleFloat(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                   std::size_t last, double* out) {
  weighted_in_double(lists, in, stride, first, last, out);
}
void InDoubleDouble(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                    std::size_t last, double* out) {
  weighted_in_double(lists, in, stride, first, last, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(WeightedFloat);
HWY_EXPORT(WeightedDouble);
HWY_EXPORT(SummedFloat);
HWY_EXPORT(SummedDouble);
HWY_EXPORT(InDoubleFloat);
HWY_EXPORT(InDoubleDouble);

template <>
void weighted_rows(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                   std::size_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(WeightedFloat)(lists, in, stride, first, last, out);
}
template <>
void weighted_rows(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                   std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(WeightedDouble)(lists, in, stride, first, last, out);
}
template <>
void summed_rows(const Lists& lists, const float* in, std::size_t stride, std::size_t first, std::size_t last,
                 float* out) {
  HWY_DYNAMIC_DISPATCH(SummedFloat)(lists, in, stride, first, last, out);
}
template <>
void summed_rows(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                 std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(SummedDouble)(lists, in, stride, first, last, out);
}
template <>
void weighted_rows_in_double(const Lists& lists, const float* in, std::size_t stride, std::size_t first,
                             std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(InDoubleFloat)(lists, in, stride, first, last, out);
}
template <>
void weighted_rows_in_double(const Lists& lists, const double* in, std::size_t stride, std::size_t first,
                             std::size_t last, double* out) {
  HWY_DYNAMIC_DISPATCH(InDoubleDouble)(lists, in, stride, first, last, out);
}

}  // namespace drover
#endif  // HWY_ONCE
