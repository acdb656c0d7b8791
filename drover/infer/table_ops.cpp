// The inner loops, compiled once per instruction set and chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/table_ops.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

#include "drover/infer/table_ops_block.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_terms(D d, const TableBlock& block, std::size_t j) {
  const hn::RebindToSigned<D> di;
  auto t = hn::Set(d, block.base);
  for (std::size_t k = 0; k < block.straight_count; ++k) t = hn::Add(t, hn::LoadU(d, block.straight[k] + j));
  for (std::size_t k = 0; k < block.indexed_count; ++k)
    t = hn::Add(t, hn::GatherIndex(d, block.indexed[k], hn::LoadU(di, block.index[k] + j)));
  return t;
}

// One setting of the reduced variables for entries j .. j + Lanes(d).
template <Reduce reduce, class D>
HWY_INLINE void accumulate_at(D d, const TableBlock& block, std::size_t j) {
  const auto t = load_terms(d, block, j);
  if constexpr (reduce == Reduce::maximum) {
    hn::StoreU(hn::Max(hn::LoadU(d, block.high + j), t), d, block.high + j);
  } else if constexpr (reduce == Reduce::sum) {
    hn::StoreU(hn::Add(hn::LoadU(d, block.sum + j), t), d, block.sum + j);
  } else if constexpr (reduce == Reduce::sum_of_exp) {
    hn::StoreU(hn::Add(hn::LoadU(d, block.sum + j), hn::Exp(d, t)), d, block.sum + j);
  } else {
    // sum e^t relative to the running maximum: one exponential whichever of the two is larger.
    const auto high = hn::LoadU(d, block.high + j);
    const auto sum = hn::LoadU(d, block.sum + j);
    const auto zero = hn::Eq(t, hn::Set(d, -std::numeric_limits<double>::infinity()));
    const auto small = hn::IfThenZeroElse(zero, hn::Exp(d, hn::Neg(hn::Abs(hn::Sub(t, high)))));
    const auto above = hn::Gt(t, high);
    const auto raised = hn::MulAdd(sum, small, hn::Set(d, 1.0));
    hn::StoreU(hn::IfThenElse(above, raised, hn::Add(sum, small)), d, block.sum + j);
    hn::StoreU(hn::Max(high, t), d, block.high + j);
  }
}

template <Reduce reduce>
HWY_INLINE void accumulate_all(const TableBlock& block) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= block.length; j += hn::Lanes(d)) accumulate_at<reduce>(d, block, j);
  for (; j < block.length; ++j) accumulate_at<reduce>(one, block, j);
}

void Accumulate(Reduce reduce, const TableBlock& block) {
  switch (reduce) {
    case Reduce::log_sum_exp:
      return accumulate_all<Reduce::log_sum_exp>(block);
    case Reduce::maximum:
      return accumulate_all<Reduce::maximum>(block);
    case Reduce::sum_of_exp:
      return accumulate_all<Reduce::sum_of_exp>(block);
    case Reduce::sum:
      return accumulate_all<Reduce::sum>(block);
  }
}

template <class D>
HWY_INLINE void finish_at(D d, const TableBlock& block, double* out, std::size_t j) {
  const auto high = hn::LoadU(d, block.high + j);
  const auto none = hn::Eq(high, hn::Set(d, -std::numeric_limits<double>::infinity()));
  const auto sum = hn::IfThenElse(none, hn::Set(d, 1.0), hn::LoadU(d, block.sum + j));
  hn::StoreU(hn::Add(high, hn::Log(d, sum)), d, out + j);
}

void FinishLogSum(const TableBlock& block, double* out) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= block.length; j += hn::Lanes(d)) finish_at(d, block, out, j);
  for (; j < block.length; ++j) finish_at(one, block, out, j);
}

double Maximum(const double* values, std::size_t count) {
  const hn::ScalableTag<double> d;
  auto high = hn::Set(d, -std::numeric_limits<double>::infinity());
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d)) high = hn::Max(high, hn::LoadU(d, values + j));
  double result = hn::GetLane(hn::MaxOfLanes(d, high));
  for (; j < count; ++j) result = values[j] > result ? values[j] : result;
  return result;
}

void Subtract(double* values, double amount, std::size_t count) {
  const hn::ScalableTag<double> d;
  const auto shift = hn::Set(d, amount);
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d))
    hn::StoreU(hn::Sub(hn::LoadU(d, values + j), shift), d, values + j);
  for (; j < count; ++j) values[j] -= amount;
}

template <class D>
HWY_INLINE void divide_at(D d, double* values, const double* message, double constant) {
  const auto nothing = hn::Set(d, -std::numeric_limits<double>::infinity());
  const auto p = hn::LoadU(d, values);
  const auto m = hn::LoadU(d, message);
  const auto zero = hn::Or(hn::Eq(p, hn::Zero(d)), hn::Eq(m, nothing));
  const auto log_p = hn::Log(d, hn::IfThenElse(zero, hn::Set(d, 1.0), p));
  const auto result = hn::Sub(hn::Sub(log_p, m), hn::Set(d, constant));
  hn::StoreU(hn::IfThenElse(zero, nothing, result), d, values);
}

void Divide(double* values, const double* message, double constant, std::size_t count) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  std::size_t j = 0;
  for (; j + hn::Lanes(d) <= count; j += hn::Lanes(d)) divide_at(d, values + j, message + j, constant);
  for (; j < count; ++j) divide_at(one, values + j, message + j, constant);
}

}  // namespace drover::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(Accumulate);
HWY_EXPORT(FinishLogSum);
HWY_EXPORT(Maximum);
HWY_EXPORT(Subtract);
HWY_EXPORT(Divide);

void accumulate_block(Reduce reduce, const TableBlock& block) {
  HWY_DYNAMIC_DISPATCH(Accumulate)(reduce, block);
}
void finish_log_sum(const TableBlock& block, double* out) {
  HWY_DYNAMIC_DISPATCH(FinishLogSum)(block, out);
}
double maximum_of(const double* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Maximum)(values, count);
}
void subtract_from(double* values, double amount, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Subtract)(values, amount, count);
}
void divide_block(double* values, const double* message, double constant, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Divide)(values, message, constant, count);
}

}  // namespace drover
#endif
