// The registry's entry for single-site Gibbs sampling.
#include <algorithm>

#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not_gibbs(const Problem& problem, Task) {
  return broken_connectivity(problem);
}

// Tables are drawn from state by state.
double gibbs_update_cost(const Problem& problem) {
  const Graph& graph = problem.graph();
  if (graph.is_spin() || graph.size() == 0) return 1;
  return std::max(1.0, static_cast<double>(graph.unary.size()) / (2 * static_cast<double>(graph.size())));
}

void run_gibbs(const Problem& problem, const ChainOptions& options, const RunControl& control,
               ChainTask& task) {
  with_gibbs_kernel(problem, options.chains, control.ranks(),
                    [&](const auto& kernel, const char* kernel_name) {
                      RunFacts& facts = task.run("gibbs", kernel);
                      facts.details["kernel"] = kernel_name;
                      warn_of_unknown_connectivity(problem, facts);
                    });
}

constexpr ChainSampler gibbs_sampler{default_gibbs_chains, run_gibbs, gibbs_update_cost};

}  // namespace

Method gibbs_method() {
  return chain_method<gibbs_sampler>("gibbs", "single-site Gibbs sampling, many chains at once",
                                     "Geman and Geman 1984", why_not_gibbs, "scan");
}

}  // namespace drover
