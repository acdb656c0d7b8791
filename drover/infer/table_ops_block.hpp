// What contract() hands to the vectorised loops: one block of consecutive target entries and one setting of
// all other variables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drover/infer/table_ops.hpp"

namespace drover {

struct TableBlock {
  std::size_t length = 0;
  double base = 0;  ///< the sum of everything that is constant over the block
  std::size_t straight_count = 0;
  const double* const* straight = nullptr;  ///< operands whose entries run along with the target
  std::size_t indexed_count = 0;
  const double* const* indexed = nullptr;  ///< operands read at index[k][j]
  const std::int64_t* const* index = nullptr;
  double* high = nullptr;  ///< running maximum per entry
  double* sum = nullptr;   ///< running sum per entry
};

void accumulate_block(Reduce reduce, const TableBlock& block);
void finish_log_sum(const TableBlock& block, double* out);  ///< out = high + log(sum)
double maximum_of(const double* values, std::size_t count);
void subtract_from(double* values, double amount, std::size_t count);
void divide_block(double* values, const double* message, double constant, std::size_t count);

}  // namespace drover
