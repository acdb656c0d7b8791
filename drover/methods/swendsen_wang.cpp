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

constexpr std::uint32_t default_chains = 32;

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

MarginalsResult marginals(const Problem& problem, const Monitor& monitor, std::string_view method,
                          double share) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_chains);
  return marginals_by_chains(problem, method, SwendsenWang(problem.graph(), share), options, monitor);
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer,
                    std::string_view method, double share) {
  const ChainOptions options = chain_options(
      problem, Task::sample, chains_for_samples(wanted_samples(problem.settings()), default_chains));
  return sample_by_chains(problem, method, SwendsenWang(problem.graph(), share), options, monitor, consumer);
}

LogZResult logz(const Problem& problem, const Monitor& monitor) {
  const DualLogZOptions options = dual_bound_options(problem, monitor);
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

MarginalsResult generalized_marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_chains);
  return marginals_by_chains(problem, "generalized-swendsen-wang", GeneralizedSwendsenWang(problem.graph()),
                             options, monitor);
}

SampleResult generalized_sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const ChainOptions options = chain_options(
      problem, Task::sample, chains_for_samples(wanted_samples(problem.settings()), default_chains));
  return sample_by_chains(problem, "generalized-swendsen-wang", GeneralizedSwendsenWang(problem.graph()),
                          options, monitor, consumer);
}

}  // namespace

Method swendsen_wang_method() {
  return {"swendsen-wang",
          "clusters of satisfied pairs drawn anew together; spin and Potts models",
          "Swendsen and Wang 1987",
          why_not_whole,
          [](const Problem& problem, const Monitor& monitor) {
            return marginals(problem, monitor, "swendsen-wang", 1);
          },
          nullptr,
          logz,
          [](const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
            return sample(problem, monitor, consumer, "swendsen-wang", 1);
          },
          chain_option_names};
}

Method partial_swendsen_wang_method() {
  return {"partial-swendsen-wang",
          "smaller clusters than Swendsen-Wang, the rest of each pair dualised",
          "Higdon 1998; Mescheder, Nowozin and Geiger 2016",
          why_not_partial,
          [](const Problem& problem, const Monitor& monitor) {
            return marginals(problem, monitor, "partial-swendsen-wang", problem.settings().bond_share);
          },
          nullptr,
          nullptr,
          [](const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
            return sample(problem, monitor, consumer, "partial-swendsen-wang", problem.settings().bond_share);
          },
          chain_option_names + " bond-share"};
}

Method generalized_swendsen_wang_method() {
  return {"generalized-swendsen-wang",
          "cluster moves with an acceptance step, for any strictly positive factors",
          "Barbu and Zhu 2005",
          why_not_generalized,
          generalized_marginals,
          nullptr,
          nullptr,
          generalized_sample,
          chain_option_names};
}

}  // namespace drover
