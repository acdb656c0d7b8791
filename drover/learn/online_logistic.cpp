#include "drover/learn/online_logistic.hpp"

namespace drover {

namespace {

void move_towards(std::vector<double>& mean, const std::vector<double>& current, double share) {
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * (current[i] - mean[i]);
}

}  // namespace

OnlineLogistic::OnlineLogistic(std::span<const std::uint32_t> cardinalities, std::uint32_t classes,
                               double rate)
    : rate_(rate), current_(cardinalities, classes), mean_(cardinalities, classes), scores_(classes) {}

void OnlineLogistic::learn(std::span<const Value> x, Value label) {
  const std::size_t classes = scores_.size();
  const double t = static_cast<double>(++rows_), step = rate_ / std::sqrt(t);
  current_.scores(x, scores_);
  normalise_scores(scores_);
  --scores_[label];
  if (classes == 2) scores_[0] = 0;  // the reference
  for (std::size_t k = 0; k < classes; ++k) current_.biases[k] -= step * scores_[k];
  for (std::size_t v = 0; v < x.size(); ++v) {
    if (x[v] == 0) continue;
    double* weights = &current_.weights[current_.place(v, x[v])];
    for (std::size_t k = 0; k < classes; ++k) weights[k] -= step * scores_[k];
  }
  const double share = 2 / (t + 1);  // t / (1 + 2 + ... + t)
  move_towards(mean_.biases, current_.biases, share);
  move_towards(mean_.weights, current_.weights, share);
}

}  // namespace drover
