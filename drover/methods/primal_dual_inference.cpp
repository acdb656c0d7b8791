// The registry's entries for duality without sampling: EM for a best state (drover/infer/primal_dual_em.hpp)
// and mean field for marginals (drover/infer/primal_dual_mean_field.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/compile/spin_graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/mean_field.hpp"
#include "drover/infer/primal_dual_em.hpp"
#include "drover/infer/primal_dual_mean_field.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"

namespace drover {

namespace {

std::string why_not_dual_inference(const Problem& problem, Task) {
  if (problem.graph().is_spin()) return "";
  return "it takes binary variables with strictly positive factors of one or two variables";
}

// One climb from the signs of the fields, then from random states: as many climbs as chains are asked for.
BestStateResult map_by_dual_inference(const Problem& problem, const RunControl& control) {
  const PrimalDualEm em(spin_edges(spin_graph(problem.graph(), problem.control())),
                        problem.options().dual.forest, control);
  const std::uint32_t climbs = problem.options().chains.count.value_or(16);
  const Random random(problem.options().seed, Stream::start);
  BestStateResult result;
  result.resolved["chains"] = climbs;
  std::uint64_t steps = 0;
  std::vector<Value> x(problem.graph().size());
  for (std::uint32_t c = 0; c < climbs && !(c > 0 && control.should_stop()); ++c) {
    for (std::uint32_t v = 0; v < x.size(); ++v)
      x[v] = (c == 0 ? em.graph().field[v] > 0 : random.uniform(c, 0, v) < 0.5) ? 1 : 0;
    steps += em.climb(x).steps;
    const double score = log_score(problem.graph(), x);
    if (result.assignment.empty() || score > result.log_score) {
      result.assignment = x;
      result.log_score = score;
    }
    ++result.chains;
  }
  result.updates = static_cast<double>(steps) * static_cast<double>(x.size());
  result.details = {{"steps", steps}, {"forest_pairs", em.forest_size()}};
  result.warnings.emplace_back("primal-dual-em stops at a local optimum; portfolio searches further");
  return result;
}

struct DualRun {
  MeanFieldRun run;
  std::uint64_t sweeps = 0;
  Details details;
};

// Variables and duals in turn until they rest, then ordinary mean field from there. Trees know of
// correlations that ordinary mean field gives up, so with a forest the better of the two bounds decides.
DualRun run_from(const PrimalDualMeanField& dual, const MeanField& field, std::vector<double> start,
                 const MeanFieldOptions& options, const RunControl& control) {
  std::vector<double> p(dual.size());
  for (std::size_t v = 0; v < p.size(); ++v) p[v] = start[2 * v + 1];
  PrimalDualMeanField::Beliefs q = dual.start(p);
  std::uint64_t done = 0;
  double change = 1;
  while (done < options.iterations && change > options.tolerance && !control.should_stop()) {
    dual.update_duals(q);
    change = dual.update_variables(q);
    ++done;
  }
  dual.update_duals(q);
  for (std::size_t v = 0; v < p.size(); ++v) {
    start[2 * v] = 1 - q.p[v];
    start[2 * v + 1] = q.p[v];
  }
  const double before = dual.ordinary_bound(q, control);
  DualRun result;
  MeanFieldRun& run = result.run;
  run = field.run(start, options, [&](std::uint64_t, double) { return !control.should_stop(); });
  result.sweeps = done + run.iterations;
  result.details = {{"dual_iterations", done},
                    {"forest_pairs", dual.forest_size()},
                    {"dual_bound", dual.bound(q)},
                    {"finish_iterations", run.iterations},
                    {"bound_after_finish", run.bound}};
  if (std::isfinite(before)) result.details["bound_before_finish"] = before;
  if (dual.forest_size() > 0 && before > run.bound) {
    run.probabilities = std::move(start);
    run.bound = before;
    run.converged = change <= options.tolerance;
  }
  result.details["lower_bound"] = run.bound;
  return result;
}

// The best of several starts: the unaries alone, then random ones. (Without fields the first is a saddle
// that no update leaves.)
MeanFieldRun run_mean_field(const Problem& problem, const RunControl& control, RunFacts& facts) {
  const PrimalDualMeanField dual(spin_edges(spin_graph(problem.graph(), problem.control())),
                                 problem.options().dual.forest, control);
  MeanFieldOptions options;
  options.iterations = problem.options().messages.iterations.value_or(options.iterations);
  const MeanField field(problem.graph());
  const std::uint32_t starts =
      problem.options().chains.count.value_or(problem.graph().size() <= 10'000 ? 16 : 2);
  facts.resolved["chains"] = starts;
  facts.resolved["iterations"] = options.iterations;
  DualRun best;
  for (std::uint32_t s = 0; s < starts && !(s > 0 && control.should_stop()); ++s) {
    DualRun one = run_from(
        dual, field, s == 0 ? field.start_at_unaries() : field.start_at_random(problem.options().seed, s),
        options, control);
    facts.sweeps += one.sweeps;
    ++facts.chains;
    if (s == 0 || one.run.bound > best.run.bound) best = std::move(one);
  }
  facts.updates = static_cast<double>(facts.sweeps) * static_cast<double>(dual.size());
  facts.details = std::move(best.details);
  if (!best.run.converged)
    facts.warnings.push_back(fmt::format("mean field still moved after {} iterations", best.sweeps));
  return std::move(best.run);
}

MarginalsResult marginals_by_dual_inference(const Problem& problem, const RunControl& control) {
  MarginalsResult result;
  const MeanFieldRun run = run_mean_field(problem, control, result);
  const std::size_t size = problem.graph().size();
  for (std::size_t v = 0; v < size; ++v) {
    result.marginals.push_back({run.probabilities[2 * v], run.probabilities[2 * v + 1]});
    result.mcse.push_back({not_known, not_known});
  }
  result.rhat.assign(size, not_known);
  result.ess.assign(size, not_known);
  result.converged = run.converged;
  result.details["approximates"] = true;
  result.warnings.emplace_back(
      problem.options().dual.forest
          ? "mean field over trees takes other pairs for means only: its marginals have an error that no "
            "figure "
            "here shows (none if the model is a forest)"
          : "mean field takes the variables for independent: its marginals have an error that no figure here "
            "shows");
  if (problem.options().check) check_against_exact(problem, result);
  return result;
}

LogZResult logz_by_dual_inference(const Problem& problem, const RunControl& control) {
  LogZResult result;
  result.log_z = result.lower = run_mean_field(problem, control, result).bound;
  result.bound = Bound::lower;
  return result;
}

}  // namespace

Method primal_dual_em_method() {
  return {
      "primal-dual-em",
      "EM over the duals of all factors: all variables climb at once; with the forest option, trees at once",
      "Mescheder, Nowozin and Geiger 2016",
      why_not_dual_inference,
      nullptr,
      map_by_dual_inference,
      nullptr,
      nullptr,
      "chains forest"};
}

Method primal_dual_mean_field_method() {
  return {
      "primal-dual-mean-field",
      "mean field over variables and duals in turn, finished by ordinary mean field; with the forest option, "
      "over trees",
      "Mescheder, Nowozin and Geiger 2016",
      why_not_dual_inference,
      marginals_by_dual_inference,
      nullptr,
      logz_by_dual_inference,
      nullptr,
      "chains iterations forest"};
}

}  // namespace drover
