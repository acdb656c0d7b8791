#include "drover/classify/naive_bayes.hpp"

#include <cmath>

namespace drover {

LinearClassifier naive_bayes(const LabelledRows& data, double smoothing) {
  LinearClassifier classifier(data.cardinalities, data.classes);
  std::vector<double> class_counts(data.classes, 0.0);
  for (std::size_t r = 0; r < data.rows(); ++r) {
    const std::span<const Value> x = data.row(r);
    const Value k = data.labels[r];
    ++class_counts[k];
    for (std::size_t v = 0; v < x.size(); ++v)
      if (x[v] > 0) ++classifier.weights[classifier.place(v, x[v]) + k];
  }
  // From counts to log ratios with value 0, whose own logarithms go into the biases.
  const double rows = static_cast<double>(data.rows());
  for (std::size_t k = 0; k < data.classes; ++k) {
    classifier.biases[k] = std::log((class_counts[k] + smoothing) / (rows + smoothing * data.classes));
    for (std::size_t v = 0; v < data.cardinalities.size(); ++v) {
      double zeros = class_counts[k];
      for (std::uint32_t a = 1; a < data.cardinalities[v]; ++a)
        zeros -= classifier.weights[classifier.place(v, static_cast<Value>(a)) + k];
      const double log_zero_count = std::log(zeros + smoothing);
      classifier.biases[k] += log_zero_count - std::log(class_counts[k] + smoothing * data.cardinalities[v]);
      for (std::uint32_t a = 1; a < data.cardinalities[v]; ++a) {
        double& weight = classifier.weights[classifier.place(v, static_cast<Value>(a)) + k];
        weight = std::log(weight + smoothing) - log_zero_count;
      }
    }
  }
  return classifier;
}

}  // namespace drover
