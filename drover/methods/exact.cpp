// The registry's entry for exact inference (drover/infer/junction_tree.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/infer/junction_tree.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"

namespace drover {

namespace {

// `auto` takes exact inference up to this many table entries, a few minutes of work (bench/results/exact.txt:
// some 2 10^8 entries per second and core); a user who names the method is not held to it.
constexpr double most_operations = 5e10;
// Best states have the portfolio, which often proves in no time what a tree would work on for minutes.
constexpr double most_operations_of_map = 1e9;
constexpr double operations_per_second = 2e8;

double predicted_seconds(const Problem& problem, Task task) {
  const double passes = task == Task::marginals ? 3 : 1;
  return passes * problem.exact_plan().predicted_operations / operations_per_second;
}

std::string why_not_exact(const Problem& problem, Task task) {
  const ExactPlan& plan = problem.exact_plan();
  if (!plan.order.exact)
    return fmt::format("the treewidth is too large (the search gave up at {})", plan.order.width);
  if (!plan.fits(problem.memory_limit_bytes()))
    return fmt::format(
        "the treewidth is too large: exact inference needs about {:.3g} GB, the limit is {:.3g} GB",
        plan.predicted_bytes / 1e9, static_cast<double>(problem.memory_limit_bytes()) / 1e9);
  if (plan.predicted_operations > (task == Task::map ? most_operations_of_map : most_operations) &&
      problem.options().method != "exact")
    return fmt::format("exact inference would take about {:.2g} table operations", plan.predicted_operations);
  // Of the time that is left, some must remain for another method should this one take longer after all.
  const double seconds = predicted_seconds(problem, task), left = problem.control().seconds_left();
  if (problem.options().method != "exact" && seconds > 0.5 * left)
    return fmt::format("exact inference would take about {:.2g} s of the {:.2g} s that are left", seconds,
                       left);
  return "";
}

ExactOptions exact_options_of(const Problem& problem, const RunControl& control) {
  ExactOptions options;
  options.control = &control;
  options.memory_limit_bytes = problem.memory_limit_bytes();
  return options;
}

void note_exact_plan(const Problem& problem, RunFacts& facts) {
  facts.details = {{"width", problem.exact_plan().order.width},
                   {"log2_max_clique", problem.exact_plan().order.log2_max_clique},
                   {"predicted_bytes", problem.exact_plan().predicted_bytes}};
}

MarginalsResult marginals_by_exact(const Problem& problem, const RunControl& control) {
  JunctionTree tree(problem.graph(), problem.exact_plan(), exact_options_of(problem, control));
  MarginalsResult result;
  note_exact_plan(problem, result);
  const double log_z = tree.log_z();
  if (!std::isfinite(log_z))
    throw Error(ErrorKind::misfit, "log Z is beyond double precision: the log factors are too large");
  result.details["log_z"] = log_z;
  for (const auto& p : tree.marginals()) result.marginals.push_back(p);
  result.mcse.assign(problem.graph().cardinalities, 0);
  result.rhat.assign(result.marginals.size(), not_known);
  result.ess.assign(result.marginals.size(), not_known);
  result.exact = true;
  result.converged = true;
  result.diagnostics.mcse_max = 0;
  if (problem.options().pairs) {
    const Adjacency near = adjacency(problem.graph());
    for (VariableId i = 0; i < near.size(); ++i)
      for (VariableId j : near.of(i))
        if (i < j) result.pairs.emplace_back(i, j);
    result.pair_marginals = tree.pair_marginals(result.pairs);
  }
  result.joints = tree.joints(problem.joint());
  for (const auto& joint : result.joints) result.joint_mcse.emplace_back(joint.size(), 0.0);
  return result;
}

BestStateResult map_by_exact(const Problem& problem, const RunControl& control) {
  JunctionTree tree(problem.graph(), problem.exact_plan(), exact_options_of(problem, control));
  BestStateResult result;
  note_exact_plan(problem, result);
  result.optimal = true;
  if (problem.options().best > 1) {
    for (ScoredState& state : tree.best(problem.options().best))
      result.states.push_back({std::move(state.assignment), state.log_score});
    result.assignment = result.states.front().assignment;
    result.log_score = result.states.front().log_score;
    return result;
  }
  auto best = tree.map();
  result.assignment = std::move(best.assignment);
  result.log_score = best.log_score;
  return result;
}

LogZResult logz_by_exact(const Problem& problem, const RunControl& control) {
  JunctionTree tree(problem.graph(), problem.exact_plan(), exact_options_of(problem, control));
  LogZResult result;
  note_exact_plan(problem, result);
  result.log_z = result.lower = result.upper = tree.log_z();
  result.mcse = 0;
  result.exact = true;
  return result;
}

SampleResult sample_by_exact(const Problem& problem, const RunControl& control, DrawConsumer& consumer) {
  const Graph& graph = problem.graph();
  const std::uint64_t wanted = wanted_samples(problem.options());
  JunctionTree tree(graph, problem.exact_plan(), exact_options_of(problem, control));
  SampleResult result;
  note_exact_plan(problem, result);
  tree.log_z();  // where the work is: before there is anything to draw, another method may still take over
  consumer.begin(1);
  const std::size_t rows =
      std::clamp<std::size_t>((std::size_t{1} << 22) / std::max<std::size_t>(1, graph.size()), 1, 1024);
  std::vector<Value> draws(rows * graph.size());
  while (result.draws < wanted && !control.should_stop()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(rows, wanted - result.draws));
    const std::span<Value> block(draws.data(), count * graph.size());
    tree.sample(problem.options().seed, result.draws, count, block);
    for (std::size_t r = 0; r < count; ++r) {
      const std::span<const Value> x = block.subspan(r * graph.size(), graph.size());
      consumer.take(0, x, log_score(graph, x));
    }
    result.draws += count;
    Progress progress;
    progress.phase = "drawing";
    progress.fraction = static_cast<double>(result.draws) / static_cast<double>(wanted);
    control.report(progress);
  }
  if (result.draws == 0) fail_stopped(control, "exact inference");
  if (result.draws < wanted)
    result.warnings.push_back(fmt::format("ended after {} of {} draws", result.draws, wanted));
  result.resolved["samples"] = wanted;
  result.chains = 1;
  result.independent = true;
  result.exact = true;
  result.converged = true;
  result.diagnostics.rhat_max = 1;
  result.diagnostics.ess_min = static_cast<double>(result.draws);
  return result;
}

}  // namespace

std::string exact_reason(const Problem& problem) {
  return fmt::format("exact inference is affordable: treewidth at most {}, about {:.3g} MB",
                     problem.exact_plan().order.width, problem.exact_plan().predicted_bytes / 1e6);
}

Method exact_method() {
  return {"exact",
          "junction tree: exact marginals, state, log Z and independent draws",
          "Lauritzen and Spiegelhalter 1988; Dawid 1992",
          why_not_exact,
          marginals_by_exact,
          map_by_exact,
          logz_by_exact,
          sample_by_exact,
          "samples pairs joint best",
          1e300};
}

}  // namespace drover
