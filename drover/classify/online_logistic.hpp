// Logistic regression learned from a stream, one row at a time: stochastic gradient steps with a rate per
// weight (AdaGrad: Duchi, Hazan, Singer: Adaptive subgradient methods, 2011), the weights averaged (Polyak,
// Juditsky: Acceleration of stochastic approximation by averaging, 1992).
//
//   g = grad log P(label | x; w),   S += g^2,   w += rate * g / sqrt(S)
//   answer: the mean of w_t, counted t times
//
// A rate per weight lets an input that is rarely on learn as fast as the others, once it is on. No row is
// kept. Weighing late steps more lets the poor first ones fade as 1/t^2. On separable streams the weights
// grow slowly for ever, which does not harm the classes it predicts.
#pragma once

#include "drover/classify/linear_classifier.hpp"

namespace drover {

class OnlineLogistic {
 public:
  OnlineLogistic(std::span<const std::uint32_t> cardinalities, std::uint32_t classes, double rate = 0.5);

  void learn(std::span<const Value> x, Value label);
  std::uint64_t rows() const { return rows_; }
  /// What has been learned so far.
  const LinearClassifier& classifier() const { return mean_; }

 private:
  double rate_;
  std::uint64_t rows_ = 0;
  LinearClassifier current_, mean_;
  std::vector<double> bias_squares_, weight_squares_;  ///< S
  std::vector<double> scores_;
};

}  // namespace drover
