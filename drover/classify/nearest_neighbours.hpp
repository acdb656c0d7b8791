// k nearest neighbours by Hamming distance: the number of inputs that differ.
//
// Rows are kept as bit planes: word w of plane p has bit p of inputs 64 w .. 64 w + 63, so that a distance is
// a few XORs, ORs and population counts. Of rows at the same distance the earlier ones count as nearer; of
// classes with equal votes the lower one wins. Time is proportional to rows * inputs / 64 per question.
#pragma once

#include "drover/classify/linear_classifier.hpp"

namespace drover {

class NearestNeighbours {
 public:
  explicit NearestNeighbours(const LabelledRows& data, std::size_t neighbours = 5);
  Value predict(std::span<const Value> x) const;

 private:
  void pack(std::span<const Value> x, std::uint64_t* words) const;

  std::size_t neighbours_, planes_ = 1, words_;
  std::uint32_t classes_;
  std::vector<Value> labels_;
  std::vector<std::uint64_t> bits_;  ///< (row, word, plane)
};

}  // namespace drover
