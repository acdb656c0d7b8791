#include "drover/infer/boolean_products.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/flush_denormals.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/boolean_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef DROVER_BOOLEAN_BATCH
#define DROVER_BOOLEAN_BATCH
namespace drover {

struct BooleanBatch {
  const BooleanProducts* products;
  float* messages;
  const float* sums;  // B
  float* new_sums;    // starts as the biases
  float* scratch;     // three numbers per term of the longest output and lane: P, Q, u
  float damping;
};

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void SweepProducts(const BooleanBatch& batch) {
  constexpr std::size_t width = BooleanMaxProduct::lanes;
  const hn::CappedTag<float, width> d;
  const BooleanProducts& products = *batch.products;
  const auto keep = hn::Set(d, batch.damping), take = hn::Set(d, 1 - batch.damping);
  const auto zero = hn::Zero(d);
  for (std::size_t lane = 0; lane < width; lane += hn::Lanes(d)) {
    const float* const sums = batch.sums + lane;
    float* const new_sums = batch.new_sums + lane;
    float* const scratch = batch.scratch + lane;
    for (std::size_t p = 0; p < products.outputs(); ++p) {
      const std::size_t begin = products.first[p], count = products.first[p + 1] - begin;
      const std::uint32_t* const left = products.left.data() + begin;
      const std::uint32_t* const right = products.right.data() + begin;
      float* const messages = batch.messages + 2 * width * begin + lane;
      // The two largest u (equal ones count twice) and the sum of the positive parts.
      auto largest = hn::Set(d, -1e30F), second = largest, total = zero;
      for (std::size_t k = 0; k < count; ++k) {
        const auto from_left =
            hn::Sub(hn::LoadU(d, sums + width * left[k]), hn::LoadU(d, messages + 2 * width * k));
        const auto from_right =
            hn::Sub(hn::LoadU(d, sums + width * right[k]), hn::LoadU(d, messages + 2 * width * k + width));
        const auto up =
            hn::Sub(hn::Add(from_left, from_right), hn::Max(zero, hn::Max(from_left, from_right)));
        hn::StoreU(from_left, d, scratch + 3 * width * k);
        hn::StoreU(from_right, d, scratch + 3 * width * k + width);
        hn::StoreU(up, d, scratch + 3 * width * k + 2 * width);
        second = hn::Max(second, hn::Min(largest, up));
        largest = hn::Max(largest, up);
        total = hn::Add(total, hn::Max(zero, up));
      }
      total = hn::Add(total, hn::Set(d, products.odds[p]));
      const auto bound_by_largest = hn::Max(zero, hn::Neg(largest));
      const auto bound_by_second = hn::Max(zero, hn::Neg(second));
      const auto send = [&](float* message, float* sum, auto other, auto down) {
        const auto fresh = hn::Sub(hn::Max(zero, hn::Add(other, down)), hn::Max(zero, other));
        const auto next = hn::MulAdd(take, fresh, hn::Mul(keep, hn::LoadU(d, message)));
        hn::StoreU(next, d, message);
        hn::StoreU(hn::Add(hn::LoadU(d, sum), next), d, sum);
      };
      for (std::size_t k = 0; k < count; ++k) {
        const auto from_left = hn::LoadU(d, scratch + 3 * width * k);
        const auto from_right = hn::LoadU(d, scratch + 3 * width * k + width);
        const auto up = hn::LoadU(d, scratch + 3 * width * k + 2 * width);
        const auto bound = hn::IfThenElse(hn::Ge(up, largest), bound_by_second, bound_by_largest);
        const auto down = hn::Min(hn::Sub(total, hn::Max(zero, up)), bound);
        send(messages + 2 * width * k, new_sums + width * left[k], from_right, down);
        send(messages + 2 * width * k + width, new_sums + width * right[k], from_left, down);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(SweepProducts);

bool BooleanProducts::is_on(std::size_t p, std::span<const std::uint8_t> state) const {
  for (std::size_t k = first[p]; k < first[p + 1]; ++k)
    if (state[left[k]] != 0 && state[right[k]] != 0) return true;
  return false;
}

double score(const BooleanProducts& products, std::span<const float> extra,
             std::span<const std::uint8_t> state) {
  double total = 0;
  for (std::size_t i = 0; i < products.size(); ++i)
    if (state[i]) total += static_cast<double>(products.bias[i]) + extra[i];
  for (std::size_t p = 0; p < products.outputs(); ++p)
    if (products.is_on(p, state)) total += products.odds[p];
  return total;
}

BooleanMaxProduct::BooleanMaxProduct(const BooleanProducts& products) : products_(products) {
  for (std::size_t p = 0; p < products.outputs(); ++p)
    longest_ = std::max<std::size_t>(longest_, products.first[p + 1] - products.first[p]);
}

BooleanMaxProduct::State BooleanMaxProduct::start(std::span<const float> extra,
                                                  std::span<const float> lean) const {
  const std::size_t n = products_.size();
  assert(extra.size() == lanes * n && (lean.empty() || lean.size() == lanes * n));
  State state;
  state.bias.resize(lanes * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t l = 0; l < lanes; ++l) state.bias[lanes * i + l] = products_.bias[i] + extra[l * n + i];
  state.sums = state.bias;
  state.messages.assign(2 * lanes * products_.terms(), 0.0F);
  if (lean.empty()) return state;
  std::vector<float> share(n, 0.0F);  // of a message in all that go to the variable
  for (const auto* side : {&products_.left, &products_.right})
    for (std::uint32_t i : *side) share[i] += 1;
  for (float& s : share) s = s > 0 ? 1 / s : 0;
  for (std::size_t k = 0; k < products_.terms(); ++k)
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t i = side == 0 ? products_.left[k] : products_.right[k];
      for (std::size_t l = 0; l < lanes; ++l) {
        const float message = share[i] * lean[l * n + i];
        state.messages[lanes * (2 * k + side) + l] = message;
        state.sums[lanes * i + l] += message;
      }
    }
  return state;
}

void BooleanMaxProduct::run(State& state, std::uint32_t sweeps, float damping) const {
  const FlushDenormals flush;
  AlignedFloats next(state.sums.size()), scratch(3 * lanes * longest_);
  for (std::uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    std::copy(state.bias.begin(), state.bias.end(), next.begin());
    HWY_DYNAMIC_DISPATCH(SweepProducts)
    ({&products_, state.messages.data(), state.sums.data(), next.data(), scratch.data(), damping});
    std::swap(state.sums, next);
  }
}

void BooleanMaxProduct::decode(const State& state, std::size_t lane, std::span<std::uint8_t> values) const {
  for (std::size_t i = 0; i < products_.size(); ++i) values[i] = state.sums[lanes * i + lane] >= 0;
}

}  // namespace drover
#endif
