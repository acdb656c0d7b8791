// The registry's entry for annealed importance sampling (drover/sample/anneal/annealed_importance.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/run/part_log.hpp"
#include "drover/sample/anneal/annealed_importance.hpp"

namespace drover {

namespace {

std::string why_not_ais(const Problem& problem, Task) {
  if (!problem.graph().is_strictly_positive())
    return "the model has hard zeros, so the partition function at the hot end of the path is not known";
  return "";
}

LogZResult logz_by_ais(const Problem& problem, const RunControl& control) {
  const Chains& chains = problem.options().chains;
  ImportanceOptions options;
  options.seed = problem.options().seed;
  options.chains = chains.count.value_or(256);
  const double per_sweep =
      static_cast<double>(std::max<std::size_t>(1, problem.graph().size())) * options.chains;
  options.sweeps =
      chains.sweeps.value_or(static_cast<std::uint64_t>(std::clamp(5e9 / per_sweep, 200.0, 5000.0)));
  options.control = &control;
  const auto parts = make_part_log(problem.options().checkpoint,
                                   run_line(problem, "ais", Task::logz,
                                            fmt::format("chains {} sweeps {} scan {}", options.chains,
                                                        options.sweeps, choice_name(chains.scan))),
                                   control);
  options.parts = parts.get();
  const ImportanceResult estimate = with_lane_kernel(problem, options.chains, [&](const auto& kernel) {
    return annealed_importance(problem.graph(), kernel, options);
  });
  LogZResult result;
  if (!control.ranks().is_first()) return result;
  result.resolved["chains"] = options.chains;
  result.resolved["sweeps"] = options.sweeps;
  result.log_z = estimate.log_z;
  result.interval_lower = estimate.lower;
  result.interval_upper = estimate.upper;
  result.mcse = estimate.mcse;
  result.chains = static_cast<std::uint32_t>(estimate.log_weights.size());
  result.sweeps = options.sweeps;
  result.updates = static_cast<double>(options.sweeps) * per_sweep * result.chains / options.chains;
  result.details = {{"effective_samples", estimate.effective_samples},
                    {"lower_bound_in_expectation", estimate.bound},
                    {"lower_bound_mcse", estimate.bound_mcse}};
  if (result.chains < options.chains)
    result.warnings.push_back(
        fmt::format("stopped early: {} of {} anneals ended, and the estimate rests on them", result.chains,
                    options.chains));
  if (estimate.effective_samples < std::max(10.0, 0.1 * result.chains))
    result.warnings.push_back(
        fmt::format("a few anneals carry the weight (effective number {:.1f} of {}): the estimate is "
                    "probably too low; take more sweeps",
                    estimate.effective_samples, result.chains));
  return result;
}

}  // namespace

Method ais_method() {
  Method method{"ais",
                "annealed importance sampling: log Z with an error bar",
                "Neal 2001",
                why_not_ais,
                nullptr,
                nullptr,
                logz_by_ais,
                nullptr,
                "chains sweeps scan checkpoint checkpoint-every resume"};
  method.shared = {Task::logz};
  return method;
}

}  // namespace drover
