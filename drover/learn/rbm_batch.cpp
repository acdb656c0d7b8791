#include "drover/learn/rbm_batch.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/learn/rbm_batch.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs_spin_draw-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// Columns [0, 64 vectors * blocks) are handled `block_vectors` vectors at a time, in registers.
inline constexpr std::size_t block_vectors = 8;

// out[c] = bias[c] + sum of the chosen rows at c, for `columns` columns (a multiple of 64).
void SumRows(const float* HWY_RESTRICT matrix, std::size_t stride, const float* HWY_RESTRICT bias,
             const std::uint32_t* HWY_RESTRICT rows, std::size_t count, std::size_t columns,
             float* HWY_RESTRICT out) {
  const FloatTag d;
  constexpr std::size_t width = block_vectors * vector_lanes;
  std::size_t c = 0;
  for (; c + width <= columns; c += width) {
    FloatVector sum[block_vectors];
    for (std::size_t k = 0; k < block_vectors; ++k) sum[k] = hn::Load(d, bias + c + k * vector_lanes);
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = matrix + rows[r] * stride + c;
      for (std::size_t k = 0; k < block_vectors; ++k)
        sum[k] = hn::Add(sum[k], hn::Load(d, row + k * vector_lanes));
    }
    for (std::size_t k = 0; k < block_vectors; ++k) hn::Store(sum[k], d, out + c + k * vector_lanes);
  }
  for (; c < columns; c += vector_lanes) {
    FloatVector sum = hn::Load(d, bias + c);
    for (std::size_t r = 0; r < count; ++r) sum = hn::Add(sum, hn::Load(d, matrix + rows[r] * stride + c));
    hn::Store(sum, d, out + c);
  }
}

// out[c] += scale times the sum of the chosen rows at c, for `columns` columns (a multiple of the vector).
void AddRowSums(const float* HWY_RESTRICT matrix, std::size_t stride, const std::uint32_t* HWY_RESTRICT rows,
                std::size_t count, std::size_t columns, float scale, float* HWY_RESTRICT out) {
  const FloatTag d;
  constexpr std::size_t width = block_vectors * vector_lanes;
  const FloatVector factor = hn::Set(d, scale);
  std::size_t c = 0;
  for (; c + width <= columns; c += width) {
    FloatVector sum[block_vectors];
    for (std::size_t k = 0; k < block_vectors; ++k) sum[k] = hn::Zero(d);
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = matrix + rows[r] * stride + c;
      for (std::size_t k = 0; k < block_vectors; ++k)
        sum[k] = hn::Add(sum[k], hn::Load(d, row + k * vector_lanes));
    }
    for (std::size_t k = 0; k < block_vectors; ++k) {
      float* at = out + c + k * vector_lanes;
      hn::Store(hn::MulAdd(factor, sum[k], hn::Load(d, at)), d, at);
    }
  }
  for (; c < columns; c += vector_lanes) {
    FloatVector sum = hn::Zero(d);
    for (std::size_t r = 0; r < count; ++r) sum = hn::Add(sum, hn::Load(d, matrix + rows[r] * stride + c));
    hn::Store(hn::MulAdd(factor, sum, hn::Load(d, out + c)), d, out + c);
  }
}

void Probabilities(float* HWY_RESTRICT fields, std::size_t columns) {
  const FloatTag d;
  for (std::size_t c = 0; c < columns; c += vector_lanes)
    hn::Store(probability_of(hn::Load(d, fields + c)), d, fields + c);
}

// Draws `units` units given their fields and writes the numbers of those that are on; returns how many.
std::size_t DrawUnits(const LaneRandom& random, std::uint32_t row, std::uint64_t sweep,
                      const float* HWY_RESTRICT fields, std::size_t units, std::uint32_t* HWY_RESTRICT on) {
  const FloatTag d;
  const LaneWords lane_words(random, row, sweep);
  std::size_t count = 0;
  for (std::size_t first = 0; first < units; first += 64) {
    WordVector words[vector_count];
    lane_words.draw(static_cast<std::uint32_t>(first / 64), words);
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < vector_count; ++k)
      bits |= bits_of(d, draw_mask(hn::Load(d, fields + first + k * vector_lanes), words[k]), k);
    if (units - first < 64) bits &= (std::uint64_t{1} << (units - first)) - 1;
    for (; bits != 0; bits &= bits - 1)
      on[count++] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(__builtin_ctzll(bits));
  }
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(SumRows);
HWY_EXPORT(AddRowSums);
HWY_EXPORT(Probabilities);
HWY_EXPORT(DrawUnits);

/// Columns that pass together: 784 rows of them are 400 kB, which the second-level cache holds.
constexpr std::size_t column_block = 128;
constexpr std::size_t grain =
    32;  ///< rows of a batch per task: enough for a block of weights to be used often

std::size_t padded(std::size_t n) {
  return (n + 63) / 64 * 64;
}

/// fields of all rows, column block by column block.
void sum_rows(const AlignedVector<float>& matrix, std::size_t stride, const AlignedVector<float>& bias,
              const ActiveUnits& active, AlignedVector<float>& out) {
  out.resize(active.rows() * stride);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, active.rows(), grain), [&](const auto& range) {
    for (std::size_t c = 0; c < stride; c += column_block) {
      const std::size_t columns = std::min(column_block, stride - c);
      for (std::size_t r = range.begin(); r != range.end(); ++r) {
        const auto rows = active.row(r);
        HWY_DYNAMIC_DISPATCH(SumRows)
        (matrix.data() + c, stride, bias.data() + c, rows.data(), rows.size(), columns,
         out.data() + r * stride + c);
      }
    }
  });
}

void draw(const AlignedVector<float>& fields, std::size_t stride, std::size_t units, std::size_t rows,
          std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep, Stream stream, ActiveUnits& out) {
  out.resize(rows, units);
  const LaneRandom random(seed, stream);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, rows, grain), [&](const auto& range) {
    for (std::size_t r = range.begin(); r != range.end(); ++r)
      out.count[r] = static_cast<std::uint32_t>(
          HWY_DYNAMIC_DISPATCH(DrawUnits)(random, first_row + static_cast<std::uint32_t>(r), sweep,
                                          fields.data() + r * stride, units, out.list.data() + r * units));
  });
}

}  // namespace

RbmBatch::RbmBatch(const BinaryMachine& machine)
    : visible_(machine.visible),
      hidden_(machine.hidden),
      visible_stride_(padded(machine.visible)),
      hidden_stride_(padded(machine.hidden)),
      by_visible_(visible_ * hidden_stride_, 0.0F),
      by_hidden_(hidden_ * visible_stride_, 0.0F),
      visible_bias_(visible_stride_, 0.0F),
      hidden_bias_(hidden_stride_, 0.0F) {
  assert(machine.kind == MachineKind::rbm);
  set_parameters(machine);
}

void RbmBatch::set_parameters(const BinaryMachine& machine) {
  const float* weights = machine.weights.data();
  constexpr std::size_t tile = 16;  // a cache line of either matrix
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, (visible_ + tile - 1) / tile), [&](const auto& range) {
    for (std::size_t block = range.begin(); block != range.end(); ++block) {
      const std::size_t end = std::min(visible_, (block + 1) * tile);
      for (std::size_t i = block * tile; i < end; ++i)
        std::copy_n(weights + i * hidden_, hidden_, by_visible_.data() + i * hidden_stride_);
      for (std::size_t j = 0; j < hidden_; ++j)
        for (std::size_t i = block * tile; i < end; ++i)
          by_hidden_[j * visible_stride_ + i] = weights[i * hidden_ + j];
    }
  });
  std::copy_n(machine.biases.begin(), visible_, visible_bias_.begin());
  std::copy_n(machine.biases.begin() + static_cast<std::ptrdiff_t>(visible_), hidden_, hidden_bias_.begin());
}

void RbmBatch::hidden_probabilities(const ActiveUnits& v, AlignedVector<float>& probabilities) const {
  sum_rows(by_visible_, hidden_stride_, hidden_bias_, v, probabilities);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, v.rows(), grain), [&](const auto& range) {
    HWY_DYNAMIC_DISPATCH(Probabilities)
    (probabilities.data() + range.begin() * hidden_stride_, range.size() * hidden_stride_);
  });
}

void RbmBatch::draw_hidden(const ActiveUnits& v, std::uint64_t seed, std::uint32_t first_row,
                           std::uint64_t sweep, ActiveUnits& h) const {
  AlignedVector<float> fields;
  sum_rows(by_visible_, hidden_stride_, hidden_bias_, v, fields);
  draw(fields, hidden_stride_, hidden_, v.rows(), seed, first_row, sweep, Stream::hidden_units, h);
}

void RbmBatch::draw_visible(const ActiveUnits& h, std::uint64_t seed, std::uint32_t first_row,
                            std::uint64_t sweep, ActiveUnits& v) const {
  AlignedVector<float> fields;
  sum_rows(by_hidden_, visible_stride_, visible_bias_, h, fields);
  draw(fields, visible_stride_, visible_, h.rows(), seed, first_row, sweep, Stream::sweep, v);
}

void RbmBatch::clear(Sums& sums) const {
  sums.weights.assign(visible_ * hidden_stride_, 0.0F);
  sums.visible.assign(visible_, 0.0F);
  sums.hidden.assign(hidden_stride_, 0.0F);
}

void RbmBatch::add(const ActiveUnits& v, const AlignedVector<float>& probabilities, float scale,
                   Sums& sums) const {
  // For every visible unit the rows in which it is on; the last list has all rows, for the hidden biases. A
  // weight's sum is then one pass over rows of probabilities, kept in registers.
  std::vector<std::uint32_t> begin(visible_ + 1, 0);
  for (std::size_t r = 0; r < v.rows(); ++r)
    for (std::uint32_t i : v.row(r)) ++begin[i + 1];
  for (std::size_t i = 0; i < visible_; ++i) {
    sums.visible[i] += scale * static_cast<float>(begin[i + 1]);
    begin[i + 1] += begin[i];
  }
  std::vector<std::uint32_t> rows(begin.back() + v.rows());
  std::vector<std::uint32_t> next(begin.begin(), begin.end());
  for (std::size_t r = 0; r < v.rows(); ++r) {
    for (std::uint32_t i : v.row(r)) rows[next[i]++] = static_cast<std::uint32_t>(r);
    rows[begin.back() + r] = static_cast<std::uint32_t>(r);
  }
  // A block of columns of the probabilities stays in the first-level cache while all units pass.
  constexpr std::size_t task_columns = 128;
  const auto add_block = [&](std::size_t c) {
    const std::size_t columns = std::min(task_columns, hidden_stride_ - c);
    const auto add_list = [&](std::size_t first, std::size_t count, float* out) {
      HWY_DYNAMIC_DISPATCH(AddRowSums)
      (probabilities.data() + c, hidden_stride_, rows.data() + first, count, columns, scale, out + c);
    };
    for (std::size_t i = 0; i < visible_; ++i)
      add_list(begin[i], begin[i + 1] - begin[i], sums.weights.data() + i * hidden_stride_);
    add_list(begin.back(), v.rows(), sums.hidden.data());
  };
  tbb::parallel_for(std::size_t{0}, (hidden_stride_ + task_columns - 1) / task_columns,
                    [&](std::size_t task) { add_block(task * task_columns); });
}

void select_rows(std::span<const Value> values, std::size_t variables, std::span<const std::uint32_t> chosen,
                 ActiveUnits& out) {
  out.resize(chosen.size(), variables);
  for (std::size_t r = 0; r < chosen.size(); ++r) {
    const Value* row = values.data() + std::size_t{chosen[r]} * variables;
    std::uint32_t count = 0;
    for (std::size_t v = 0; v < variables; ++v) {
      out.list[r * variables + count] = static_cast<std::uint32_t>(v);
      count += row[v] != 0;
    }
    out.count[r] = count;
  }
}

}  // namespace drover
#endif
