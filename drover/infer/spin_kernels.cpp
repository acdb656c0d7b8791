#include "drover/infer/spin_kernels.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/spin_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/infer/vector_polynomials-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Which loop is compiled: the semiring, and whether weights may be strong.
template <bool is_sum, bool is_strong>
struct Kind {
  static constexpr bool sum = is_sum, strong = is_strong;
};

template <class K, class V>
HWY_INLINE V message(V incoming, V minus_size, V decay) {
  const hn::DFromV<V> d;
  const auto sign = hn::Set(d, -0.0);
  const auto minus_incoming = hn::Or(incoming, sign);  // -|P|
  auto minus_result = hn::Max(minus_incoming, minus_size);
  if constexpr (K::sum) {
    auto y = minus_incoming;
    if constexpr (K::strong) {
      const auto raise = hn::Max(hn::Zero(d), hn::Sub(hn::Set(d, -spin_raised), minus_size));
      y = hn::Min(hn::Zero(d), hn::Add(y, raise));
    }
    const auto e = exp2_negative(hn::Max(y, hn::Set(d, -1000.0))), c = hn::Abs(decay);
    const auto high = hn::Max(e, c), low = hn::Min(e, c);
    const auto rest = hn::NegMulAdd(high, high, hn::Set(d, 1.0));  // 1 - M^2
    const auto below = hn::MulAdd(low, hn::Sub(hn::Set(d, 2.0), rest), hn::Add(high, high));
    const auto t = hn::Div(hn::Mul(low, rest), below);
    minus_result = hn::MulAdd(twice_atanh_over(t), t, minus_result);
  }
  // minus_result <= 0 but for rounding; the result has the sign of P W.
  return hn::Xor(minus_result, hn::AndNot(hn::Xor(incoming, decay), sign));
}

// A change in units of spin_change_unit(): of probabilities, or relative to the messages' size.
template <class K, class V>
HWY_INLINE V change_of(V sent, V old, V difference) {
  const hn::DFromV<V> d;
  if constexpr (!K::sum) {
    const auto size = hn::Max(hn::Set(d, 1 / log_of_two), hn::Max(hn::Abs(sent), hn::Abs(old)));
    return hn::Div(hn::Abs(difference), size);
  }
  if constexpr (K::strong) {
    const auto low = hn::Set(d, -spin_certain), high = hn::Set(d, spin_certain);
    difference = hn::Sub(hn::Min(hn::Max(old, low), high), hn::Min(hn::Max(sent, low), high));
  }
  return hn::Abs(difference);
}

// One vector of new messages; `old` becomes what they are after damping.
template <class K>
HWY_INLINE Vector update(Vector incoming, Vector minus_size, Vector decay, Vector damping, Vector& old,
                         Vector largest) {
  const auto sent = message<K>(incoming, minus_size, decay);
  const auto difference = hn::Sub(old, sent);
  largest = hn::Max(largest, change_of<K>(sent, old, difference));
  old = hn::MulAdd(damping, difference, sent);
  return largest;
}

template <class K>
double send_messages(const double* incoming, const double* minus_size, const double* decay, std::size_t count,
                     double damping, const double* old, double* next) {
  const Double d;
  const std::size_t lanes = hn::Lanes(d);
  const auto keep = hn::Set(d, damping);
  auto largest = hn::Zero(d);
  std::size_t e = 0;
  for (; e + lanes <= count; e += lanes) {
    auto a = hn::LoadU(d, old + e);
    largest = update<K>(hn::LoadU(d, incoming + e), hn::LoadU(d, minus_size + e), hn::LoadU(d, decay + e),
                        keep, a, largest);
    hn::StoreU(a, d, next + e);
  }
  if (e < count) {
    HWY_ALIGN double numbers[4][spin_unit] = {};
    for (std::size_t k = 0; e + k < count; ++k) {
      numbers[0][k] = incoming[e + k];
      numbers[1][k] = minus_size[e + k];
      numbers[2][k] = decay[e + k];
      numbers[3][k] = old[e + k];
    }
    auto a = hn::Load(d, numbers[3]);
    largest = update<K>(hn::Load(d, numbers[0]), hn::Load(d, numbers[1]), hn::Load(d, numbers[2]), keep, a,
                        largest);
    hn::Store(a, d, numbers[3]);
    std::copy(numbers[3], numbers[3] + (count - e), next + e);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest)) * spin_change_unit(K::sum);
}

template <class K>
double send_diagonal(const double* HWY_RESTRICT minus_size, const double* HWY_RESTRICT decay,
                     double* HWY_RESTRICT forward, double* HWY_RESTRICT backward, std::size_t count,
                     const double* HWY_RESTRICT beliefs, std::size_t distance, double damping) {
  const Double d;
  const auto keep = hn::Set(d, damping);
  auto largest = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto a = hn::LoadU(d, forward + i), c = hn::LoadU(d, backward + i);
    const auto size = hn::LoadU(d, minus_size + i), fall = hn::LoadU(d, decay + i);
    const auto to_second = hn::Sub(hn::LoadU(d, beliefs + i), c);
    const auto to_first = hn::Sub(hn::LoadU(d, beliefs + i + distance), a);
    largest = update<K>(to_second, size, fall, keep, a, largest);
    largest = update<K>(to_first, size, fall, keep, c, largest);
    hn::StoreU(a, d, forward + i);
    hn::StoreU(c, d, backward + i);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest)) * spin_change_unit(K::sum);
}

// New proposals of rows, one after the other; the rows are independent, so that the processor works on several.
template <class K>
void propose_rows(SpinBox* HWY_RESTRICT boxes, const double* HWY_RESTRICT appearance,
                  const std::uint32_t* HWY_RESTRICT rows, std::size_t count, float* HWY_RESTRICT changes) {
  const hn::CappedTag<double, spin_box> d;
  const hn::Rebind<float, decltype(d)> small;
  // Rounded up: what is measured is a bound.
  const auto unit = hn::Set(d, spin_change_unit(K::sum) * (1 + 0x1p-23));
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t begin = rows[k], end = begin + boxes[begin].boxes;
    double belief = boxes[begin].own;
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t e = 0; e < spin_box; ++e)
        belief += appearance == nullptr ? boxes[b].received[e]
                                        : appearance[spin_box * b + e] * boxes[b].received[e];
    const auto all = hn::Set(d, belief);
    for (std::size_t b = begin; b < end; ++b)
      for (std::size_t e = 0; e < spin_box; e += hn::Lanes(d)) {
        SpinBox& box = boxes[b];
        const auto sent = message<K>(hn::Sub(all, hn::LoadU(d, box.received + e)),
                                     hn::LoadU(d, box.minus_size + e), hn::LoadU(d, box.decay + e));
        const auto old = hn::LoadU(d, box.sent + e);
        hn::StoreU(sent, d, box.proposed + e);
        const auto change = hn::Mul(unit, change_of<K>(sent, old, hn::Sub(old, sent)));
        hn::StoreU(hn::DemoteTo(small, change), small, changes + spin_box * b + e);
      }
  }
}

void LargestOfBlocks(const float* HWY_RESTRICT values, const std::uint32_t* HWY_RESTRICT blocks,
                     std::size_t count, float* HWY_RESTRICT largest) {
  const hn::CappedTag<float, 16> d;
  for (std::size_t k = 0; k < count; ++k) {
    const float* const block = values + spin_block * blocks[k];
    auto most = hn::Zero(d);
    for (std::size_t i = 0; i < spin_block; i += hn::Lanes(d)) most = hn::Max(most, hn::LoadU(d, block + i));
    largest[blocks[k]] = hn::GetLane(hn::MaxOfLanes(d, most));
  }
}

std::size_t PlacesAbove(const float* HWY_RESTRICT values, const std::uint32_t* HWY_RESTRICT blocks,
                        std::size_t count, float limit, std::uint32_t* HWY_RESTRICT places) {
  const hn::CappedTag<float, 16> d;
  const auto least = hn::Set(d, limit);
  std::size_t found = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t first = spin_block * blocks[k];
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < spin_block; i += hn::Lanes(d)) {
      std::uint64_t part = 0;
      hn::StoreMaskBits(d, hn::Gt(hn::LoadU(d, values + first + i), least),
                        reinterpret_cast<std::uint8_t*>(&part));
      bits |= part << i;
    }
    for (; bits != 0; bits &= bits - 1)
      places[found++] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(__builtin_ctzll(bits));
  }
  return found;
}

// Calls run with the kind.
template <class Run>
double with_kind(bool sum, bool strong, Run run) {
  if (!sum) return run(Kind<false, false>());
  return strong ? run(Kind<true, true>()) : run(Kind<true, false>());
}

double SendMessages(bool sum, bool strong, const double* incoming, const double* minus_size,
                    const double* decay, std::size_t count, double damping, const double* old, double* next) {
  return with_kind(sum, strong, [&](auto kind) {
    return send_messages<decltype(kind)>(incoming, minus_size, decay, count, damping, old, next);
  });
}

double SendDiagonal(bool sum, bool strong, const double* minus_size, const double* decay, double* forward,
                    double* backward, std::size_t count, const double* beliefs, std::size_t distance,
                    double damping) {
  return with_kind(sum, strong, [&](auto kind) {
    return send_diagonal<decltype(kind)>(minus_size, decay, forward, backward, count, beliefs, distance,
                                         damping);
  });
}

void ProposeRows(bool sum, bool strong, SpinBox* boxes, const double* appearance, const std::uint32_t* rows,
                 std::size_t count, float* changes) {
  with_kind(sum, strong, [&](auto kind) {
    propose_rows<decltype(kind)>(boxes, appearance, rows, count, changes);
    return 0.0;
  });
}

void AddToBeliefs(const double* HWY_RESTRICT values, const double* HWY_RESTRICT appearance, std::size_t count,
                  double* HWY_RESTRICT sums) {
  const Double d;
  const std::size_t whole = count - count % hn::Lanes(d);
  if (appearance == nullptr) {
    for (std::size_t i = 0; i < whole; i += hn::Lanes(d))
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), hn::LoadU(d, values + i)), d, sums + i);
    for (std::size_t i = whole; i < count; ++i) sums[i] += values[i];
    return;
  }
  for (std::size_t i = 0; i < whole; i += hn::Lanes(d))
    hn::StoreU(
        hn::Add(hn::LoadU(d, sums + i), hn::Mul(hn::LoadU(d, appearance + i), hn::LoadU(d, values + i))), d,
        sums + i);
  for (std::size_t i = whole; i < count; ++i) sums[i] += appearance[i] * values[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(SendMessages);
HWY_EXPORT(SendDiagonal);
HWY_EXPORT(AddToBeliefs);
HWY_EXPORT(ProposeRows);
HWY_EXPORT(LargestOfBlocks);
HWY_EXPORT(PlacesAbove);

}  // namespace

void SpinWeights::set(std::size_t place, double weight) {
  const double size = std::abs(weight) / log_of_two;
  minus_size[place] = -size;
  decay[place] = std::copysign(std::exp2(-std::min(size, spin_raised)), weight);
  strong |= size > spin_certain;
}

double send_spin_messages(Semiring semiring, const double* incoming, const SpinWeights& weights,
                          std::size_t begin, std::size_t count, double damping, const double* old,
                          double* next) {
  return HWY_DYNAMIC_DISPATCH(SendMessages)(semiring == Semiring::sum, weights.strong, incoming,
                                            weights.minus_size.data() + begin, weights.decay.data() + begin,
                                            count, damping, old, next);
}

void propose_spin_rows(Semiring semiring, bool strong, SpinBox* boxes, const double* appearance,
                       std::span<const std::uint32_t> rows, float* changes) {
  HWY_DYNAMIC_DISPATCH(ProposeRows)
  (semiring == Semiring::sum, strong, boxes, appearance, rows.data(), rows.size(), changes);
}

void largest_of_blocks(const float* values, std::span<const std::uint32_t> blocks, float* largest) {
  HWY_DYNAMIC_DISPATCH(LargestOfBlocks)(values, blocks.data(), blocks.size(), largest);
}

std::size_t places_above(const float* values, std::span<const std::uint32_t> blocks, float limit,
                         std::uint32_t* places) {
  return HWY_DYNAMIC_DISPATCH(PlacesAbove)(values, blocks.data(), blocks.size(), limit, places);
}

double send_along_diagonal(Semiring semiring, const SpinWeights& weights, std::size_t begin, double* forward,
                           double* backward, std::size_t count, const double* beliefs, std::size_t distance,
                           double damping) {
  return HWY_DYNAMIC_DISPATCH(SendDiagonal)(semiring == Semiring::sum, weights.strong,
                                            weights.minus_size.data() + begin, weights.decay.data() + begin,
                                            forward, backward, count, beliefs, distance, damping);
}

void add_to_beliefs(const double* values, const double* appearance, std::size_t count, double* sums) {
  HWY_DYNAMIC_DISPATCH(AddToBeliefs)(values, appearance, count, sums);
}

}  // namespace drover
#endif
