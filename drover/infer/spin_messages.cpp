#include "drover/infer/spin_messages.hpp"

#include <algorithm>
#include <cassert>
#include <map>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/spin_messages.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^-|x|: a polynomial on [-1/2, 1/2] (relative error below 2e-7) and the exponent's bits.
template <class D, class V>
HWY_INLINE V exp2_of_minus_abs(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto y = hn::Max(hn::Neg(hn::Abs(x)), hn::Set(d, -120.0f));
  const auto whole = hn::Round(y);
  const auto f = hn::Sub(y, whole);
  auto p = hn::Set(d, 1.3333558e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 9.6181291e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.5504109e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.4022651e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.9314718e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto bits = hn::ShiftLeft<23>(hn::ConvertTo(di, whole));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), bits));
}

template <bool sum, class D, class V>
HWY_INLINE V message(D d, V incoming, V weight) {
  const auto zero = hn::Zero(d);
  const auto raised = hn::Add(incoming, weight);
  auto result = hn::Sub(hn::Max(zero, raised), hn::Max(zero, incoming));
  if constexpr (sum) {
    const auto u = exp2_of_minus_abs(d, raised), v = exp2_of_minus_abs(d, incoming);
    const auto t = hn::Div(hn::Sub(u, v), hn::Add(hn::Set(d, 2.0f), hn::Add(u, v)));
    const auto square = hn::Mul(t, t);
    // (2 / log 2) (1 + t^2/3 + t^4/5 + ...), |t| <= 1/3
    auto p = hn::Set(d, 2.8853901f / 13);
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f / 11));
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f / 9));
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f / 7));
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f / 5));
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f / 3));
    p = hn::MulAdd(p, square, hn::Set(d, 2.8853901f));
    result = hn::MulAdd(p, t, result);
  }
  return result;
}

// New messages of one vector of pairs from the sums at either end; returns the largest change.
template <bool sum, class D, class V>
HWY_INLINE V update(D d, V first_sum, V second_sum, V weight, V damping, V& forward, V& backward) {
  const auto to_second = message<sum>(d, hn::Sub(first_sum, backward), weight);
  const auto to_first = message<sum>(d, hn::Sub(second_sum, forward), weight);
  const auto forward_change = hn::Sub(forward, to_second), backward_change = hn::Sub(backward, to_first);
  forward = hn::MulAdd(damping, forward_change, to_second);
  backward = hn::MulAdd(damping, backward_change, to_first);
  return hn::Max(hn::Abs(forward_change), hn::Abs(backward_change));
}

template <bool sum>
HWY_INLINE float sweep_diagonal(const float* HWY_RESTRICT weights, float* HWY_RESTRICT forward,
                                float* HWY_RESTRICT backward, std::size_t count, std::size_t distance,
                                const float* HWY_RESTRICT sums, float* new_sums, float damping) {
  const hn::CappedTag<float, 16> d;
  const auto keep = hn::Set(d, damping);
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto a = hn::LoadU(d, forward + i), c = hn::LoadU(d, backward + i);
    const auto change = update<sum>(d, hn::LoadU(d, sums + i), hn::LoadU(d, sums + i + distance),
                                    hn::LoadU(d, weights + i), keep, a, c);
    largest = hn::Max(largest, change);
    hn::StoreU(a, d, forward + i);
    hn::StoreU(c, d, backward + i);
    // One after the other: for short distances the two places overlap.
    hn::StoreU(hn::Add(hn::LoadU(d, new_sums + i), c), d, new_sums + i);
    hn::StoreU(hn::Add(hn::LoadU(d, new_sums + i + distance), a), d, new_sums + i + distance);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

float SweepDiagonal(bool sum, const float* weights, float* forward, float* backward, std::size_t count,
                    std::size_t distance, const float* sums, float* new_sums, float damping) {
  return sum ? sweep_diagonal<true>(weights, forward, backward, count, distance, sums, new_sums, damping)
             : sweep_diagonal<false>(weights, forward, backward, count, distance, sums, new_sums, damping);
}

template <bool sum>
HWY_INLINE float sweep_pairs(const float* HWY_RESTRICT weights, float* HWY_RESTRICT forward,
                             float* HWY_RESTRICT backward, std::size_t count,
                             const std::uint32_t* HWY_RESTRICT first,
                             const std::uint32_t* HWY_RESTRICT second, const float* HWY_RESTRICT sums,
                             float* HWY_RESTRICT new_sums, float damping) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto keep = hn::Set(d, damping);
  auto largest = hn::Zero(d);
  for (std::size_t p = 0; p < count; p += hn::Lanes(d)) {
    auto a = hn::LoadU(d, forward + p), c = hn::LoadU(d, backward + p);
    const auto i = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(first + p));
    const auto j = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(second + p));
    const auto change = update<sum>(d, hn::GatherIndex(d, sums, i), hn::GatherIndex(d, sums, j),
                                    hn::LoadU(d, weights + p), keep, a, c);
    largest = hn::Max(largest, change);
    hn::StoreU(a, d, forward + p);
    hn::StoreU(c, d, backward + p);
    for (std::size_t k = p; k < p + hn::Lanes(d); ++k) {
      new_sums[second[k]] += forward[k];
      new_sums[first[k]] += backward[k];
    }
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

float SweepPairs(bool sum, const float* weights, float* forward, float* backward, std::size_t count,
                 const std::uint32_t* first, const std::uint32_t* second, const float* sums, float* new_sums,
                 float damping) {
  return sum ? sweep_pairs<true>(weights, forward, backward, count, first, second, sums, new_sums, damping)
             : sweep_pairs<false>(weights, forward, backward, count, first, second, sums, new_sums, damping);
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(SweepDiagonal);
HWY_EXPORT(SweepPairs);

constexpr std::size_t unit = 16;
constexpr float log_two = 0.69314718f;

}  // namespace

SpinMessages::SpinMessages(const SpinGraph& graph, Semiring semiring)
    : semiring_(semiring), size_(graph.size()) {
  std::map<std::size_t, std::size_t> diagonal_of;  // distance -> number of pairs, then its place
  std::vector<float> weight;
  for (std::uint32_t i = 0; i < size_; ++i)
    for (std::size_t k = 0; k < graph.degree(i); ++k) {
      const std::uint32_t j = graph.neighbours(i)[k];
      if (j < i) continue;
      pair_first_.push_back(i);
      pair_second_.push_back(j);
      weight.push_back(graph.weights(i)[k] / log_two);
      ++diagonal_of[j - i];
    }
  pairs_ = pair_first_.size();
  std::size_t places = 0;
  for (const auto& [distance, count] : diagonal_of) places += size_ - distance + unit;
  const bool few_diagonals = places <= 2 * pairs_ + 1024;
  std::size_t length = (pairs_ + unit - 1) / unit * unit;
  if (few_diagonals) {
    length = 0;
    for (auto& [distance, place] : diagonal_of) {
      diagonals_.push_back({distance, length});
      place = length;
      length += (size_ - distance + unit - 1) / unit * unit;
    }
  }
  weights_.assign(length, 0.0f);
  forward_.assign(length, 0.0f);
  backward_.assign(length, 0.0f);
  for (std::size_t p = 0; p < pairs_; ++p) {
    const std::size_t place =
        few_diagonals ? diagonal_of[pair_second_[p] - pair_first_[p]] + pair_first_[p] : p;
    pair_place_.push_back(static_cast<std::uint32_t>(place));
    weights_[place] = weight[p];
  }
  // Padding pairs join the place behind the last variable with itself, at weight 0.
  pair_first_.resize((pairs_ + unit - 1) / unit * unit, static_cast<std::uint32_t>(size_));
  pair_second_.resize(pair_first_.size(), static_cast<std::uint32_t>(size_));
  bias_.assign(size_ + 2 * unit, 0.0f);
  for (std::size_t i = 0; i < size_; ++i) bias_[i] = graph.bias[i] / log_two;
  new_sums_ = bias_;
  // Messages begin as neighbours without an opinion send them: half the weight, 0 for s = -1, +1. (Zero would
  // begin from neighbours that are all 0, and a strongly coupled graph stays there.)
  for (std::size_t place = 0; place < length; ++place)
    forward_[place] = backward_[place] = weights_[place] / 2;
  sums_ = bias_;
  for (std::size_t p = 0; p < pairs_; ++p) {
    sums_[pair_first_[p]] += weight[p] / 2;
    sums_[pair_second_[p]] += weight[p] / 2;
  }
}

float SpinMessages::sweep(float damping) {
  const bool sum = semiring_ == Semiring::sum;
  std::copy(bias_.begin(), bias_.end(), new_sums_.begin());
  float change = 0;
  for (const Diagonal& diagonal : diagonals_)
    change = std::max(change, HWY_DYNAMIC_DISPATCH(SweepDiagonal)(
                                  sum, weights_.data() + diagonal.offset, forward_.data() + diagonal.offset,
                                  backward_.data() + diagonal.offset, size_ - diagonal.distance,
                                  diagonal.distance, sums_.data(), new_sums_.data(), damping));
  if (diagonals_.empty())
    change = HWY_DYNAMIC_DISPATCH(SweepPairs)(sum, weights_.data(), forward_.data(), backward_.data(),
                                              pair_first_.size(), pair_first_.data(), pair_second_.data(),
                                              sums_.data(), new_sums_.data(), damping);
  std::swap(sums_, new_sums_);
  return change * log_two;
}

std::vector<float> SpinMessages::log_odds() const {
  std::vector<float> result(size_);
  for (std::size_t i = 0; i < size_; ++i) result[i] = sums_[i] * log_two;
  return result;
}

SpinMessages::PairMessages SpinMessages::messages() const {
  PairMessages result;
  result.first.assign(pair_first_.begin(), pair_first_.begin() + static_cast<std::ptrdiff_t>(pairs_));
  result.second.assign(pair_second_.begin(), pair_second_.begin() + static_cast<std::ptrdiff_t>(pairs_));
  for (std::size_t p = 0; p < pairs_; ++p) {
    result.forward.push_back(forward_[pair_place_[p]] * log_two);
    result.backward.push_back(backward_[pair_place_[p]] * log_two);
  }
  return result;
}

}  // namespace drover
#endif
