// The registry's entries for belief propagation and max-product (drover/infer/belief_propagation.hpp).
#include "drover/infer/belief_propagation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drover/core/error.hpp"
#include "drover/infer/gate_messages.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/message_passing.hpp"

namespace drover {

namespace {

std::string bp_why_not(const Problem& problem, Task) {
  const std::string reason = why_not_schedule(problem);
  return reason.empty() ? why_not_message_memory(problem) : reason;
}

std::string max_product_why_not(const Problem& problem, Task task) {
  const std::string reason = bp_why_not(problem, task);
  return reason.empty() ? why_not_maximum(problem) : reason;
}

// Runs message passing and says how it went.
void run_messages(const RunControl& control, const BeliefOptions& options, bool is_forest,
                  const OnIteration& on_iteration, BeliefPropagation& beliefs, RunFacts& facts) {
  beliefs.run(on_iteration, going_on(control));
  note_run(beliefs, is_forest, facts);
  note_resolved(options, facts);
}

MarginalsResult marginals_by_messages(const Problem& problem, const RunControl& control) {
  const FactorGraph layout = factor_graph(problem.compact_graph(), {}, control);
  const FactorOrder order = breadth_first(layout, control);
  const BeliefOptions options = belief_options(problem, Semiring::sum, order.is_forest);
  BeliefPropagation beliefs(layout, options);
  MarginalsResult result;
  run_messages(control, options, order.is_forest, reporting_to(problem, control), beliefs, result);
  warn_of_cycles(order.is_forest, result);
  result.marginals = beliefs.marginals();
  result.converged = beliefs.converged();
  result.exact = order.is_forest && beliefs.converged();
  if (!control.stop_requested())
    result.details["log_z"] = beliefs.log_z();  // else it would keep them waiting
  fill_unknown_errors(problem.compact_graph(), result);
  return result;
}

LogZResult logz_by_messages(const Problem& problem, const RunControl& control) {
  const FactorGraph layout = factor_graph(problem.compact_graph(), {}, control);
  const FactorOrder order = breadth_first(layout, control);
  const BeliefOptions options = belief_options(problem, Semiring::sum, order.is_forest);
  BeliefPropagation beliefs(layout, options);
  LogZResult result;
  run_messages(control, options, order.is_forest, reporting_to(problem, control), beliefs, result);
  warn_of_cycles(order.is_forest, result);
  result.log_z = beliefs.log_z();
  result.exact = order.is_forest && beliefs.converged();
  if (result.exact) {
    result.lower = result.upper = result.log_z;
    result.mcse = 0;
  }
  return result;
}

// Beliefs are decoded now and then on the way, because without convergence the last are not the best; what is
// kept is the best of them all after a climb.
BestStateResult map_by_messages(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.compact_graph();
  const FactorGraph layout = factor_graph(graph, {}, control);
  const FactorOrder order = breadth_first(layout, control);
  const BeliefOptions options = belief_options(problem, Semiring::maximum, order.is_forest);
  BeliefPropagation beliefs(layout, options);
  BestStateResult result;
  result.log_score = log_zero;
  const auto consider = [&](std::vector<Value> state) {
    const double score = log_score(graph, state);
    if (!result.assignment.empty() && !(score > result.log_score)) return;
    result.assignment = std::move(state);
    result.log_score = score;
  };
  const OnIteration reporting = reporting_to(problem, control);
  const OnIteration considering = [&](std::uint64_t iteration, double change) {
    if (iteration % 16 == 0) consider(beliefs.decode());
    return reporting(iteration, change);
  };
  run_messages(control, options, order.is_forest, considering, beliefs, result);
  consider(beliefs.decode());
  consider(beliefs.decode_in_order(order));
  polish(problem, result);
  result.optimal = order.is_forest && beliefs.converged();
  if (!result.optimal)
    result.warnings.emplace_back(
        "max-product on a graph with cycles gives a good state, not a proven one; mplp and lp give bounds");
  return result;
}

}  // namespace

BeliefOptions belief_options(const Problem& problem, Semiring semiring, bool is_forest) {
  const Messages& messages = problem.options().messages;
  BeliefOptions options;
  options.semiring = semiring;
  options.control = &problem.control();
  options.schedule =
      messages.schedule.value_or(is_forest ? MessageSchedule::sequential : MessageSchedule::flooding);
  // On a forest nothing needs damping; flooding then takes as many iterations as its longest path.
  options.damping = messages.damping.value_or(is_forest ? 0.0 : 0.5);
  options.iterations = messages.iterations.value_or(
      is_forest ? std::max<std::uint64_t>(1000, 2 * problem.graph().size() + 2) : 1000);
  return options;
}

std::string why_not_schedule(const Problem& problem) {
  if (problem.options().messages.schedule || !problem.options().herded.schedule) return "";
  return fmt::format("messages have no schedule {} (flooding, sequential, residual)",
                     choice_name(*problem.options().herded.schedule));
}

void note_resolved(const BeliefOptions& options, RunFacts& facts) {
  facts.resolved["iterations"] = options.iterations;
  facts.resolved["damping"] = options.damping;
  facts.resolved["schedule"] = choice_name(options.schedule);
}

OnIteration reporting_to(const Problem& problem, const RunControl& control) {
  const std::uint64_t planned = belief_options(problem, Semiring::sum, false).iterations;
  return [&control, planned](std::uint64_t iteration, double) {
    Progress progress;
    progress.phase = "passing messages";
    progress.fraction = std::min(1.0, static_cast<double>(iteration) / static_cast<double>(planned));
    progress.sweeps = iteration;
    control.report(progress);
    return !control.should_stop();
  };
}

GoOn going_on(const RunControl& control) {
  return [&control] { return !control.should_stop(); };
}

void note_run(const BeliefPropagation& beliefs, bool is_forest, RunFacts& facts) {
  const std::uint64_t iterations = beliefs.iterations();
  facts.sweeps = iterations;
  facts.updates = static_cast<double>(beliefs.messages().size()) * static_cast<double>(iterations);
  facts.details["iterations"] = iterations;
  facts.details["converged"] = beliefs.converged();
  facts.details["largest_change"] = beliefs.largest_change();
  facts.details["forest"] = is_forest;
  if (!beliefs.converged())
    facts.warnings.push_back(fmt::format(
        "messages have not converged after {} iterations (largest change {:.2g}): more iterations, more "
        "damping or the residual schedule may help",
        iterations, beliefs.largest_change()));
}

void warn_of_cycles(bool is_forest, RunFacts& facts) {
  if (!is_forest)
    facts.warnings.emplace_back(
        "the graph has cycles: belief propagation is an approximation there, with an error it does not know");
}

void fill_unknown_errors(const Graph& graph, MarginalsResult& result) {
  result.mcse.assign(graph.cardinalities, result.exact ? 0.0 : not_known);
  result.rhat.assign(result.marginals.size(), not_known);
  result.ess.assign(result.marginals.size(), not_known);
  if (result.exact) result.diagnostics.mcse_max = 0;
}

std::string why_not_maximum(const Problem& problem) {
  if (!has_large_noisy_or(problem.compact_graph())) return "";
  return fmt::format("the best state of a noisy-OR factor of more than {} inputs has no fast message",
                     largest_noisy_or);
}

std::string why_not_message_memory(const Problem& problem) {
  const Graph& graph = problem.compact_graph();
  double entries = 4.0 * static_cast<double>(graph.spin_pairs.size());
  for (VariableId v : graph.potts_pairs.first) entries += 2.0 * graph.cardinalities[v];
  for (VariableId v : graph.tables.scopes) entries += graph.cardinalities[v];
  for (std::size_t g = 0; g < graph.gates.size(); ++g)
    entries += 2.0 * static_cast<double>(graph.gates.scope(g).size());
  // A double per entry of a message; unaries, sums, counts of zeros, beliefs and their errors per state.
  const double bytes = 8 * entries + 36.0 * static_cast<double>(graph.unary.size());
  const auto limit = static_cast<double>(problem.memory_limit_bytes());
  if (bytes <= limit) return "";
  return fmt::format("its messages would need {:.3g} GB, the memory limit is {:.3g} GB", bytes / 1e9,
                     limit / 1e9);
}

void polish(const Problem& problem, BestStateResult& result) {
  if (problem.graph().gates.size() > 0) {  // too large for the tables that a climb reads
    result.log_score = log_score(problem.compact_graph(), result.assignment);
    if (result.log_score == log_zero)
      result.warnings.emplace_back("the decoded state breaks a hard constraint");
    return;
  }
  const IteratedModes modes(problem.graph());
  result.log_score = modes.climb(result.assignment, {}, problem.control()).log_score;
  if (result.log_score != log_zero) return;
  // Decoded states may break hard constraints that only a search can satisfy.
  const auto supported = starting_states(problem, 1);
  if (supported.empty()) return;
  result.assignment = supported[0];
  result.log_score = modes.climb(result.assignment).log_score;
  result.warnings.emplace_back(
      "the decoded state breaks a hard constraint; a state found by search is returned instead");
}

Method bp_method() {
  return {"bp",
          "belief propagation (sum-product): marginals and the Bethe log Z",
          "Pearl 1988; Yedidia, Freeman and Weiss 2005",
          bp_why_not,
          marginals_by_messages,
          nullptr,
          logz_by_messages,
          nullptr,
          "schedule iterations damping",
          1e300,
          true};
}

Method max_product_method() {
  return {"max-product",
          "max-product belief propagation, decoded and polished by icm",
          "Pearl 1988; Weiss and Freeman 2001",
          max_product_why_not,
          nullptr,
          map_by_messages,
          nullptr,
          nullptr,
          "schedule iterations damping",
          1e300,
          true};
}

}  // namespace drover
