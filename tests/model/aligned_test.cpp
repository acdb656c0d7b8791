#include "drover/core/aligned.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace drover {
namespace {

TEST(AlignedVector, BeginsAtALineWhateverItsSize) {
  std::vector<AlignedVector<std::uint8_t>> kept;
  for (std::size_t size = 1; size < 3000; size += 1 + size / 5) {
    kept.emplace_back(size, std::uint8_t{7});
    AlignedVector<std::uint8_t>& last = kept.back();
    last.push_back(9);  // moves most of them
    const UnfilledVector<double> unfilled(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(last.data()) % 64, 0U) << size;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(unfilled.data()) % 64, 0U) << size;
    EXPECT_EQ(std::accumulate(last.begin(), last.end(), std::size_t{0}), 7 * size + 9);
  }
}

TEST(UnfilledVector, KeepsWhatItHeldAndFillsWhereItIsAsked) {
  UnfilledVector<float> numbers(3, 2.0F);
  numbers.resize(1000);
  for (std::size_t i = 3; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  numbers.resize(2000, 5.0F);
  const UnfilledVector<float> copy = numbers;
  EXPECT_EQ(copy[2], 2.0F);
  EXPECT_EQ(copy[999], 999.0F);
  EXPECT_EQ(copy[1999], 5.0F);
  EXPECT_EQ(copy.size(), 2000U);
}

}  // namespace
}  // namespace drover
