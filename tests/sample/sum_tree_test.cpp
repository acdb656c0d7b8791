// Sums of eight against the binary tree they stand for, and against plain sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "drover/core/random.hpp"
#include "drover/sample/gibbs/sum_tree.hpp"

namespace drover {
namespace {

/// The same numbers with every level kept: sums[1] is the total, number i is sums[leaves + i].
struct BinaryTree {
  explicit BinaryTree(const std::vector<double>& numbers)
      : leaves(std::bit_ceil(std::max<std::size_t>(1, numbers.size()))), sums(2 * leaves, 0.0) {
    std::copy(numbers.begin(), numbers.end(), sums.begin() + static_cast<std::ptrdiff_t>(leaves));
    for (std::size_t k = leaves; k-- > 1;) sums[k] = sums[2 * k] + sums[2 * k + 1];
  }
  std::size_t find(double target) const {
    std::size_t k = 1;
    while (k < leaves) {
      k *= 2;
      if (target >= sums[k] && sums[k + 1] > 0) target -= sums[k++];
    }
    return k - leaves;
  }

  std::size_t leaves;
  std::vector<double> sums;
};

TEST(SumTree, IsTheBinaryTreeBitForBit) {
  RandomSequence random(1, Stream::generate);
  for (const std::size_t size : {1U, 2U, 7U, 8U, 9U, 64U, 65U, 500U, 513U, 5000U}) {
    std::vector<double> numbers(size);
    SumTree tree(size);
    for (std::size_t i = 0; i < size; ++i) tree.put(i, numbers[i] = std::exp(4 * random.uniform() - 2));
    tree.rebuild();
    std::vector<std::uint32_t> changed;
    for (int step = 0; step < 50; ++step) {
      for (int k = 0; k < 5; ++k) {
        const auto i = static_cast<std::uint32_t>(random.uniform() * static_cast<double>(size));
        tree.put(i, numbers[i] = step % 7 == 0 ? 0 : std::exp(4 * random.uniform() - 2));
        changed.push_back(i);
      }
      tree.update(changed);
      changed.clear();
      const BinaryTree plain(numbers);
      ASSERT_EQ(tree.total(), plain.sums[1]) << size;
      for (int k = 0; k < 20 && tree.total() > 0; ++k) {
        const double target = random.uniform() * tree.total();
        ASSERT_EQ(tree.find(target), plain.find(target)) << size;
      }
    }
  }
}

// Of sixteenths every sum is exact, so that the number a target falls on is known without doubt.
TEST(SumTree, FindsTheNumberThatATargetFallsOn) {
  constexpr std::size_t size = 700;
  SumTree tree(size);
  std::vector<double> ends(size);
  double end = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double number = static_cast<double>(i * 37 % 5) / 16;
    tree.put(i, number);
    ends[i] = end += number;
  }
  tree.rebuild();
  ASSERT_EQ(tree.total(), end);
  for (double target = 0; target < end; target += 1.0 / 32) {
    const std::size_t found = tree.find(target);
    EXPECT_LT(target, ends[found]);
    EXPECT_TRUE(found == 0 || target >= ends[found - 1]) << target;
  }
}

}  // namespace
}  // namespace drover
