#include "drover/core/distributions.hpp"

#include <gtest/gtest.h>

namespace drover {
namespace {

// All alike, of different sizes, and made row by row: the same rows, and the same offsets.
TEST(Distributions, RowsStandBehindEachOtherHoweverTheyWereMade) {
  using Cardinalities = std::vector<std::uint32_t>;
  for (const Cardinalities& cardinalities : {Cardinalities{}, Cardinalities{3}, Cardinalities{2, 2, 2},
                                             Cardinalities{2, 3, 2}, Cardinalities{4, 4, 5}}) {
    Distributions rows, pushed;
    rows.assign(cardinalities, 0.5);
    ASSERT_EQ(rows.size(), cardinalities.size());
    std::vector<std::size_t> offsets{0};
    for (std::size_t v = 0; v < rows.size(); ++v) {
      ASSERT_EQ(rows[v].size(), cardinalities[v]);
      for (std::size_t k = 0; k < rows[v].size(); ++k) {
        EXPECT_EQ(rows[v][k], 0.5);
        rows[v][k] = static_cast<double>(10 * v + k);
      }
      offsets.push_back(offsets.back() + cardinalities[v]);
      pushed.push_back(rows[v]);
    }
    EXPECT_EQ(rows.offsets(), offsets);
    EXPECT_EQ(pushed.offsets(), offsets);
    EXPECT_EQ(rows.values(), pushed.values());
    rows.push_back({0.25, 0.75});  // behind rows that may all have been alike
    offsets.push_back(offsets.back() + 2);
    EXPECT_EQ(rows.size(), cardinalities.size() + 1);
    EXPECT_EQ(rows.offsets(), offsets);
    EXPECT_EQ(rows[cardinalities.size()][1], 0.75);
    for (std::size_t v = 0; v < cardinalities.size(); ++v)
      EXPECT_EQ(rows[v].back(), static_cast<double>(10 * v + cardinalities[v] - 1));
  }
}

}  // namespace
}  // namespace drover
