#include "drover/sample/gibbs/dense_gibbs_with_gradients.hpp"

#include <algorithm>
#include <utility>

#include "drover/core/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/dense_gibbs_with_gradients.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t columns = 16, block = 128;

// exp(x) = 2^k 2^f, |f| <= 1/2, by the Taylor series of 2^f up to f^6: within 2e-7. Held within 2^-126 ..
// 2^126. The library's exponential takes twice the time for special cases that cannot occur here.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  const hn::RebindToSigned<D> whole;
  const auto limit = hn::Set(d, 126.0F);
  const auto t = hn::Clamp(hn::Mul(x, hn::Set(d, 1.44269504F)), hn::Neg(limit), limit);
  const auto k = hn::NearestInt(t);
  const auto f = hn::Sub(t, hn::ConvertTo(d, k));
  auto p = hn::Set(d, 1.5403530e-4F);
  for (const float coefficient :
       {1.33335581e-3F, 9.6181291e-3F, 5.55041087e-2F, 0.240226507F, 0.693147181F, 1.0F})
    p = hn::MulAdd(p, f, hn::Set(d, coefficient));
  return hn::BitCast(d, hn::Add(hn::BitCast(whole, p), hn::ShiftLeft<23>(k)));
}

// fields + change * weights, their leaves and the column sums of every block. Returns the sum of all.
float Propose(const float* HWY_RESTRICT weights, float change, float shift, std::size_t stride,
              const float* HWY_RESTRICT signs, const float* HWY_RESTRICT fields,
              float* HWY_RESTRICT new_fields, float* HWY_RESTRICT leaves, float* HWY_RESTRICT block_sums) {
  const hn::CappedTag<float, columns> d;
  const auto factor = hn::Set(d, change), half = hn::Set(d, 0.5F), less = hn::Set(d, shift);
  auto total = hn::Zero(d);
  for (std::size_t begin = 0; begin < stride; begin += block)
    for (std::size_t column = 0; column < columns; column += hn::Lanes(d)) {
      auto sum = hn::Zero(d);
      for (std::size_t j = begin + column; j < begin + block; j += columns) {
        const auto field = hn::MulAdd(factor, hn::Load(d, weights + j), hn::Load(d, fields + j));
        const auto gain = hn::Mul(half, hn::Mul(hn::Load(d, signs + j), field));
        const auto leaf = exponential(d, hn::Sub(gain, less));
        hn::Store(field, d, new_fields + j);
        hn::Store(leaf, d, leaves + j);
        sum = hn::Add(sum, leaf);
      }
      hn::Store(sum, d, block_sums + begin / block * columns + column);
      total = hn::Add(total, sum);
    }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(Propose);

constexpr std::size_t columns = 16, block = 128;
constexpr float no_field = -1e30F;    ///< of places beyond the last variable: their leaves are the least
constexpr double negligible = 1e-37;  ///< sums of the least leaves stay below: never drawn

/// The first of `count` places, `step` apart, at which the running sum exceeds `target`, which loses what
/// lies before. Rounding may leave a target beyond the end: then the last place that counts.
std::size_t pick(const float* values, std::size_t count, std::size_t step, double& target) {
  std::size_t last = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double value = values[k * step];
    if (value < negligible) continue;
    if (target < value) return k;
    target -= value;
    last = k;
  }
  target = 0;
  return last;
}

/// A place drawn in proportion to its leaf; `unit` in [0, 1).
std::size_t draw_place(const AlignedFloats& leaves, const AlignedFloats& block_sums, double unit) {
  const std::size_t blocks = block_sums.size() / columns;
  float column_sums[columns] = {};
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t c = 0; c < columns; ++c) column_sums[c] += block_sums[b * columns + c];
  double sum = 0;
  for (float value : column_sums) sum += value;
  double target = unit * sum;
  const std::size_t column = pick(column_sums, columns, 1, target);
  const std::size_t at = pick(block_sums.data() + column, blocks, columns, target);
  // Blocks of negligible leaves are drawn with probability below 1e-15 and may then give any place.
  return at * block + column +
         columns * pick(leaves.data() + at * block + column, block / columns, columns, target);
}

}  // namespace

DenseGibbsWithGradients::DenseGibbsWithGradients(const SpinGraph& graph)
    : stride_((graph.size() + block - 1) / block * block),
      bias_(graph.bias),
      weights_(graph.size() * stride_, 0.0F) {
  for (std::size_t i = 0; i < size(); ++i)
    for (std::size_t k = 0; k < graph.degree(i); ++k)
      weights_[i * stride_ + graph.neighbours(i)[k]] = graph.weights(i)[k];
}

// Fields in double, then a shift that makes the largest leaf 1; returns the sum of the leaves.
float DenseGibbsWithGradients::refresh(State& state, float& shift) const {
  std::vector<double> fields(bias_.begin(), bias_.end());
  for (std::size_t j = 0; j < size(); ++j)
    if (state.signs[j] < 0)
      for (std::size_t i = 0; i < size(); ++i) fields[i] += weights_[j * stride_ + i];
  shift = no_field;
  for (std::size_t i = 0; i < size(); ++i) {
    state.fields[1][i] = static_cast<float>(fields[i]);
    shift = std::max(shift, 0.5F * state.signs[i] * state.fields[1][i]);
  }
  std::fill(state.fields[1].begin() + static_cast<std::ptrdiff_t>(size()), state.fields[1].end(), no_field);
  return HWY_DYNAMIC_DISPATCH(Propose)(weights_.data(), 0, shift, stride_, state.signs.data(),
                                       state.fields[1].data(), state.fields[0].data(), state.leaves[0].data(),
                                       state.block_sums[0].data());
}

DenseGibbsWithGradients::State DenseGibbsWithGradients::start(std::uint64_t seed, std::uint32_t chain) const {
  State state;
  state.seed = seed;
  state.chain = chain;
  state.signs.assign(stride_, 1.0F);
  for (int k = 0; k < 2; ++k) {
    state.fields[k].assign(stride_, no_field);
    state.leaves[k].assign(stride_, 0.0F);
    state.block_sums[k].assign(stride_ / block * columns, 0.0F);
  }
  const Random random(seed, Stream::start);
  for (std::size_t i = 0; i < size(); ++i)
    if (random.block(chain, 0, static_cast<std::uint32_t>(i))[0] >> 31) state.signs[i] = -1;
  return state;
}

Moves DenseGibbsWithGradients::advance(State& state, std::uint64_t sweep, std::size_t proposals) const {
  if (size() == 0) return {};
  constexpr float least = 1e-20F, most = 1e20F;
  const Random random(state.seed, Stream::sweep);
  float shift = 0, sum = refresh(state, shift);
  Moves moves{.proposed = proposals};
  for (std::size_t step = 0; step < proposals; ++step) {
    if (!(sum > least && sum < most)) sum = refresh(state, shift);
    const Random::Block words = random.block(state.chain, sweep, static_cast<std::uint32_t>(step));
    const std::size_t i = std::min(
        size() - 1, draw_place(state.leaves[0], state.block_sums[0], Random::to_unit(words[0], words[1])));
    const float change = state.signs[i];  // from 0 to 1 fields gain the weight, else they lose it
    state.signs[i] = -change;
    const float proposed = HWY_DYNAMIC_DISPATCH(Propose)(
        weights_.data() + i * stride_, change, shift, stride_, state.signs.data(), state.fields[0].data(),
        state.fields[1].data(), state.leaves[1].data(), state.block_sums[1].data());
    if (Random::to_unit(words[2], words[3]) * proposed < sum) {
      std::swap(state.fields[0], state.fields[1]);
      std::swap(state.leaves[0], state.leaves[1]);
      std::swap(state.block_sums[0], state.block_sums[1]);
      sum = proposed;
      ++moves.accepted;
    } else {
      state.signs[i] = change;
    }
  }
  return moves;
}

Moves DenseGibbsWithGradients::sweep(State& state, std::uint64_t sweep) const {
  return advance(state, sweep,
                 size() + (Random(state.seed, Stream::order).block(state.chain, sweep, 0)[0] >> 31));
}

void DenseGibbsWithGradients::read(const State& state, std::span<Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) values[i] = state.signs[i] < 0;
}

void DenseGibbsWithGradients::write(State& state, std::span<const Value> values) const {
  for (std::size_t i = 0; i < size(); ++i) state.signs[i] = values[i] ? -1.0F : 1.0F;
}

}  // namespace drover
#endif
