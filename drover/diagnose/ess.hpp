// Effective sample sizes: how many independent draws would estimate as well?
//
// Vehtari et al. 2021 (see ranks.hpp), all on split chains, S draws in all, tau by initial_sequence.hpp:
//   bulk      S / tau of the normal scores: how far location summaries can be trusted; 100 a chain is the
//             usual limit
//   quantile  S / tau of the indicator [x <= q], q the p-quantile of all draws
//   tail      the smaller of the 5% and the 95% quantile's
//   mean      S / tau of x itself, for the standard error of the mean
//   sd        S / tau of |x - mean|
// Special cases: NaN for what undiagnosable() names. When [x <= q] is always true (q is the largest value, as
// happens to discrete variables) [x < q] takes its place, so a binary variable has the same figure whichever
// value is called 1; there posterior has NA and ArviZ S. An antithetic chain may have more than S, up to
// S log10(S).
#pragma once

#include <span>

#include "drover/core/run_control.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

double ess_bulk(Draws draws);
double ess_tail(Draws draws, const RunControl& control = no_control());
double ess_mean(Draws draws);
double ess_sd(Draws draws);
double ess_quantile(Draws draws, double p);

/// Draws for one independent draw of the mean: S / ess_mean.
double autocorrelation_time(Draws draws);

/// The effective size of chains that are already split (or must not be), without any check.
double effective_size(Draws draws, const RunControl& control = no_control());

/// ess_quantile() when the quantile is known.
double ess_of_quantile_value(Draws draws, double quantile, const RunControl& control = no_control());

}  // namespace drover
