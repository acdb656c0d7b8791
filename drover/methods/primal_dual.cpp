// The registry's entries for the primal-dual samplers, plain (drover/sample/dual/primal_dual_lanes.hpp) and
// with a forest (drover/sample/dual/tree_primal_dual.hpp).
#include <fmt/format.h>

#include "drover/compile/cluster_bonds.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/dual_bound.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/spread/primal_dual_mixture_spread.hpp"
#include "drover/sample/spread/primal_dual_spread.hpp"

namespace drover {

namespace {

// Decomposing a table takes time in proportion to its entries and the components of its mixtures.
constexpr std::size_t largest_table = 4096;

std::string why_not_dual(const Problem& problem, Task task) {
  const Graph& graph = problem.graph();
  if (task == Task::logz && !graph.is_spin())
    return "its bound of log Z takes binary variables with strictly positive factors of one or two variables";
  for (std::size_t f = 0; f < graph.tables.size(); ++f)
    if (graph.tables.values(f).size() > largest_table)
      return fmt::format("the factor over {} has {} entries; factors of up to {} are decomposed",
                         scope_name(graph, graph.tables.scope(f)), graph.tables.values(f).size(),
                         largest_table);
  return graph.is_spin() ? "" : broken_connectivity(problem);
}

// Beliefs and mixtures are plain numbers: beyond the range of a double, states that another factor makes
// likely again would be lost.
std::string why_not_by_mixtures(const Problem& problem, Task task) {
  constexpr double most_nats = 650;
  const double span = problem.largest_span();
  if (!(span <= most_nats))
    return fmt::format(
        "the factors at a variable put its states up to {:.3g} nats apart; its arithmetic bears {:.0f}", span,
        most_nats);
  return why_not_dual(problem, task);
}

std::string why_not_primal_dual(const Problem& problem, Task task) {
  return problem.graph().is_spin() ? why_not_dual(problem, task) : why_not_by_mixtures(problem, task);
}

// Fitted decompositions stay exact, but one far from its factor would hardly ever let its variables move.
void check_fit(const DualPlan& plan, double tolerance) {
  if (plan.divergence > tolerance)
    throw Error(
        ErrorKind::misfit,
        fmt::format("the fitted decomposition of the factor over {} is {:.3g} nats (KL) away from it, "
                    "more than the tolerance of {}",
                    plan.worst_factor, plan.divergence, tolerance));
}

void note_dual_plan(const TreePrimalDual& kernel, RunFacts& facts) {
  const DualPlan& plan = kernel.plan();
  facts.details["forest_pairs"] = kernel.forest_links();
  facts.details["pairs"] = plan.links.size();
  if (plan.worst_factor.empty()) return;
  facts.details["fit_divergence_max"] = plan.divergence;
  facts.details["residual_share_max"] = plan.residual_share;
}

TreePrimalDual general_kernel(const Problem& problem, ForestChoice choice, std::uint32_t chains) {
  TreePrimalDual kernel(problem.graph(), choice, starting_states(problem, chains));
  check_fit(kernel.plan(), problem.options().dual.tolerance);
  return kernel;
}

void run_plain(const Problem& problem, const ChainOptions& options, const RunControl& control,
               ChainTask& task) {
  const auto run = [&](const auto& kernel, const char* kernel_name) -> RunFacts& {
    RunFacts& facts = task.run("primal-dual", kernel);
    facts.details["kernel"] = kernel_name;
    return facts;
  };
  if (!problem.graph().is_spin()) {
    constexpr const char* name = "mixtures of any factors";
    const auto note = [&](const TreePrimalDual& kernel, RunFacts& facts) {
      note_dual_plan(kernel, facts);
      warn_of_unknown_connectivity(problem, facts);
    };
    if (use_spread_chains(problem, options.chains, control.ranks())) {
      const PrimalDualMixtureSpread spread(problem.graph(), starting_states(problem, options.chains),
                                           control.ranks());
      check_fit(spread.kernel().plan(), problem.options().dual.tolerance);
      note(spread.kernel(), run(spread, name));
    } else {
      const TreePrimalDual kernel = general_kernel(problem, ForestChoice::none, options.chains);
      note(kernel, run(kernel, name));
    }
    return;
  }
  const SpinGraph spins = spin_graph(problem.graph(), problem.control());
  if (use_spread_chains(problem, options.chains, control.ranks()))
    run(PrimalDualSpread(spins, control.ranks()), "one chain by pairs and variables");
  else if (use_long_chains(problem, options.chains))
    run(PrimalDualChain(spins), "one chain by pairs and variables");
  else
    run(PrimalDualLanes(spins), "chains as lanes");
}

constexpr ChainSampler plain_sampler{default_gibbs_chains, run_plain};

std::uint32_t default_tree_chains(const Problem&) {
  return 64;
}

double tree_update_cost(const Problem&) {
  return 10;
}

void run_tree(const Problem& problem, const ChainOptions& options, const RunControl&, ChainTask& task) {
  const ForestChoice choice = problem.options().dual.redraw ? ForestChoice::redrawn : ForestChoice::heaviest;
  const TreePrimalDual kernel = general_kernel(problem, choice, options.chains);
  RunFacts& facts = task.run("tree-primal-dual", kernel);
  note_dual_plan(kernel, facts);
  warn_of_unknown_connectivity(problem, facts);
}

constexpr ChainSampler tree_sampler{default_tree_chains, run_tree, tree_update_cost};

LogZResult logz_by_primal_dual(const Problem& problem, const RunControl& control) {
  const DualLogZOptions options = dual_bound_options(problem, control);
  return dual_bound_result(problem, options,
                           dual_log_z(spin_edges(spin_graph(problem.graph(), problem.control())), options));
}

}  // namespace

Method primal_dual_method() {
  Method method = chain_method<plain_sampler>(
      "primal-dual", "Gibbs over variables and the duals of their factors in turn; no colouring",
      "Mescheder, Nowozin and Geiger 2016", why_not_primal_dual, "tolerance");
  method.logz = logz_by_primal_dual;
  return method;
}

Method tree_primal_dual_method() {
  return chain_method<tree_sampler>(
      "tree-primal-dual", "all variables jointly over a spanning forest, duals for the other factors",
      "Mescheder, Nowozin and Geiger 2016", why_not_by_mixtures, "tolerance redraw");
}

}  // namespace drover
