// The registry's entries for the primal-dual samplers, plain (drover/sample/dual/primal_dual_lanes.hpp) and with a
// forest (drover/sample/dual/tree_primal_dual.hpp).
#include <fmt/format.h>

#include "drover/compile/cluster_bonds.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/dual_bound.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_tree_chains = 64;
// Decomposing a table takes time in proportion to its entries and the components of its mixtures.
constexpr std::size_t largest_table = 4096;

std::string why_not(const Problem& problem, Task task) {
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

// Fitted decompositions stay exact, but one far from its factor would hardly ever let its variables move.
void check_fit(const DualPlan& plan, const Settings& settings) {
  if (plan.divergence > settings.tolerance)
    throw Error(
        ErrorKind::misfit,
        fmt::format("the fitted decomposition of the factor over {} is {:.3g} nats (KL) away from it, "
                    "more than --tolerance {}",
                    plan.worst_factor, plan.divergence, settings.tolerance));
}

void note_plan(const TreePrimalDual& kernel, RunFacts& facts) {
  const DualPlan& plan = kernel.plan();
  facts.details["forest_pairs"] = kernel.forest_links();
  facts.details["pairs"] = plan.links.size();
  if (plan.worst_factor.empty()) return;
  facts.details["fit_divergence_max"] = plan.divergence;
  facts.details["residual_share_max"] = plan.residual_share;
}

TreePrimalDual general_kernel(const Problem& problem, ForestChoice choice, std::uint32_t chains) {
  TreePrimalDual kernel(problem.graph(), choice, starting_states(problem, chains));
  check_fit(kernel.plan(), problem.settings());
  return kernel;
}

// `use` gets the kernel, a few words that say which it is, and a function that adds what else is known of it.
template <class Use>
auto with_kernel(const Problem& problem, std::uint32_t chains, Use use) {
  const auto nothing = [](RunFacts&) {};
  if (problem.graph().is_spin()) {
    const SpinGraph spins = spin_graph(problem.graph());
    if (use_long_chains(problem, chains))
      return use(PrimalDualChain(spins), "one chain by pairs and variables", nothing);
    return use(PrimalDualLanes(spins), "chains as lanes", nothing);
  }
  const TreePrimalDual kernel = general_kernel(problem, ForestChoice::none, chains);
  return use(kernel, "mixtures of any factors", [&](RunFacts& facts) {
    note_plan(kernel, facts);
    warn_of_unknown_connectivity(problem, facts);
  });
}

MarginalsResult marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_gibbs_chains(problem));
  return with_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name, auto note) {
    MarginalsResult result = marginals_by_chains(problem, "primal-dual", kernel, options, monitor);
    result.details["kernel"] = kernel_name;
    note(result);
    return result;
  });
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const std::uint32_t chains =
      chains_for_samples(wanted_samples(problem.settings()), default_gibbs_chains(problem));
  const ChainOptions options = chain_options(problem, Task::sample, chains);
  return with_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name, auto note) {
    SampleResult result = sample_by_chains(problem, "primal-dual", kernel, options, monitor, consumer);
    result.details["kernel"] = kernel_name;
    note(result);
    return result;
  });
}

LogZResult logz(const Problem& problem, const Monitor& monitor) {
  const DualLogZOptions options = dual_bound_options(problem, monitor);
  return dual_bound_result(problem, options, dual_log_z(spin_edges(spin_graph(problem.graph())), options));
}

ForestChoice forest_choice(const Settings& settings) {
  return settings.redraw ? ForestChoice::redrawn : ForestChoice::heaviest;
}

MarginalsResult tree_marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_tree_chains);
  const TreePrimalDual kernel = general_kernel(problem, forest_choice(problem.settings()), options.chains);
  MarginalsResult result = marginals_by_chains(problem, "tree-primal-dual", kernel, options, monitor);
  note_plan(kernel, result);
  warn_of_unknown_connectivity(problem, result);
  return result;
}

SampleResult tree_sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const ChainOptions options = chain_options(
      problem, Task::sample, chains_for_samples(wanted_samples(problem.settings()), default_tree_chains));
  const TreePrimalDual kernel = general_kernel(problem, forest_choice(problem.settings()), options.chains);
  SampleResult result = sample_by_chains(problem, "tree-primal-dual", kernel, options, monitor, consumer);
  note_plan(kernel, result);
  warn_of_unknown_connectivity(problem, result);
  return result;
}

}  // namespace

Method primal_dual_method() {
  return {"primal-dual",
          "Gibbs over variables and the duals of their factors in turn; no colouring",
          "Mescheder, Nowozin and Geiger 2016",
          why_not,
          marginals,
          nullptr,
          logz,
          sample,
          chain_option_names + " tolerance"};
}

Method tree_primal_dual_method() {
  return {"tree-primal-dual",
          "all variables jointly over a spanning forest, duals for the other factors",
          "Mescheder, Nowozin and Geiger 2016",
          why_not,
          tree_marginals,
          nullptr,
          nullptr,
          tree_sample,
          chain_option_names + " tolerance redraw"};
}

}  // namespace drover
