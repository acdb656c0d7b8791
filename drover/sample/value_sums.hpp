// The mean of a number that the states stand for, instead of the probability of every state.
//
//   sums[v] += sum_k p(x_v = k | rest) values[k]
//
// An image of 512 x 512 pixels in 256 grey levels has 67 million probabilities, and a restored image needs
// none of them, only the mean level of every pixel. A kernel that can add these up itself has a third form of
// sweep().
#pragma once

#include <span>

#include "drover/sample/kernel.hpp"

namespace drover {

/// One float per variable and lane, lane fastest; every variable has values.size() states.
struct ValueSums {
  std::span<float> sums;
  std::span<const float> values;
};

template <class K>
concept SumsValues = Kernel<K> && requires(const K kernel, typename K::State state, ValueSums sums) {
  kernel.sweep(state, std::uint64_t{0}, sums);
};

}  // namespace drover
