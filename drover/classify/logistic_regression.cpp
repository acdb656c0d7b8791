#include "drover/classify/logistic_regression.hpp"

namespace drover {

double logistic_objective(const LabelledRows& data, double l2, std::span<const double> parameters,
                          std::span<double> gradient) {
  const std::size_t classes = data.classes, inputs = data.cardinalities.size();
  std::vector<std::size_t> places{classes};  // of the weights of (v, 1)
  for (std::uint32_t cardinality : data.cardinalities)
    places.push_back(places.back() + (cardinality - 1) * classes);
  std::fill(gradient.begin(), gradient.end(), 0.0);
  std::vector<double> scores(classes);
  double value = 0;
  for (std::size_t r = 0; r < data.rows(); ++r) {
    const std::span<const Value> x = data.row(r);
    std::copy_n(parameters.begin(), classes, scores.begin());
    for (std::size_t v = 0; v < inputs; ++v)
      for (std::size_t k = 0; x[v] > 0 && k < classes; ++k)
        scores[k] += parameters[places[v] + (x[v] - 1U) * classes + k];
    value -= scores[data.labels[r]];
    value += normalise_scores(scores);
    --scores[data.labels[r]];  // now the derivatives
    if (classes == 2) scores[0] = 0;
    for (std::size_t k = 0; k < classes; ++k) gradient[k] += scores[k];
    for (std::size_t v = 0; v < inputs; ++v)
      for (std::size_t k = 0; x[v] > 0 && k < classes; ++k)
        gradient[places[v] + (x[v] - 1U) * classes + k] += scores[k];
  }
  for (std::size_t p = classes; p < parameters.size(); ++p) {
    value += l2 / 2 * parameters[p] * parameters[p];
    gradient[p] += l2 * parameters[p];
  }
  const double share = 1 / static_cast<double>(data.rows());
  for (double& one : gradient) one *= share;
  return value * share;
}

LogisticFit logistic_regression(const LabelledRows& data, const LogisticOptions& options,
                                const LbfgsStop& stop) {
  assert(data.rows() > 0);
  LogisticFit fit{LinearClassifier(data.cardinalities, data.classes), {}};
  std::vector<double> parameters(fit.classifier.biases.size() + fit.classifier.weights.size(), 0.0);
  fit.summary = minimise(
      parameters,
      [&](std::span<const double> x, std::span<double> gradient) {
        return logistic_objective(data, options.l2, x, gradient);
      },
      options.minimiser, stop);
  std::copy_n(parameters.begin(), data.classes, fit.classifier.biases.begin());
  std::copy(parameters.begin() + data.classes, parameters.end(), fit.classifier.weights.begin());
  return fit;
}

}  // namespace drover
