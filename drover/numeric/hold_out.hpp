// Some rows are kept apart, to test what is learnt from the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

struct HoldOut {
  std::vector<std::uint32_t> kept;   ///< ascending
  std::vector<std::uint32_t> apart;  ///< in the order they were drawn in, so any first part is a fair choice
};

/// `apart` of `rows` numbers, each choice as probable as any other; the same for the same seed.
HoldOut hold_out(std::size_t rows, std::size_t apart, std::uint64_t seed);

/// These rows of a table (row, column).
std::vector<Value> rows_of(std::span<const Value> table, std::size_t columns,
                           std::span<const std::uint32_t> rows);

}  // namespace drover
