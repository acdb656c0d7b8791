#include "drover/diagnose/rhat.hpp"

#include <algorithm>
#include <cmath>

#include "drover/diagnose/ranks.hpp"

namespace drover {

namespace {

/// Of two or more chains; NaN when all draws are equal.
double scale_reduction(Draws draws) {
  const ChainMoments moments = chain_moments(draws);
  const double length = static_cast<double>(draws.draws);
  return std::sqrt((length - 1) / length + moments.variance_of_means / moments.within);
}

}  // namespace

double potential_scale_reduction(Draws draws) {
  return draws.chains < 2 || undiagnosable(draws) ? not_a_number : scale_reduction(draws);
}

double split_rhat(Draws draws) {
  return undiagnosable(draws) ? not_a_number : scale_reduction(split_chains(draws).view());
}

double rhat_of_scores(const DrawsBuffer& split, std::span<const double> scores, const RunControl& control) {
  const double bulk = scale_reduction({scores.data(), split.chains, split.draws});
  const std::vector<double> folded = rank_normalise(fold(split.values, control), control);
  const double tail = scale_reduction({folded.data(), split.chains, split.draws});
  return std::isnan(tail) ? bulk : std::max(bulk, tail);
}

double rhat(Draws draws) {
  if (undiagnosable(draws)) return not_a_number;
  const DrawsBuffer split = split_chains(draws);
  return rhat_of_scores(split, rank_normalise(split.values));
}

}  // namespace drover
