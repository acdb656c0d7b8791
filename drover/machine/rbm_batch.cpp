#include "drover/machine/rbm_batch.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "drover/core/all_gather.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/machine/rbm_batch.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

#ifndef DROVER_LEARN_RBM_BATCH_ONCE
#define DROVER_LEARN_RBM_BATCH_ONCE
namespace drover {
/// Columns of a table of partial sums: the tables of 500 rows are then 512 kB, which the second-level cache
/// holds.
inline constexpr std::size_t table_columns = 64;
}  // namespace drover
#endif

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

// The sums over each of the sixteen subsets of four rows (fewer at the end of the matrix), for
// `table_columns` columns.
void MakeTable(const float* HWY_RESTRICT matrix, std::size_t stride, std::size_t rows,
               float* HWY_RESTRICT table) {
  const FloatTag d;
  for (std::size_t c = 0; c < table_columns; c += vector_lanes) {
    hn::Store(hn::Zero(d), d, table + c);
    for (std::size_t bit = 0; bit < 4; ++bit) {
      const FloatVector row = bit < rows ? hn::Load(d, matrix + bit * stride + c) : hn::Zero(d);
      const std::size_t subsets = std::size_t{1} << bit;
      for (std::size_t k = 0; k < subsets; ++k)
        hn::Store(hn::Add(hn::Load(d, table + k * table_columns + c), row), d,
                  table + (subsets + k) * table_columns + c);
    }
  }
}

// out[c] = bias[c] + the sum over groups g of row codes[g] of the group's table.
void SumTables(const float* HWY_RESTRICT tables, const float* HWY_RESTRICT bias,
               const std::uint8_t* HWY_RESTRICT codes, std::size_t groups, float* HWY_RESTRICT out) {
  const FloatTag d;
  constexpr std::size_t vectors = table_columns / vector_lanes;
  FloatVector sum[vectors];
  for (std::size_t k = 0; k < vectors; ++k) sum[k] = hn::Load(d, bias + k * vector_lanes);
  for (std::size_t g = 0; g < groups; ++g) {
    const float* row = tables + (16 * g + codes[g]) * table_columns;
    for (std::size_t k = 0; k < vectors; ++k) sum[k] = hn::Add(sum[k], hn::Load(d, row + k * vector_lanes));
  }
  for (std::size_t k = 0; k < vectors; ++k) hn::Store(sum[k], d, out + k * vector_lanes);
}

// at[0 .. count) += factor * sum, or = factor * sum when it holds nothing yet; count is at most a vector.
HWY_INLINE void AddPart(FloatVector sum, FloatVector factor, std::size_t count, bool fresh,
                        float* HWY_RESTRICT at) {
  const FloatTag d;
  if (count >= vector_lanes) {
    hn::StoreU(hn::MulAdd(factor, sum, fresh ? hn::Zero(d) : hn::LoadU(d, at)), d, at);
  } else {
    // By a copy: SSE4's masked loads touch whole aligned vectors, and `at` may begin anywhere.
    alignas(64) float part[vector_lanes] = {};
    if (!fresh) std::copy_n(at, count, part);
    hn::Store(hn::MulAdd(factor, sum, hn::Load(d, part)), d, part);
    std::copy_n(part, count, at);
  }
}

// out[c] += scale times the sum of the chosen rows at c (or = it, when out holds nothing yet), for `columns`
// columns; the rows themselves are padded to whole blocks of 64.
void AddRowSums(const float* HWY_RESTRICT matrix, std::size_t stride, const std::uint32_t* HWY_RESTRICT rows,
                std::size_t count, std::size_t columns, float scale, bool fresh, float* HWY_RESTRICT out) {
  const FloatTag d;
  const FloatVector factor = hn::Set(d, scale);
  constexpr std::size_t vectors = 64 / vector_lanes;
  for (std::size_t c = 0; c < columns; c += 64) {
    FloatVector sum[vectors];
    for (std::size_t k = 0; k < vectors; ++k) sum[k] = hn::Zero(d);
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = matrix + rows[r] * stride + c;
      for (std::size_t k = 0; k < vectors; ++k) sum[k] = hn::Add(sum[k], hn::Load(d, row + k * vector_lanes));
    }
    for (std::size_t k = 0; k < vectors && c + k * vector_lanes < columns; ++k)
      AddPart(sum[k], factor, columns - c - k * vector_lanes, fresh, out + c + k * vector_lanes);
  }
}

void Probabilities(float* HWY_RESTRICT fields, std::size_t columns) {
  const FloatTag d;
  for (std::size_t c = 0; c < columns; c += vector_lanes)
    hn::Store(probability_of(hn::Load(d, fields + c)), d, fields + c);
}

// Draws units begin .. end (the former a multiple of 64) given the fields of all and writes the numbers of
// those that are on; returns how many.
std::size_t DrawUnits(const LaneRandom& random, std::uint32_t row, std::uint64_t sweep,
                      const float* HWY_RESTRICT fields, std::size_t begin, std::size_t end,
                      std::uint32_t* HWY_RESTRICT on) {
  const FloatTag d;
  const LaneWords lane_words(random, row, sweep);
  std::size_t count = 0;
  for (std::size_t first = begin; first < end; first += 64) {
    WordVector words[vector_count];
    lane_words.draw(static_cast<std::uint32_t>(first / 64), words);
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < vector_count; ++k)
      bits |= bits_of(d, draw_mask(hn::Load(d, fields + first + k * vector_lanes), words[k]), k);
    if (end - first < 64) bits &= (std::uint64_t{1} << (end - first)) - 1;
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
HWY_EXPORT(MakeTable);
HWY_EXPORT(SumTables);
HWY_EXPORT(AddRowSums);
HWY_EXPORT(Probabilities);
HWY_EXPORT(DrawUnits);

/// Columns that pass together: 784 rows of them are 400 kB, which the second-level cache holds.
constexpr std::size_t column_block = 128;

/// Rows of a batch per task: about 32, enough for a block of weights to be used often, and an even number of
/// equal pieces, so that two threads have the same to do.
std::size_t grain_of(std::size_t rows) {
  const std::size_t pieces = 2 * std::max<std::size_t>(1, (rows + 63) / 64);
  return (rows + pieces - 1) / pieces;
}

std::size_t padded(std::size_t n) {
  return (n + 63) / 64 * 64;
}

/// As sum_rows, by tables of the partial sums of every four units: half the additions when half the units
/// are on, for tables that a large batch pays for.
void sum_tables(const AlignedVector<float>& matrix, std::size_t stride, const AlignedVector<float>& bias,
                const ActiveUnits& active, std::size_t begin, std::size_t end, AlignedVector<float>& out) {
  const std::size_t groups = (active.units + 3) / 4;
  std::vector<std::uint8_t> codes(active.rows() * groups, 0);  // which of its four units are on
  for (std::size_t r = 0; r < active.rows(); ++r)
    for (std::uint32_t unit : active.row(r))
      codes[r * groups + unit / 4] |= static_cast<std::uint8_t>(1U << (unit % 4));
  parallel_for(begin / table_columns, end / table_columns, [&](std::size_t block) {
    const std::size_t c = block * table_columns;
    static thread_local AlignedVector<float> tables;  // every entry is written anew: no need to clear it
    if (tables.size() < 16 * groups * table_columns) tables.resize(16 * groups * table_columns);
    for (std::size_t g = 0; g < groups; ++g) HWY_DYNAMIC_DISPATCH(MakeTable)
    (matrix.data() + 4 * g * stride + c, stride, std::min<std::size_t>(4, active.units - 4 * g),
     tables.data() + 16 * g * table_columns);
    for (std::size_t r = 0; r < active.rows(); ++r) HWY_DYNAMIC_DISPATCH(SumTables)
    (tables.data(), bias.data() + c, codes.data() + r * groups, groups, out.data() + r * stride + c);
  });
}

/// Whether tables save additions: eleven per four units to make them, then one per four units and row.
bool tables_pay(const ActiveUnits& active) {
  const std::size_t on = std::accumulate(active.count.begin(), active.count.end(), std::size_t{0});
  return 4 * on > active.units * (active.rows() + 11);
}

/// fields of all rows in the columns begin .. end (multiples of 64), column block by column block.
void sum_rows(const AlignedVector<float>& matrix, std::size_t stride, const AlignedVector<float>& bias,
              const ActiveUnits& active, std::size_t begin, std::size_t end, AlignedVector<float>& out) {
  out.resize(active.rows() * stride);
  if (tables_pay(active)) return sum_tables(matrix, stride, bias, active, begin, end, out);
  parallel_for(IndexRange(0, active.rows(), grain_of(active.rows())), [&](const IndexRange& range) {
    for (std::size_t c = begin; c < end; c += column_block) {
      const std::size_t columns = std::min(column_block, end - c);
      for (std::size_t r = range.begin(); r != range.end(); ++r) {
        const auto rows = active.row(r);
        HWY_DYNAMIC_DISPATCH(SumRows)
        (matrix.data() + c, stride, bias.data() + c, rows.data(), rows.size(), columns,
         out.data() + r * stride + c);
      }
    }
  });
}

}  // namespace

RbmBatch::RbmBatch(const BinaryMachine& machine, const Ranks& ranks)
    : visible_(machine.visible),
      hidden_(machine.hidden),
      visible_stride_(padded(machine.visible)),
      hidden_stride_(padded(machine.hidden)),
      by_visible_(visible_ * hidden_stride_, 0.0F),
      by_hidden_(hidden_ * visible_stride_, 0.0F),
      visible_bias_(visible_stride_, 0.0F),
      hidden_bias_(hidden_stride_, 0.0F),
      ranks_(&ranks) {
  assert(machine.kind == MachineKind::rbm);
  set_parameters(machine);
}

RbmBatch::Columns RbmBatch::columns_of(std::size_t units, std::uint32_t rank, const Ranks& ranks) {
  const std::size_t blocks = (units + column_block - 1) / column_block;
  const std::size_t begin = column_block * part_begin(blocks, rank, ranks.size()),
                    end = column_block * part_begin(blocks, rank + 1, ranks.size());
  return begin < end ? Columns{begin, std::min(units, end)} : Columns{0, 0};
}

void RbmBatch::draw(const AlignedVector<float>& fields, std::size_t stride, std::size_t units,
                    std::size_t rows, std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep,
                    Stream stream, ActiveUnits& out) const {
  out.resize(rows, units);
  const LaneRandom random(seed, stream);
  const Columns own = own_columns(units);
  parallel_for(IndexRange(0, rows, grain_of(rows)), [&](const IndexRange& range) {
    for (std::size_t r = range.begin(); r != range.end(); ++r)
      out.count[r] = static_cast<std::uint32_t>(HWY_DYNAMIC_DISPATCH(DrawUnits)(
          random, first_row + static_cast<std::uint32_t>(r), sweep, fields.data() + r * stride, own.begin,
          own.end, out.list.data() + r * units));
  });
  if (ranks_->size() == 1) return;
  // As bits, row by row; the units of a rank follow those of the ranks before it.
  const auto words_of = [](const Columns& columns) { return (columns.end - columns.begin + 63) / 64; };
  std::vector<std::uint64_t> bits(rows * words_of(own), 0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::uint32_t unit : out.row(r))
      bits[r * words_of(own) + (unit - own.begin) / 64] |= std::uint64_t{1} << (unit - own.begin) % 64;
  const std::vector<std::string> parts =
      all_gather(*ranks_, {reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(std::uint64_t)});
  std::ranges::fill(out.count, 0);
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    const Columns columns = columns_of(units, rank, *ranks_);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t k = 0; k < words_of(columns); ++k) {
        std::uint64_t word = 0;
        std::memcpy(&word, parts[rank].data() + (r * words_of(columns) + k) * sizeof(word), sizeof(word));
        for (; word != 0; word &= word - 1)
          out.list[r * units + out.count[r]++] = static_cast<std::uint32_t>(
              columns.begin + 64 * k + static_cast<std::size_t>(__builtin_ctzll(word)));
      }
  }
}

void RbmBatch::share_hidden(std::span<float> numbers) const {
  if (ranks_->size() == 1) return;
  const Columns own = own_columns(hidden_);
  const std::vector<std::string> parts = all_gather(
      *ranks_,
      {reinterpret_cast<const char*>(numbers.data() + own.begin), (own.end - own.begin) * sizeof(float)});
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank)
    if (!parts[rank].empty())
      std::memcpy(numbers.data() + columns_of(hidden_, rank, *ranks_).begin, parts[rank].data(),
                  parts[rank].size());
}

void RbmBatch::share(Statistics& sums) const {
  if (ranks_->size() == 1) return;
  const Columns own = own_columns(hidden_);
  std::vector<float> mine;
  for (std::size_t i = 0; i < visible_; ++i)
    mine.insert(mine.end(), sums.weights.begin() + static_cast<std::ptrdiff_t>(i * hidden_ + own.begin),
                sums.weights.begin() + static_cast<std::ptrdiff_t>(i * hidden_ + own.end));
  mine.insert(mine.end(), sums.biases.begin() + static_cast<std::ptrdiff_t>(visible_ + own.begin),
              sums.biases.begin() + static_cast<std::ptrdiff_t>(visible_ + own.end));
  const std::vector<std::string> parts =
      all_gather(*ranks_, {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(float)});
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    const Columns columns = columns_of(hidden_, rank, *ranks_);
    const std::size_t bytes = (columns.end - columns.begin) * sizeof(float);
    if (bytes == 0) continue;
    for (std::size_t i = 0; i <= visible_; ++i)
      std::memcpy(i < visible_ ? sums.weights.data() + i * hidden_ + columns.begin
                               : sums.biases.data() + visible_ + columns.begin,
                  parts[rank].data() + i * bytes, bytes);
  }
}

void RbmBatch::set_parameters(const BinaryMachine& machine) {
  const float* weights = machine.weights.data();
  constexpr std::size_t tile = 16;  // a cache line of either matrix
  parallel_for(IndexRange(0, (visible_ + tile - 1) / tile), [&](const IndexRange& range) {
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
  const Columns own = own_columns(hidden_);
  sum_rows(by_visible_, hidden_stride_, hidden_bias_, v, own.begin, padded(own.end), probabilities);
  to_probabilities(v.rows(), probabilities);
}

void RbmBatch::hidden_probabilities(const ActiveUnits& v, AlignedVector<float>& probabilities,
                                    std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep,
                                    ActiveUnits& h) const {
  const Columns own = own_columns(hidden_);
  sum_rows(by_visible_, hidden_stride_, hidden_bias_, v, own.begin, padded(own.end), probabilities);
  draw(probabilities, hidden_stride_, hidden_, v.rows(), seed, first_row, sweep, Stream::hidden_units, h);
  to_probabilities(v.rows(), probabilities);
}

void RbmBatch::to_probabilities(std::size_t rows, AlignedVector<float>& fields) const {
  const Columns own = own_columns(hidden_);
  parallel_for(IndexRange(0, rows, grain_of(rows)), [&](const IndexRange& range) {
    for (std::size_t r = range.begin(); r != range.end(); ++r) HWY_DYNAMIC_DISPATCH(Probabilities)
    (fields.data() + r * hidden_stride_ + own.begin, padded(own.end) - own.begin);
  });
}

void RbmBatch::draw_hidden(const ActiveUnits& v, std::uint64_t seed, std::uint32_t first_row,
                           std::uint64_t sweep, ActiveUnits& h) const {
  const Columns own = own_columns(hidden_);
  AlignedVector<float> fields;
  sum_rows(by_visible_, hidden_stride_, hidden_bias_, v, own.begin, padded(own.end), fields);
  draw(fields, hidden_stride_, hidden_, v.rows(), seed, first_row, sweep, Stream::hidden_units, h);
}

void RbmBatch::draw_visible(const ActiveUnits& h, std::uint64_t seed, std::uint32_t first_row,
                            std::uint64_t sweep, ActiveUnits& v) const {
  const Columns own = own_columns(visible_);
  AlignedVector<float> fields;
  sum_rows(by_hidden_, visible_stride_, visible_bias_, h, own.begin, padded(own.end), fields);
  draw(fields, visible_stride_, visible_, h.rows(), seed, first_row, sweep, Stream::sweep, v);
}

void RbmBatch::add(const ActiveUnits& v, const AlignedVector<float>& probabilities, float scale,
                   Statistics& sums) const {
  const bool fresh = sums.weights.empty();
  sums.weights.resize(visible_ * hidden_);
  sums.biases.resize(visible_ + hidden_);
  // For every visible unit the rows in which it is on; the last list has all rows, for the hidden biases. A
  // weight's sum is then one pass over rows of probabilities, kept in registers.
  std::vector<std::uint32_t> begin(visible_ + 1, 0);
  for (std::size_t r = 0; r < v.rows(); ++r)
    for (std::uint32_t i : v.row(r)) ++begin[i + 1];
  for (std::size_t i = 0; i < visible_; ++i) {
    sums.biases[i] += scale * static_cast<float>(begin[i + 1]);
    begin[i + 1] += begin[i];
  }
  std::vector<std::uint32_t> rows(begin.back() + v.rows());
  std::vector<std::uint32_t> next(begin.begin(), begin.end());
  for (std::size_t r = 0; r < v.rows(); ++r) {
    for (std::uint32_t i : v.row(r)) rows[next[i]++] = static_cast<std::uint32_t>(r);
    rows[begin.back() + r] = static_cast<std::uint32_t>(r);
  }
  // A block of columns of the probabilities stays in the first-level cache while all units pass.
  const Columns own = own_columns(hidden_);
  const auto add_block = [&](std::size_t c) {
    const std::size_t columns = std::min(column_block, own.end - c);
    const auto add_list = [&](std::size_t first, std::size_t count, float* out) {
      HWY_DYNAMIC_DISPATCH(AddRowSums)
      (probabilities.data() + c, hidden_stride_, rows.data() + first, count, columns, scale, fresh, out + c);
    };
    for (std::size_t i = 0; i < visible_; ++i)
      add_list(begin[i], begin[i + 1] - begin[i], sums.weights.data() + i * hidden_);
    add_list(begin.back(), v.rows(), sums.biases.data() + visible_);
  };
  parallel_for(own.begin / column_block, (own.end + column_block - 1) / column_block,
               [&](std::size_t task) { add_block(task * column_block); });
}

void select_rows(std::span<const Value> values, std::size_t variables, std::span<const std::uint32_t> chosen,
                 ActiveUnits& out) {
  out.resize(chosen.size(), variables);
  parallel_for(std::size_t{0}, chosen.size(), [&](std::size_t r) {
    const Value* row = values.data() + std::size_t{chosen[r]} * variables;
    std::uint32_t count = 0;
    for (std::size_t v = 0; v < variables; ++v) {
      out.list[r * variables + count] = static_cast<std::uint32_t>(v);
      count += row[v] != 0;
    }
    out.count[r] = count;
  });
}

}  // namespace drover
#endif
