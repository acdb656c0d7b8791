// The registry's entry for annealed Gibbs (drover/sample/anneal/annealed_gibbs.hpp).
#include "drover/sample/anneal/annealed_gibbs.hpp"

#include <algorithm>
#include <limits>

#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not(const Problem&, Task) {
  return "";
}

BestStateResult map(const Problem& problem, const RunControl& control) {
  const Chains& chains = problem.options().chains;
  const Graph& graph = problem.graph();
  AnnealOptions options;
  options.seed = problem.options().seed;
  options.reads = chains.count.value_or(128);
  // About 10^10 updates by default, between 200 and 10,000 sweeps.
  const double per_sweep = static_cast<double>(std::max<std::size_t>(1, graph.size())) * options.reads;
  options.sweeps =
      chains.sweeps.value_or(static_cast<std::uint64_t>(std::clamp(1e10 / per_sweep, 200.0, 10'000.0)));
  options.control = &control;
  if (const auto hottest = problem.options().temperatures.min_inverse) {
    options.range = temperature_range(graph);
    options.range.hot = *hottest;
  }
  // With a time limit and no number of reads, whole annealing runs follow one another until the time is up.
  const bool repeat = control.has_time_limit() && !chains.count;
  BestStateResult result;
  result.resolved["chains"] = options.reads;
  result.resolved["sweeps"] = options.sweeps;
  const auto observe = [&](std::uint32_t reads, double) {
    Progress progress;
    progress.phase = "annealing";
    progress.fraction =
        std::max(control.time_fraction(), repeat ? 0.0 : static_cast<double>(reads) / options.reads);
    control.report(progress);
  };
  std::vector<double> scores;
  with_lane_kernel(problem, options.reads, [&](const auto& kernel) {
    do {
      AnnealResult one = annealed_gibbs(graph, kernel, options, observe);
      scores.insert(scores.end(), one.read_scores.begin(), one.read_scores.end());
      if (result.assignment.empty() || one.log_score > result.log_score) {
        result.assignment = std::move(one.assignment);
        result.log_score = one.log_score;
      }
      result.sweeps += one.sweeps;
      options.seed += 0x9E3779B97F4A7C15U;  // fresh reads, far from any seed a person would type
    } while (repeat && !control.should_stop());
    return 0;
  });
  result.chains = static_cast<std::uint32_t>(scores.size());
  result.updates = static_cast<double>(result.sweeps) * static_cast<double>(graph.size());
  if (!scores.empty()) {
    const double best = result.log_score;
    const auto hits = std::count_if(scores.begin(), scores.end(),
                                    [&](double s) { return s >= best - 1e-9 * (1 + std::abs(best)); });
    double mean = 0;
    for (double score : scores) mean += score / static_cast<double>(scores.size());
    result.details = {{"reads", scores.size()},
                      {"reads_at_best", static_cast<std::int64_t>(hits)},
                      {"mean_log_score", mean}};
  }
  warn_of_connectivity(problem, result);
  return result;
}

}  // namespace

Method annealed_gibbs_method() {
  return {"annealed-gibbs",
          "Gibbs sampling while the temperature falls; keeps the best state, polished",
          "Kirkpatrick et al. 1983; Geman and Geman 1984",
          why_not,
          nullptr,
          map,
          nullptr,
          nullptr,
          "chains sweeps scan min-inverse-temperature"};
}

}  // namespace drover
