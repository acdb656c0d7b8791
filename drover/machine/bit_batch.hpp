// A batch of binary states, one bit each, variable by variable: the form in which statistics of pairs are
// two AND and a population count away, and in which the lane kernels keep their chains.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

struct BitBatch {
  std::size_t variables = 0;
  std::size_t rows = 0;
  std::size_t stride = 0;            ///< words per variable
  std::vector<std::uint64_t> words;  ///< bit r % 64 of words[v * stride + r / 64]; bits beyond rows are zero

  BitBatch() = default;
  BitBatch(std::size_t variable_count, std::size_t row_count)
      : variables(variable_count),
        rows(row_count),
        stride((row_count + 63) / 64),
        words(variable_count * stride, 0) {}

  bool get(std::size_t row, std::size_t variable) const {
    return words[variable * stride + row / 64] >> (row % 64) & 1;
  }
  void set(std::size_t row, std::size_t variable, bool x) {
    std::uint64_t& word = words[variable * stride + row / 64];
    const std::uint64_t bit = std::uint64_t{1} << (row % 64);
    word = x ? word | bit : word & ~bit;
  }
  std::span<const std::uint64_t> column(std::size_t variable) const {
    return {words.data() + variable * stride, stride};
  }
  /// The bits of the last word of a column that belong to rows.
  std::uint64_t last_mask() const {
    return rows % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (rows % 64)) - 1;
  }
};

inline std::size_t count_ones(std::span<const std::uint64_t> column) {
  std::size_t ones = 0;
  for (std::uint64_t word : column) ones += static_cast<std::size_t>(std::popcount(word));
  return ones;
}

inline std::size_t count_both(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::size_t ones = 0;
  for (std::size_t k = 0; k < a.size(); ++k) ones += static_cast<std::size_t>(std::popcount(a[k] & b[k]));
  return ones;
}

/// Rows `chosen` of a table (row, variable) of zeros and ones.
inline BitBatch bit_batch(std::span<const Value> values, std::size_t variables,
                          std::span<const std::uint32_t> chosen) {
  BitBatch batch(variables, chosen.size());
  for (std::size_t r = 0; r < chosen.size(); ++r) {
    const Value* row = values.data() + std::size_t{chosen[r]} * variables;
    for (std::size_t v = 0; v < variables; ++v) {
      assert(row[v] <= 1);
      batch.words[v * batch.stride + r / 64] |= static_cast<std::uint64_t>(row[v]) << (r % 64);
    }
  }
  return batch;
}

}  // namespace drover
