// Logistic regression learned from a stream, one row at a time: stochastic gradient steps whose weights are
// averaged (Polyak, Juditsky: Acceleration of stochastic approximation by averaging, 1992).
//
//   w_t = w_{t-1} + rate / sqrt(t) * grad log P(label | x; w_{t-1}),   answer: mean of w_t, w_t counted t
//   times
//
// No row is kept and nothing is tuned on the way. Weighing late steps more lets the poor first ones fade as
// 1/t^2. On separable streams the weights grow slowly for ever, which does not harm the classes it
// predicts.
#pragma once

#include "drover/learn/linear_classifier.hpp"

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
  std::vector<double> scores_;
};

}  // namespace drover
