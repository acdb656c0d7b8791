// Naive Bayes: the inputs are independent given the class.
//
//   P(k) = (n_k + s) / (n + s K),   P(x_v = a | k) = (n_kva + s) / (n_k + s K_v)
//
// with counts n and smoothing s (1: Laplace's rule). Fails where inputs repeat each other: it counts the same
// evidence several times and is too sure.
#pragma once

#include "drover/classify/linear_classifier.hpp"

namespace drover {

LinearClassifier naive_bayes(const LabelledRows& data, double smoothing = 1);

}  // namespace drover
