#include "drover/infer/dense_max_product.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cassert>

#include "drover/core/flush_denormals.hpp"
#include "drover/core/parallel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/infer/dense_max_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One row of pairs (i, j): `out` has the messages from i to j, `in` those from j to i. `count` is a multiple
// of 16; places beyond the row have weight 0 and so messages 0. Returns the sum of the new messages to i.
float UpdateRow(const float* HWY_RESTRICT weights, float* HWY_RESTRICT out, float* HWY_RESTRICT in,
                std::size_t count, float own_sum, const float* HWY_RESTRICT sums,
                float* HWY_RESTRICT new_sums, float damping) {
  const hn::CappedTag<float, 16> d;
  const auto keep = hn::Set(d, damping), take = hn::Set(d, 1 - damping), own = hn::Set(d, own_sum);
  const auto zero = hn::Zero(d);
  auto total = zero;
  for (std::size_t j = 0; j < count; j += hn::Lanes(d)) {
    const auto w = hn::Load(d, weights + j);
    const auto a = hn::Load(d, out + j), c = hn::Load(d, in + j);
    const auto to_j = hn::Sub(own, c), to_i = hn::Sub(hn::LoadU(d, sums + j), a);
    const auto new_a =
        hn::MulAdd(take, hn::Sub(hn::Max(zero, hn::Add(to_j, w)), hn::Max(zero, to_j)), hn::Mul(keep, a));
    const auto new_c =
        hn::MulAdd(take, hn::Sub(hn::Max(zero, hn::Add(to_i, w)), hn::Max(zero, to_i)), hn::Mul(keep, c));
    hn::Store(new_a, d, out + j);
    hn::Store(new_c, d, in + j);
    hn::StoreU(hn::Add(hn::LoadU(d, new_sums + j), new_a), d, new_sums + j);
    total = hn::Add(total, new_c);
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(UpdateRow);

constexpr std::size_t row_unit = 16;

std::size_t padded(std::size_t count) {
  return (count + row_unit - 1) / row_unit * row_unit;
}

}  // namespace

void DenseMaxProduct::add_row(std::uint32_t variable, std::uint32_t column_begin,
                              std::uint32_t column_count) {
  rows_.push_back({variable, column_begin, column_count, weights_.size()});
  weights_.resize(weights_.size() + padded(column_count), 0.0f);
}

DenseMaxProduct DenseMaxProduct::complete(std::uint32_t variables) {
  DenseMaxProduct result;
  result.bias_.assign(variables, 0.0f);
  for (std::uint32_t i = 0; i + 1 < variables; ++i) result.add_row(i, i + 1, variables - i - 1);
  return result;
}

DenseMaxProduct DenseMaxProduct::bipartite(std::uint32_t visible, std::uint32_t hidden) {
  DenseMaxProduct result;
  result.bipartite_ = true;
  result.bias_.assign(std::size_t{visible} + hidden, 0.0f);
  for (std::uint32_t i = 0; i < visible; ++i) result.add_row(i, visible, hidden);
  return result;
}

std::size_t DenseMaxProduct::pair_count() const {
  std::size_t count = 0;
  for (const Row& row : rows_) count += row.column_count;
  return count;
}

void DenseMaxProduct::set_weights(std::span<const float> weights) {
  const std::size_t stride = bipartite_ ? rows_.empty() ? 0 : rows_[0].column_count : size();
  assert(weights.size() == stride * (bipartite_ ? rows_.size() : size()));
  for (const Row& row : rows_) {
    const float* const from = weights.data() + row.variable * stride + (bipartite_ ? 0 : row.column_begin);
    std::copy(from, from + row.column_count, weights_.begin() + static_cast<std::ptrdiff_t>(row.offset));
  }
}

void DenseMaxProduct::set_bias(std::span<const float> bias) {
  assert(bias.size() == size());
  bias_.assign(bias.begin(), bias.end());
}

void DenseMaxProduct::solve_one(const float* extra, const BatchOptions& options, std::uint8_t* states,
                                float* messages) const {
  const FlushDenormals flush;
  const std::size_t n = size();
  AlignedFloats fields(n + row_unit, 0.0f);
  for (std::size_t i = 0; i < n; ++i) fields[i] = bias_[i] + extra[i];
  AlignedFloats sums = fields, new_sums(fields.size());
  // Sums of the messages that are there, for a warm start.
  for (const Row& row : rows_) {
    const float* const out = messages + 2 * row.offset;
    const float* const in = out + padded(row.column_count);
    for (std::size_t j = 0; j < row.column_count; ++j) {
      sums[row.column_begin + j] += out[j];
      sums[row.variable] += in[j];
    }
  }
  for (std::uint32_t iteration = 0; iteration < options.iterations && !options.control->should_stop();
       ++iteration) {
    new_sums = fields;
    for (const Row& row : rows_) {
      float* const out = messages + 2 * row.offset;
      const std::size_t count = padded(row.column_count);
      new_sums[row.variable] += HWY_DYNAMIC_DISPATCH(UpdateRow)(
          weights_.data() + row.offset, out, out + count, count, sums[row.variable],
          sums.data() + row.column_begin, new_sums.data() + row.column_begin, options.damping);
    }
    std::swap(sums, new_sums);
  }
  for (std::size_t i = 0; i < n; ++i) states[i] = sums[i] >= 0;
}

void DenseMaxProduct::solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
                            std::span<std::uint8_t> states, BatchMessages* messages) const {
  assert(extra.size() == problems * size() && states.size() == problems * size());
  const std::size_t per_problem = 2 * weights_.size();
  if (messages && messages->problems != problems) {
    assert(messages->problems == 0);
    messages->problems = problems;
    messages->values.assign(problems * per_problem, 0.0f);
  }
  tbb::enumerable_thread_specific<AlignedFloats> workspaces;  // fresh pages cost more than zeroing old ones
  parallel_for(std::size_t{0}, problems, [&](std::size_t p) {
    float* values = nullptr;
    if (messages) {
      values = messages->values.data() + p * per_problem;
    } else {
      AlignedFloats& own = workspaces.local();
      own.assign(per_problem, 0.0f);
      values = own.data();
    }
    solve_one(extra.data() + p * size(), options, states.data() + p * size(), values);
  });
}

}  // namespace drover
#endif
