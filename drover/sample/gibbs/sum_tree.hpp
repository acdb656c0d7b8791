// Sums of many numbers of which a few change at a time, and draws in proportion to them.
//
// A binary tree of partial sums, of which every third level is kept: a node is the sum of eight, taken in pairs and
// pairs of pairs, as the levels between would have it. Eight numbers are a cache line, and a million of them have
// seven levels instead of twenty, so that a change costs a third of the memory it would otherwise wait for; the sums
// are the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/core/aligned.hpp"

namespace drover {

class SumTree {
 public:
  SumTree() = default;
  /// Of so many zeros.
  explicit SumTree(std::size_t size);

  std::size_t size() const { return size_; }
  double total() const { return sums_.back(); }
  /// Changes a number. The sums do not know of it before update() or rebuild().
  void put(std::size_t index, double value) { sums_[index] = value; }
  /// Makes the sums above numbers that were put; neighbours in the list that are near in number share their way. It is
  /// used as scratch.
  void update(std::vector<std::uint32_t>& changed);
  /// Makes all sums anew.
  void rebuild();
  /// The number that `target` falls on when they are laid end to end; 0 <= target < total().
  std::size_t find(double target) const;

 private:
  static constexpr std::size_t fan = 8;

  std::size_t size_ = 0;
  std::vector<std::size_t> levels_;  ///< where each begins: the numbers, sums of eight, of 64, ..., the total
  AlignedVector<double> sums_{0.0};  ///< zeros fill every level up to a multiple of eight
};

}  // namespace drover
