#include "drover/numeric/matching.hpp"

#include <cassert>
#include <limits>

namespace drover {

std::vector<std::uint32_t> best_matching(std::uint32_t n, std::span<const double> weights) {
  assert(weights.size() == std::size_t{n} * n);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto cost = [&](std::uint32_t row, std::uint32_t column) {
    return -weights[std::size_t{row} * n + column];
  };
  // Column n stands for the row that is being added.
  std::vector<double> row_potential(n, 0.0), column_potential(n + 1, 0.0);
  std::vector<std::uint32_t> row_of(n + 1, n);
  for (std::uint32_t added = 0; added < n; ++added) {
    std::vector<double> distance(n, infinite);
    std::vector<std::uint32_t> previous(n, n);
    std::vector<bool> done(n + 1, false);
    std::uint32_t column = n;
    row_of[n] = added;
    do {
      done[column] = true;
      const std::uint32_t row = row_of[column];
      std::uint32_t next = n;
      double step = infinite;
      for (std::uint32_t j = 0; j < n; ++j) {
        if (done[j]) continue;
        const double slack = cost(row, j) - row_potential[row] - column_potential[j];
        if (slack < distance[j]) {
          distance[j] = slack;
          previous[j] = column;
        }
        if (distance[j] < step) {
          step = distance[j];
          next = j;
        }
      }
      for (std::uint32_t j = 0; j <= n; ++j) {
        if (done[j]) {
          row_potential[row_of[j]] += step;
          column_potential[j] -= step;
        } else if (j < n) {
          distance[j] -= step;
        }
      }
      column = next;
    } while (row_of[column] != n);
    while (column != n) {
      row_of[column] = row_of[previous[column]];
      column = previous[column];
    }
  }
  std::vector<std::uint32_t> column_of(n);
  for (std::uint32_t j = 0; j < n; ++j) column_of[row_of[j]] = j;
  return column_of;
}

}  // namespace drover
