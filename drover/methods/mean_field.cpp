// The registry's entry for naive mean field (drover/infer/mean_field.hpp).
#include "drover/infer/mean_field.hpp"

#include <fmt/format.h>

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"

namespace drover {

namespace {

std::string why_not_mean_field(const Problem&, Task) {
  return "";
}

MeanFieldOptions mean_field_options_of(const Messages& messages) {
  MeanFieldOptions options;
  options.iterations = messages.iterations.value_or(options.iterations);
  if (messages.damping) options.step = 1 - *messages.damping;
  return options;
}

std::uint32_t start_count(const Problem& problem) {
  if (!problem.start().empty()) return 1;
  return problem.options().chains.count.value_or(problem.graph().unary.size() <= 20'000 ? 16 : 2);
}

struct BestRun {
  MeanFieldRun run;
  std::uint64_t iterations = 0;  ///< of all starts
  std::uint32_t starts = 0;
  double worst_bound = log_zero;
};

// The unaries first, then random distributions; with hard zeros, possible states. The highest bound wins.
BestRun best_of_starts(const Problem& problem, const RunControl& control, RunFacts& facts) {
  const MeanField field(problem.graph());
  const MeanFieldOptions options = mean_field_options_of(problem.options().messages);
  const std::uint64_t seed = problem.options().seed;
  const std::uint32_t starts = start_count(problem);
  std::vector<std::vector<Value>> states = starting_states(problem, starts);
  if (!problem.start().empty()) states = {{problem.start().begin(), problem.start().end()}};
  BestRun best;
  for (std::uint32_t s = 0; s < starts && !(s > 0 && control.should_stop()); ++s) {
    std::vector<double> start = !states.empty() ? field.start_at(states[s % states.size()])
                                : s == 0        ? field.start_at_unaries()
                                                : field.start_at_random(seed, s);
    MeanFieldRun run = field.run(std::move(start), options, [&](std::uint64_t done, double) {
      Progress progress;
      progress.phase = "mean field";
      progress.fraction = (s + static_cast<double>(done) / static_cast<double>(options.iterations)) / starts;
      progress.sweeps = done;
      progress.updates =
          static_cast<double>(best.iterations + done) * static_cast<double>(problem.graph().size());
      control.report(progress);
      return !control.should_stop();
    });
    best.iterations += run.iterations;
    best.worst_bound = s == 0 ? run.bound : std::min(best.worst_bound, run.bound);
    ++best.starts;
    if (s == 0 || run.bound > best.run.bound) best.run = std::move(run);
  }
  facts.resolved["chains"] = starts;
  facts.resolved["iterations"] = options.iterations;
  facts.resolved["damping"] = 1 - options.step;
  facts.chains = best.starts;
  facts.sweeps = best.run.iterations;
  facts.updates = static_cast<double>(best.iterations) * static_cast<double>(problem.graph().size());
  facts.details["lower_bound"] = best.run.bound;
  facts.details["worst_start"] = best.worst_bound;
  facts.details["starts"] = best.starts;
  facts.details["iterations"] = best.run.iterations;
  facts.details["damping"] = 1 - options.step;
  if (!best.run.converged)
    facts.warnings.push_back(fmt::format("mean field still moved after {} iterations", best.run.iterations));
  return best;
}

MarginalsResult marginals_by_mean_field(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.graph();
  MarginalsResult result;
  const BestRun best = best_of_starts(problem, control, result);
  for (VariableId v = 0; v < graph.size(); ++v) {
    const auto begin = best.run.probabilities.begin() + static_cast<std::ptrdiff_t>(graph.unary_offsets[v]);
    result.marginals.push_back({begin, begin + graph.cardinalities[v]});
  }
  result.mcse.assign(graph.cardinalities, not_known);
  result.rhat.assign(graph.size(), not_known);
  result.ess.assign(graph.size(), not_known);
  result.converged = best.run.converged;
  result.details["approximates"] = true;
  result.warnings.emplace_back(
      "mean field takes the variables for independent: its marginals have an error that no figure here "
      "shows");
  if (problem.options().check) check_against_exact(problem, result);
  return result;
}

LogZResult logz_by_mean_field(const Problem& problem, const RunControl& control) {
  LogZResult result;
  const BestRun best = best_of_starts(problem, control, result);
  result.log_z = result.lower = best.run.bound;
  result.bound = Bound::lower;
  return result;
}

}  // namespace

Method mean_field_method() {
  return {"mean-field",
          "naive mean field: independent variables, coordinate ascent on a lower bound of log Z",
          "Jordan, Ghahramani, Jaakkola and Saul 1999",
          why_not_mean_field,
          marginals_by_mean_field,
          nullptr,
          logz_by_mean_field,
          nullptr,
          "chains iterations damping check"};
}

}  // namespace drover
