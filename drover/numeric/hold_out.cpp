#include "drover/numeric/hold_out.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "drover/core/random.hpp"

namespace drover {

HoldOut hold_out(std::size_t rows, std::size_t apart, std::uint64_t seed) {
  assert(apart <= rows);
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  RandomSequence random(seed, Stream::resample);
  for (std::size_t i = 0; i < apart; ++i)
    std::swap(order[i], order[i + random.below(static_cast<std::uint32_t>(rows - i))]);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(apart);
  std::sort(middle, order.end());
  return {{middle, order.end()}, {order.begin(), middle}};
}

std::vector<Value> rows_of(std::span<const Value> table, std::size_t columns,
                           std::span<const std::uint32_t> rows) {
  std::vector<Value> values;
  values.reserve(rows.size() * columns);
  for (std::uint32_t row : rows) {
    const auto cells = table.subspan(row * columns, columns);
    values.insert(values.end(), cells.begin(), cells.end());
  }
  return values;
}

}  // namespace drover
