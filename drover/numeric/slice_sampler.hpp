// One step of slice sampling for a number on the real line.
//
// Neal: Slice sampling; Annals of Statistics 31, 2003: stepping out (figure 3), then shrinkage (figure 5).
// Leaves any density f invariant; needs log f up to a constant. A width far from the scale of f costs
// evaluations, not correctness.
#pragma once

#include <cmath>

namespace drover {

/// `uniform()` gives numbers in [0, 1).
template <class LogDensity, class Uniform>
double slice_step(double x, double width, LogDensity log_density, Uniform uniform) {
  constexpr int max_steps = 32;
  const double level = log_density(x) + std::log1p(-uniform());
  double left = x - width * uniform();
  double right = left + width;
  int steps_left = static_cast<int>(max_steps * uniform());
  int steps_right = max_steps - 1 - steps_left;
  while (steps_left-- > 0 && log_density(left) > level) left -= width;
  while (steps_right-- > 0 && log_density(right) > level) right += width;
  for (;;) {
    const double proposal = left + uniform() * (right - left);
    if (log_density(proposal) > level || proposal == x) return proposal;
    (proposal < x ? left : right) = proposal;
  }
}

}  // namespace drover
