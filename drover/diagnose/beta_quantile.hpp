// The beta distribution function and its inverse, for the error of a quantile.
//
// The regularised incomplete beta function by its continued fraction (DLMF 8.17.22), evaluated with Lentz's
// method on the side where it converges fast; the inverse by bisection (the function is monotone, so this
// cannot fail) down to neighbouring doubles. Meant for shapes of at least 1 up to about 1e8.
#pragma once

namespace drover {

/// P(X <= x) for X ~ Beta(a, b).
double beta_distribution(double x, double a, double b);

/// x with P(X <= x) = p.
double beta_quantile(double p, double a, double b);

}  // namespace drover
