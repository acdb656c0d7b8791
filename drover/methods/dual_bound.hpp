// From draws of log V (drover/sample/dual/dual_log_z.hpp) to a result, for the samplers that have duals.
#pragma once

#include <algorithm>

#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/mcse.hpp"
#include "drover/diagnose/rhat.hpp"
#include "drover/methods/chains.hpp"
#include "drover/sample/dual/dual_log_z.hpp"

namespace drover {

inline DualLogZOptions dual_bound_options(const Problem& problem, const RunControl& control) {
  const Chains& chains = problem.options().chains;
  DualLogZOptions options;
  options.seed = problem.options().seed;
  options.chains = chains.count.value_or(options.chains);
  // About 2 * 10^8 updates in all, between 200 and 2000 sweeps.
  const double per_sweep = static_cast<double>(problem.graph().size() + problem.graph().pair_count() + 1) *
                           static_cast<double>(options.chains);
  options.sweeps =
      chains.sweeps.value_or(static_cast<std::uint64_t>(std::clamp(2e8 / per_sweep, 200.0, 2000.0)));
  options.burn_in = options.sweeps / 4;
  options.control = &control;
  return options;
}

inline LogZResult dual_bound_result(const Problem& problem, const DualLogZOptions& options,
                                    const DualLogZDraws& draws) {
  LogZResult result;
  const Draws view{draws.log_v.data(), draws.chains, draws.draws};
  double mean = 0;
  for (double value : draws.log_v) mean += value / static_cast<double>(draws.log_v.size());
  const bool constant =
      std::ranges::all_of(draws.log_v, [&](double value) { return value == draws.log_v.front(); });
  result.log_z = mean;
  result.mcse = constant ? 0 : mcse_mean(view);
  result.bound = Bound::lower;
  result.chains = draws.chains;
  result.resolved["chains"] = options.chains;
  result.resolved["sweeps"] = options.sweeps;
  result.burn_in = options.burn_in;
  result.sweeps = draws.draws;
  result.updates = static_cast<double>((options.burn_in + draws.draws) * draws.chains) *
                   static_cast<double>(problem.graph().size());
  if (!constant) result.details = {{"rhat", rhat(view)}, {"ess", ess_mean(view)}};
  result.warnings.emplace_back("the mean of log V is a lower bound of log Z, not an estimate");
  if (!constant && !(rhat(view) <= 1.01))
    result.warnings.emplace_back("the chains have not mixed (R-hat of log V above 1.01): take more sweeps");
  return result;
}

}  // namespace drover
