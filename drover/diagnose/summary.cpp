#include "drover/diagnose/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "drover/diagnose/autocorrelation.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/initial_sequence.hpp"
#include "drover/diagnose/patience.hpp"
#include "drover/diagnose/ranks.hpp"
#include "drover/diagnose/rhat.hpp"

namespace drover {

DrawsSummary summarise(Draws draws, const RunControl& control) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  DrawsSummary summary{nan, nan, nan, nan, nan, nan, nan, nan, nan};
  if (draws.size() == 0) return summary;
  StopCheck check = diagnosis_check(control);
  const double count = static_cast<double>(draws.size());
  double sum = 0, squares = 0;
  for (double value : draws.all()) sum += value - draws.data[0];
  summary.mean = draws.data[0] + sum / count;
  check.ask();
  for (double value : draws.all()) squares += (value - summary.mean) * (value - summary.mean);
  summary.sd = std::sqrt(squares / (count - 1));
  if (undiagnosable(draws)) return summary;

  const DrawsBuffer split = split_chains(draws, control);
  const std::vector<double> scores = rank_normalise(split.values, control);
  summary.rhat = rhat_of_scores(split, scores, control);
  summary.ess_bulk = effective_size({scores.data(), split.chains, split.draws}, control);
  summary.ess_tail = ess_tail(draws, control);

  const std::vector<double> covariance = mean_autocovariance(split.view(), control);
  const ChainMoments moments = chain_moments(split.view());
  const auto autocovariance = [&](std::size_t lag) { return covariance[lag]; };
  summary.autocorrelation =
      1 - (moments.within - covariance[1]) / (covariance[0] + moments.variance_of_means);
  summary.autocorrelation_time =
      initial_sequence_time(split.chains, split.draws, moments.variance_of_means, autocovariance);
  summary.ess_mean = static_cast<double>(split.values.size()) / summary.autocorrelation_time;
  summary.mcse = summary.sd / std::sqrt(summary.ess_mean);
  return summary;
}

}  // namespace drover
