// Monte Carlo standard errors: how far may an average over these draws be off?
//
//   mean      sd / sqrt(ess_mean), sd over all draws (divisor S - 1)
//   sd        sqrt((m4 - m2^2) / ess / (4 m2)), m_k the central moments over all draws and ess that of
//             (x - mean)^2: the variance of a variance (Kenney, Keeping: Mathematics of Statistics, part two,
//             1951) and one term of Taylor's series; no normality assumed
//   quantile  half the width between the order statistics at which Beta(ess p + 1, ess (1 - p) + 1) reaches
//             0.1586553 and 0.8413447 (plus or minus one standard deviation), ess = ess_quantile(p);
//             Vehtari et al. 2021, section 4.4
// NaN for what undiagnosable() names; mcse_sd also for x with one value of (x - mean)^2, such as a fair coin.
#pragma once

#include "drover/diagnose/draws.hpp"

namespace drover {

double mcse_mean(Draws draws);
double mcse_sd(Draws draws);
double mcse_quantile(Draws draws, double p);

}  // namespace drover
