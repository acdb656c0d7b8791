#include "drover/machine/update_rule.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"

namespace drover {

namespace {

/// Every parameter is changed for itself, so that pieces may go to any thread.
template <class Change>
void for_each_parameter(std::size_t count, Change change) {
  constexpr std::size_t grain = 32768;
  parallel_for(IndexRange(0, count, grain), [&](const IndexRange& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) change(i);
  });
}

}  // namespace

UpdateRule::UpdateRule(const UpdateOptions& options, std::size_t size) : options_(options) {
  if (options.rule != StepRule::sgd) velocity_.assign(size, 0.0F);
  if (options.rule == StepRule::adam) square_.assign(size, 0.0F);
}

void UpdateRule::step(std::span<float> parameters, std::span<const float> gradient, bool penalised,
                      double share) {
  assert(parameters.size() == gradient.size());
  const double rate = share * options_.rate / (1 + options_.decay * static_cast<double>(steps_));
  ++steps_;
  const float l2 = penalised ? static_cast<float>(options_.l2) : 0.0F;
  const auto plain_rate = static_cast<float>(rate);
  if (options_.rule == StepRule::sgd) {
    for_each_parameter(parameters.size(), [=, p = parameters.data(), g = gradient.data()](std::size_t i) {
      p[i] += plain_rate * (g[i] - l2 * p[i]);
    });
  } else if (options_.rule == StepRule::momentum) {
    const auto keep = static_cast<float>(options_.momentum);
    for_each_parameter(parameters.size(), [&](std::size_t i) {
      velocity_[i] = keep * velocity_[i] + gradient[i] - l2 * parameters[i];
      parameters[i] += plain_rate * velocity_[i];
    });
  } else {
    const auto keep = static_cast<float>(options_.momentum),
               keep_square = static_cast<float>(options_.second);
    // Both moments start at zero; dividing by these makes up for it.
    const double t = static_cast<double>(steps_);
    const double first_bias = 1 - std::pow(options_.momentum, t),
                 second_bias = 1 - std::pow(options_.second, t);
    const auto scale = static_cast<float>(rate / first_bias);
    const auto square_scale = static_cast<float>(1 / second_bias);
    for_each_parameter(parameters.size(), [&](std::size_t i) {
      const float g = gradient[i] - l2 * parameters[i];
      velocity_[i] = keep * velocity_[i] + (1 - keep) * g;
      square_[i] = keep_square * square_[i] + (1 - keep_square) * g * g;
      parameters[i] += scale * velocity_[i] / (std::sqrt(square_[i] * square_scale) + 1e-8F);
    });
  }
  if (penalised && options_.l1 > 0) {
    const auto shrink = static_cast<float>(rate * options_.l1);
    for (float& p : parameters) p = std::copysign(std::max(0.0F, std::abs(p) - shrink), p);
  }
}

}  // namespace drover
