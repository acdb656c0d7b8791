// Sums of exponentials that neither overflow nor lose hard zeros.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "drover/core/types.hpp"

namespace drover {

/// log(exp(a) + exp(b)); either may be minus infinity.
inline double log_add(double a, double b) {
  const double high = std::max(a, b);
  if (high == log_zero) return log_zero;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

/// log(1 - exp(a)) for a <= 0; minus infinity at 0.
inline double log_one_minus_exp(double a) {
  return a > -0.6931471805599453 ? std::log(-std::expm1(a)) : std::log1p(-std::exp(a));
}

/// log of the sum of exponentials; minus infinity for an empty span or all zeros.
inline double log_sum_exp(std::span<const double> values) {
  double high = log_zero;
  for (double value : values) high = std::max(high, value);
  if (high == log_zero) return log_zero;
  double sum = 0;
  for (double value : values) sum += std::exp(value - high);
  return high + std::log(sum);
}

/// Turns log weights into probabilities in place and returns their log sum.
inline double normalise_logs(std::span<double> values) {
  const double total = log_sum_exp(values);
  for (double& value : values) value = std::exp(value - total);
  return total;
}

}  // namespace drover
