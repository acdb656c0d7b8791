// Rows of discrete inputs with a class each, and the classifier that logistic regression and naive Bayes
// share: the class with the largest
//
//   score_k(x) = bias_k + sum over inputs v of weight_k(v, x_v),   P(k | x) ~ exp(score_k(x)).
//
// Value 0 of every input is the reference: its weight is 0.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

struct LabelledRows {
  std::vector<std::uint32_t> cardinalities;  ///< of the inputs
  std::uint32_t classes = 2;
  std::vector<Value> inputs;  ///< (row, input)
  std::vector<Value> labels;

  std::size_t rows() const { return labels.size(); }
  std::span<const Value> row(std::size_t r) const {
    return std::span(inputs).subspan(r * cardinalities.size(), cardinalities.size());
  }
};

struct LinearClassifier {
  std::uint32_t classes = 2;
  std::vector<std::size_t> offsets;  ///< (v, a) with a > 0 has the weights number offsets[v] + a - 1
  std::vector<double> biases;        ///< one per class
  std::vector<double> weights;       ///< classes of each (v, a)

  LinearClassifier(std::span<const std::uint32_t> cardinalities, std::uint32_t class_count)
      : classes(class_count), offsets{0}, biases(class_count, 0.0) {
    for (std::uint32_t cardinality : cardinalities) offsets.push_back(offsets.back() + cardinality - 1);
    weights.assign(offsets.back() * classes, 0.0);
  }

  std::size_t inputs() const { return offsets.size() - 1; }
  /// The first of the weights of (v, a); a > 0.
  std::size_t place(std::size_t v, Value a) const { return (offsets[v] + a - 1) * classes; }

  void scores(std::span<const Value> x, std::span<double> out) const {
    assert(x.size() == inputs() && out.size() == classes);
    std::copy(biases.begin(), biases.end(), out.begin());
    for (std::size_t v = 0; v < x.size(); ++v) {
      if (x[v] == 0) continue;
      const double* term = &weights[place(v, x[v])];
      for (std::size_t k = 0; k < classes; ++k) out[k] += term[k];
    }
  }

  /// Of equal classes the first.
  Value predict(std::span<const Value> x) const {
    std::vector<double> all(classes);
    scores(x, all);
    return static_cast<Value>(std::max_element(all.begin(), all.end()) - all.begin());
  }
};

/// Turns scores into probabilities in place and returns log sum exp of the scores.
inline double normalise_scores(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  for (double& score : scores) score /= sum;
  return largest + std::log(sum);
}

/// The share of rows whose class is predicted wrongly.
template <class Classifier>
double error_rate(const Classifier& classifier, const LabelledRows& data) {
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < data.rows(); ++r) wrong += classifier.predict(data.row(r)) != data.labels[r];
  return static_cast<double>(wrong) / static_cast<double>(data.rows());
}

}  // namespace drover
