// The inverse of the standard normal distribution function.
//
// Start: Abramowitz and Stegun 26.2.23 (error below 4.5e-4); then two steps of Halley's method on
// erfc(-z / sqrt 2) / 2 - p, which is cubic, so the result is exact to a few units in the last place.
#pragma once

namespace drover {

/// z with P(Z <= z) = p; minus or plus infinity at 0 and 1, NaN outside.
double normal_quantile(double p);

}  // namespace drover
