// Logistic regression on discrete inputs: minimises, by L-BFGS,
//
//   ( - sum over rows of log P(label | x)  +  l2 / 2 * sum of squared weights ) / rows,
//
// biases free. With two classes, class 0 is the reference (all its weights 0); with more, every class has its
// own weights and the penalty makes them unique. With l2 = 0 and separable data there is no minimum: the
// weights grow until the iterations are used up, and the summary says so.
#pragma once

#include "drover/classify/linear_classifier.hpp"
#include "drover/numeric/lbfgs.hpp"

namespace drover {

struct LogisticOptions {
  double l2 = 1;
  LbfgsOptions minimiser{};
};

struct LogisticFit {
  LinearClassifier classifier;
  LbfgsSummary summary;
};

LogisticFit logistic_regression(
    const LabelledRows& data, const LogisticOptions& options = {},
    const LbfgsStop& stop = [](std::size_t, double) { return false; });

/// The objective at these parameters: the biases, then the weights in the classifier's order.
double logistic_objective(const LabelledRows& data, double l2, std::span<const double> parameters,
                          std::span<double> gradient);

}  // namespace drover
