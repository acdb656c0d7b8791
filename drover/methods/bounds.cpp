// The registry's entries for the methods that bound: tree-reweighted belief propagation (log Z), MPLP and the
// linear-programming relaxation (the best score).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "drover/infer/lp_relaxation.hpp"
#include "drover/infer/mplp.hpp"
#include "drover/infer/tree_reweighted.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/message_passing.hpp"

namespace drover {

namespace {

// CLP's simplex on more columns than this takes hours.
constexpr double most_lp_columns = 3e6;

std::string why_not_messages(const Problem& problem, Task) {
  const std::string memory = why_not_message_memory(problem);
  return memory.empty() ? why_not_maximum(problem) : memory;
}

// A bound that is all there is to tell may be so late, in seconds.
constexpr double bound_grace = 0.25;

/// Ends the messages when no more time is left than the bound takes after them, by the time of an iteration.
class LeavingTimeForBound {
 public:
  LeavingTimeForBound(const RunControl& control, OnIteration report)
      : control_(control), report_(std::move(report)) {}
  bool operator()(std::uint64_t iteration, double change) {
    constexpr double iterations_per_bound = 64;
    const double now = control_.seconds();
    if (!first_) first_ = {iteration, now};
    const double each = iteration > first_->first
                            ? (now - first_->second) / static_cast<double>(iteration - first_->first)
                            : 0;
    return report_(iteration, change) && control_.seconds_left() > iterations_per_bound * each;
  }

 private:
  const RunControl& control_;
  OnIteration report_;
  std::optional<std::pair<std::uint64_t, double>> first_;  ///< iteration, and when it ended
};

// Marginals need no bound: it is left out when it would keep people waiting.
TreeReweighted run_trw(const Problem& problem, const RunControl& control, bool for_bound, RunFacts& facts) {
  const Graph& graph = problem.compact_graph();
  const bool is_forest = breadth_first(factor_graph(graph, {}, control), control).is_forest;
  const double latest = control.seconds() + control.seconds_left() + bound_grace;
  const GoOn go_on_to_bound = [&] {
    return for_bound ? !control.stop_requested() && control.seconds() < latest : !control.should_stop();
  };
  OnIteration on_iteration = reporting_to(problem, control);
  if (for_bound) on_iteration = LeavingTimeForBound(control, std::move(on_iteration));
  TreeReweighted run =
      tree_reweighted(graph, belief_options(problem, Semiring::sum, is_forest), problem.options().seed,
                      on_iteration, going_on(control), go_on_to_bound);
  if (run.forests == 0 || (for_bound && !std::isfinite(run.upper) && control.should_stop()))
    fail_stopped(control, "tree-reweighted belief propagation");
  note_resolved(belief_options(problem, Semiring::sum, is_forest), facts);
  facts.sweeps = run.iterations;
  facts.details["iterations"] = run.iterations;
  facts.details["converged"] = run.converged;
  facts.details["largest_change"] = run.largest_change;
  facts.details["forests"] = run.forests;
  if (!run.converged)
    facts.warnings.push_back(
        for_bound
            ? fmt::format(
                  "messages have not converged after {} iterations; the bound holds, but more iterations "
                  "would lower it",
                  run.iterations)
            : fmt::format("messages have not converged after {} iterations (largest change {:.2g})",
                          run.iterations, run.largest_change));
  return run;
}

MarginalsResult trw_marginals(const Problem& problem, const RunControl& control) {
  MarginalsResult result;
  TreeReweighted run = run_trw(problem, control, false, result);
  result.marginals = std::move(run.marginals);
  result.converged = run.converged;
  result.exact = run.converged && run.forests == 1;
  if (std::isfinite(run.upper)) result.details["log_z_upper"] = run.upper;
  warn_of_cycles(run.forests == 1, result);
  fill_unknown_errors(problem.compact_graph(), result);
  return result;
}

LogZResult trw_logz(const Problem& problem, const RunControl& control) {
  LogZResult result;
  const TreeReweighted run = run_trw(problem, control, true, result);
  result.log_z = result.upper = run.upper;
  if (run.forests == 1) {
    result.exact = true;
    result.lower = result.log_z;
    result.mcse = 0;
  } else {
    result.bound = Bound::upper;
  }
  return result;
}

BestStateResult mplp_map(const Problem& problem, const RunControl& control) {
  MplpOptions options;
  options.iterations = problem.options().messages.iterations.value_or(options.iterations);
  MplpResult run = mplp(problem.compact_graph(), options, reporting_to(problem, control));
  BestStateResult result;
  result.resolved["iterations"] = options.iterations;
  result.assignment = std::move(run.state);
  result.log_score = run.log_score;
  if (!run.optimal) polish(problem, result);
  result.optimal = bound_meets(run.upper, result.log_score);
  result.sweeps = run.iterations;
  result.upper = run.upper;
  result.details["gap"] = std::max(0.0, run.upper - result.log_score);
  result.details["iterations"] = run.iterations;
  result.details["converged"] = run.converged || run.optimal;
  return result;
}

std::string lp_why_not(const Problem& problem, Task) {
  const double columns = lp_columns(problem.graph());
  if (columns <= most_lp_columns) return "";
  return fmt::format("its linear program would have {:.2g} columns, more than {:.0e}", columns,
                     most_lp_columns);
}

BestStateResult lp_map(const Problem& problem, const RunControl& control) {
  control.report({"linear program", -1, 0, 0, 0});
  LpResult run = solve_lp_relaxation(problem.graph(), control);
  BestStateResult result;
  result.assignment = std::move(run.state);
  result.log_score = run.log_score;
  if (!run.integral) polish(problem, result);
  result.optimal = run.solved && (run.integral || bound_meets(run.upper, result.log_score));
  if (run.solved) {
    result.upper = run.upper;
    result.details["gap"] = std::max(0.0, run.upper - result.log_score);
  } else {
    result.warnings.emplace_back("the linear program was stopped before it was solved: there is no bound");
  }
  result.details["integral"] = run.integral;
  result.details["columns"] = run.columns;
  result.details["rows"] = run.rows;
  return result;
}

}  // namespace

Method trw_method() {
  return {"trw",
          "tree-reweighted belief propagation: an upper bound of log Z, and marginals",
          "Wainwright, Jaakkola and Willsky 2005",
          why_not_messages,
          trw_marginals,
          nullptr,
          trw_logz,
          nullptr,
          "schedule iterations damping",
          1e300,
          true};
}

Method mplp_method() {
  return {"mplp",
          "dual coordinate descent: a state and an upper bound of the best score",
          "Globerson and Jaakkola 2007",
          why_not_messages,
          nullptr,
          mplp_map,
          nullptr,
          nullptr,
          "iterations",
          1e300,
          true};
}

Method lp_method() {
  return {"lp",
          "linear-programming relaxation (COIN-OR CLP): a state and an upper bound of the best score",
          "Wainwright and Jordan 2008",
          lp_why_not,
          nullptr,
          lp_map,
          nullptr,
          nullptr};
}

}  // namespace drover
