#include "drover/diagnose/beta_quantile.hpp"

#include <cmath>
#include <initializer_list>

namespace drover {

namespace {

/// The continued fraction 1 / (1 + d1 / (1 + d2 / (1 + ...))).
double continued_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < tiny) d = tiny;
  d = 1 / d;
  double fraction = d;
  for (int m = 1; m <= 100000; ++m) {
    for (const bool odd : {false, true}) {
      const double coefficient = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                                     : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 + coefficient * d;
      c = 1 + coefficient / c;
      if (std::abs(d) < tiny) d = tiny;
      if (std::abs(c) < tiny) c = tiny;
      d = 1 / d;
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-16) break;
  }
  return fraction;
}

double log_gamma(double x) {
  int sign = 0;  // lgamma() writes a global, lgamma_r() does not
  return lgamma_r(x, &sign);
}

}  // namespace

double beta_distribution(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_front =
      log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * continued_fraction(x, a, b) / a;
  return 1 - std::exp(log_front) * continued_fraction(1 - x, b, a) / b;
}

double beta_quantile(double p, double a, double b) {
  double low = 0, high = 1;
  while (true) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    (beta_distribution(middle, a, b) < p ? low : high) = middle;
  }
}

}  // namespace drover
