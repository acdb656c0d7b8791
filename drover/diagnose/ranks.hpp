// Rank normalisation, the transformation behind the robust R-hat and ESS.
//
// Vehtari, Gelman, Simpson, Carpenter, Buerkner: Rank-normalization, folding, and localization: an improved
// R-hat for assessing convergence of MCMC; Bayesian Analysis 16(2), 2021, section 3.1:
//   z = Phi^-1((rank - 3/8) / (S + 1/4)), ranks 1 .. S over all chains together, ties share their mean rank.
// Folding replaces x by |x - median|, so that chains that differ in spread, not in place, differ in mean.
#pragma once

#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

/// The normal scores of all values together; no NaN among them.
std::vector<double> rank_normalise(std::span<const double> values, const RunControl& control = no_control());

/// |x - median of all|.
std::vector<double> fold(std::span<const double> values, const RunControl& control = no_control());

/// The p-quantile of sorted values, linear between order statistics (type 7 of Hyndman and Fan; NumPy's and
/// R's default).
double sorted_quantile(std::span<const double> sorted, double p);

}  // namespace drover
