#include "drover/diagnose/normal_quantile.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace drover {

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p == 0) return -std::numeric_limits<double>::infinity();
  if (p == 0.5) return 0;
  const double t = std::sqrt(-2 * std::log(p));
  double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int step = 0; step < 2; ++step) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double newton = (std::erfc(-z / std::numbers::sqrt2) / 2 - p) / density;
    z -= newton / (1 + z * newton / 2);
  }
  return z;
}

}  // namespace drover
