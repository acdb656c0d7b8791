#include "drover/classify/online_logistic.hpp"

namespace drover {

namespace {

void move_towards(std::vector<double>& mean, const std::vector<double>& current, double share) {
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * (current[i] - mean[i]);
}

void step(double& weight, double& squares, double rate, double derivative) {
  if (derivative == 0) return;
  squares += derivative * derivative;
  weight -= rate * derivative / std::sqrt(squares);
}

}  // namespace

OnlineLogistic::OnlineLogistic(std::span<const std::uint32_t> cardinalities, std::uint32_t classes,
                               double rate)
    : rate_(rate),
      current_(cardinalities, classes),
      mean_(cardinalities, classes),
      bias_squares_(current_.biases.size(), 0.0),
      weight_squares_(current_.weights.size(), 0.0),
      scores_(classes) {}

void OnlineLogistic::learn(std::span<const Value> x, Value label) {
  const std::size_t classes = scores_.size();
  current_.scores(x, scores_);
  normalise_scores(scores_);
  --scores_[label];
  if (classes == 2) scores_[0] = 0;  // the reference
  for (std::size_t k = 0; k < classes; ++k) step(current_.biases[k], bias_squares_[k], rate_, scores_[k]);
  for (std::size_t v = 0; v < x.size(); ++v) {
    if (x[v] == 0) continue;
    const std::size_t place = current_.place(v, x[v]);
    for (std::size_t k = 0; k < classes; ++k)
      step(current_.weights[place + k], weight_squares_[place + k], rate_, scores_[k]);
  }
  const double share = 2 / (static_cast<double>(++rows_) + 1);  // t / (1 + 2 + ... + t)
  move_towards(mean_.biases, current_.biases, share);
  move_towards(mean_.weights, current_.weights, share);
}

}  // namespace drover
