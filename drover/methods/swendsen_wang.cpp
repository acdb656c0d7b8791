// The registry's entries for Swendsen-Wang: whole and partial (drover/sample/dual/swendsen_wang.hpp),
// generalised (drover/sample/dual/generalized_swendsen_wang.hpp).
#include "drover/sample/dual/swendsen_wang.hpp"

#include <fmt/format.h>

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/dual_bound.hpp"
#include "drover/sample/dual/generalized_swendsen_wang.hpp"

namespace drover {

namespace {

std::string no_bonds(const Graph& graph) {
  if (graph.tables.size() > 0)
    return fmt::format("the factor over {} is neither a spin pair nor a Potts pair",
                       scope_name(graph, graph.tables.scope(0)));
  for (std::size_t p = 0; p < graph.potts_pairs.size(); ++p)
    if (graph.potts_pairs.couplings[p] < 0) return frustration(graph);
  return "";
}

std::string why_not_whole(const Problem& problem, Task) {
  const std::string reason = no_bonds(problem.graph());
  return reason.empty() ? frustration(problem.graph()) : reason;
}

std::string why_not_partial(const Problem& problem, Task) {
  return no_bonds(problem.graph());
}

std::uint32_t default_cluster_chains(const Problem&) {
  return 32;
}

void run_whole(const Problem& problem, const ChainOptions&, const RunControl&, ChainTask& task) {
  task.run("swendsen-wang", SwendsenWang(problem.graph(), 1));
}

void run_partial(const Problem& problem, const ChainOptions&, const RunControl&, ChainTask& task) {
  task.run("partial-swendsen-wang", SwendsenWang(problem.graph(), problem.options().dual.bond_share));
}

void run_generalized(const Problem& problem, const ChainOptions&, const RunControl&, ChainTask& task) {
  Moves moves;
  RunFacts& facts = task.run("generalized-swendsen-wang", GeneralizedSwendsenWang(problem.graph()),
                             [&](const ChainRun& run) { moves = run.totals<GeneralizedSwendsenWang>(); });
  facts.details["acceptance"] = moves.acceptance();
}

constexpr ChainSampler whole_sampler{default_cluster_chains, run_whole},
    partial_sampler{default_cluster_chains, run_partial},
    generalized_sampler{default_cluster_chains, run_generalized};

LogZResult logz_by_swendsen_wang(const Problem& problem, const RunControl& control) {
  const DualLogZOptions options = dual_bound_options(problem, control);
  return dual_bound_result(problem, options, cluster_log_z(problem.graph(), options));
}

std::string why_not_generalized(const Problem& problem, Task) {
  const Graph& graph = problem.graph();
  if (graph.is_strictly_positive()) return "";
  for (std::size_t f = 0; f < graph.tables.size(); ++f)
    for (double value : graph.tables.values(f))
      if (value == log_zero)
        return fmt::format("the factor over {} has hard zeros", scope_name(graph, graph.tables.scope(f)));
  return "";
}

}  // namespace

Method swendsen_wang_method() {
  Method method = chain_method<whole_sampler>(
      "swendsen-wang", "clusters of satisfied pairs drawn anew together; spin and Potts models",
      "Swendsen and Wang 1987", why_not_whole);
  method.logz = logz_by_swendsen_wang;
  return method;
}

Method partial_swendsen_wang_method() {
  return chain_method<partial_sampler>(
      "partial-swendsen-wang", "smaller clusters than Swendsen-Wang, the rest of each pair dualised",
      "Higdon 1998; Mescheder, Nowozin and Geiger 2016", why_not_partial, "bond-share");
}

Method generalized_swendsen_wang_method() {
  return chain_method<generalized_sampler>(
      "generalized-swendsen-wang", "cluster moves with an acceptance step, for any strictly positive factors",
      "Barbu and Zhu 2005", why_not_generalized);
}

}  // namespace drover
