// The registry's entry for parallel tempering (drover/sample/anneal/tempering.hpp).
#include "drover/sample/anneal/tempering.hpp"

#include <fmt/format.h>

#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not_tempering(const Problem& problem, Task) {
  if (problem.graph().size() == 0) return "";
  return broken_connectivity(problem);
}

Details details_of(const TemperingReport& report) {
  return {{"inverse_temperatures", report.inverse_temperatures},
          {"swap_acceptance", report.swap_acceptance},
          {"barrier", report.barrier},
          {"round_trips", report.round_trips},
          {"round_trip_rate", report.round_trip_rate}};
}

// Every chain has a dozen replicas or more.
constexpr double tempering_cost = 10;

// Depends on nothing that may change when a run is resumed.
LadderOptions ladder_options(const Problem& problem, const ChainOptions& chains, const RunControl& control) {
  LadderOptions options;
  options.seed = chains.seed;
  options.rungs = problem.options().temperatures.count;
  options.hottest = problem.options().temperatures.min_inverse;
  constexpr std::uint64_t least = 64;
  const std::uint64_t wanted = chains.tuning > 0 ? chains.tuning
                               : problem.options().chains.burn_in
                                   ? chains.burn_in
                                   : usual_burn_in(problem, chains.chains, tempering_cost);
  options.sweeps = std::max(least, wanted);
  options.control = &control;
  return options;
}

/// Pins the rungs that a checkpoint's replicas stand on.
std::string tempering_run_name(const Ladder& ladder) {
  std::string name = "tempering";
  for (double inverse : ladder.inverse_temperatures) name += fmt::format(" {:.6g}", inverse);
  return name;
}

void add_report(const Ladder& ladder, const SwapCounts& counts, ChainTask& task, RunFacts& facts) {
  const TemperingReport report = tempering_report(ladder, counts);
  facts.details = details_of(report);
  if (report.round_trips > 0) return;
  facts.warnings.emplace_back(
      "tempering made no round trip between the hottest and the coldest temperature: do not "
      "trust it to have seen every mode; take more sweeps");
  task.not_converged();
}

std::uint32_t default_tempering_chains(const Problem&) {
  return 16;
}

double tempering_update_cost(const Problem&) {
  return tempering_cost;
}

void run_tempering(const Problem& problem, const ChainOptions& options, const RunControl& control,
                   ChainTask& task) {
  with_lane_kernel(problem, options.chains, [&](const auto& kernel) {
    const Ladder ladder = tune_ladder(problem.graph(), kernel, ladder_options(problem, options, control));
    const Tempering tempering(kernel, ladder);
    SwapCounts counts;
    RunFacts& facts = task.run(tempering_run_name(ladder), tempering, [&](const ChainRun& run) {
      counts = run.totals<std::remove_cvref_t<decltype(tempering)>>();
    });
    facts.resolved["temperatures"] = ladder.rungs();
    add_report(ladder, counts, task, facts);
    warn_of_unknown_connectivity(problem, facts);
  });
}

constexpr ChainSampler tempering_sampler{default_tempering_chains, run_tempering, tempering_update_cost};

}  // namespace

Method tempering_method() {
  return chain_method<tempering_sampler>(
      "tempering", "parallel tempering: Gibbs at a ladder of temperatures that exchange states",
      "Geyer 1991; Syed et al. 2022", why_not_tempering, "scan temperatures min-inverse-temperature");
}

}  // namespace drover
