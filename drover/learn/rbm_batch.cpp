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

// matrix[row] += scale * values for the chosen rows, at `columns` columns (a multiple of the vector).
void AddToRows(float* HWY_RESTRICT matrix, std::size_t stride, const std::uint32_t* HWY_RESTRICT rows,
               std::size_t count, std::size_t columns, float scale, const float* HWY_RESTRICT values) {
  const FloatTag d;
  constexpr std::size_t width = block_vectors * vector_lanes;
  const FloatVector factor = hn::Set(d, scale);
  std::size_t c = 0;
  for (; c + width <= columns; c += width) {
    FloatVector term[block_vectors];
    for (std::size_t k = 0; k < block_vectors; ++k)
      term[k] = hn::Mul(factor, hn::Load(d, values + c + k * vector_lanes));
    for (std::size_t r = 0; r < count; ++r) {
      float* row = matrix + rows[r] * stride + c;
      for (std::size_t k = 0; k < block_vectors; ++k)
        hn::Store(hn::Add(hn::Load(d, row + k * vector_lanes), term[k]), d, row + k * vector_lanes);
    }
  }
  for (; c < columns; c += vector_lanes) {
    const FloatVector term = hn::Mul(factor, hn::Load(d, values + c));
    for (std::size_t r = 0; r < count; ++r) {
      float* at = matrix + rows[r] * stride + c;
      hn::Store(hn::Add(hn::Load(d, at), term), d, at);
    }
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
HWY_EXPORT(AddToRows);
HWY_EXPORT(Probabilities);
HWY_EXPORT(DrawUnits);

/// Columns that pass together: 784 rows of them are 400 kB, which the second-level cache holds.
constexpr std::size_t column_block = 128;
constexpr std::size_t grain = 8;  ///< rows of a batch per task

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
  // By columns: no two tasks touch the same number, and each adds its rows in order.
  constexpr std::size_t task_columns = 64;
  tbb::parallel_for(std::size_t{0}, hidden_stride_ / task_columns, [&](std::size_t task) {
    const std::size_t c = task * task_columns;
    for (std::size_t r = 0; r < v.rows(); ++r) {
      const auto rows = v.row(r);
      const float* values = probabilities.data() + r * hidden_stride_ + c;
      HWY_DYNAMIC_DISPATCH(AddToRows)
      (sums.weights.data() + c, hidden_stride_, rows.data(), rows.size(), task_columns, scale, values);
      const std::uint32_t zero = 0;
      HWY_DYNAMIC_DISPATCH(AddToRows)(sums.hidden.data() + c, 0, &zero, 1, task_columns, scale, values);
    }
  });
  for (std::size_t r = 0; r < v.rows(); ++r)
    for (std::uint32_t i : v.row(r)) sums.visible[i] += scale;
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
