// R-hat, the potential scale reduction factor: do the chains agree?
//
// Gelman, Rubin: Inference from iterative simulation using multiple sequences; Statistical Science 7, 1992.
//   W = mean variance within a chain, V = variance of the chain means, n = draws of a chain
//   R-hat = sqrt(((n - 1) / n W + V) / W)
// Split R-hat cuts every chain in two, so a drift shows even in one chain. The rank-normalised R-hat (Vehtari
// et al. 2021, see ranks.hpp) takes split R-hat of the normal scores (bulk) and of the normal scores of the
// folded draws (tail), and is the larger. 1.01 is the usual limit.
//
// Special cases, as in the R package posterior unless said otherwise: NaN for what undiagnosable() names;
// chains that each stick to their own value give infinity; one chain is judged by its two halves. When the
// folded draws are all equal (a two-valued variable whose median is exactly half way) the bulk value alone is
// the result, where posterior has NA. The median is that of the split draws, as in ArviZ.
//
// For a two-valued variable scores and folded scores are linear in x, so all three R-hats are one number.
// Fails to see chains that all missed the same mode.
#pragma once

#include "drover/core/run_control.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

/// The classic factor over whole chains; NaN for fewer than two chains.
double potential_scale_reduction(Draws draws);

double split_rhat(Draws draws);

/// The rank-normalised split R-hat: the one to report.
double rhat(Draws draws);

/// The same from split chains and their normal scores, for who has them already.
double rhat_of_scores(const DrawsBuffer& split, std::span<const double> scores,
                      const RunControl& control = no_control());

}  // namespace drover
