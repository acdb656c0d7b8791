// Rows that are kept apart: a fair choice of different rows.
#include "drover/numeric/hold_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace drover {
namespace {

TEST(HoldOut, EveryRowIsOnOneSide) {
  for (const std::size_t apart : {0, 1, 7, 20}) {
    const HoldOut parts = hold_out(20, apart, 3);
    EXPECT_EQ(parts.apart.size(), apart);
    EXPECT_TRUE(std::ranges::is_sorted(parts.kept));
    std::set<std::uint32_t> all(parts.kept.begin(), parts.kept.end());
    all.insert(parts.apart.begin(), parts.apart.end());
    EXPECT_EQ(all.size(), 20U);
    EXPECT_EQ(*all.rbegin(), 19U);
  }
}

TEST(HoldOut, EveryRowIsAsProbableAtEveryPlace) {
  constexpr std::size_t rows = 6, apart = 3, seeds = 6000;
  std::vector<std::vector<double>> counts(apart, std::vector<double>(rows, 0));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const HoldOut parts = hold_out(rows, apart, seed);
    for (std::size_t k = 0; k < apart; ++k) ++counts[k][parts.apart[k]];
  }
  // A count is binomial; 18 of them within 5 deviations each.
  const double p = 1.0 / rows, expected = seeds * p, deviation = std::sqrt(expected * (1 - p));
  for (const auto& place : counts)
    for (const double count : place) EXPECT_NEAR(count, expected, 5 * deviation);
}

}  // namespace
}  // namespace drover
