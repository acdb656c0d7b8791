// The registry's entry for the primal-dual sampler (drover/sample/primal_dual_lanes.hpp).
#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/sample/primal_dual_chain.hpp"
#include "drover/sample/primal_dual_lanes.hpp"

namespace drover {

namespace {

std::string why_not(const Problem& problem, Task) {
  if (!problem.graph().is_spin()) return "it wants binary variables and strictly positive pairs";
  return "";
}

template <class Use>
auto with_kernel(const Problem& problem, std::uint32_t chains, Use use) {
  const SpinGraph spins = spin_graph(problem.graph());
  if (use_long_chains(problem, chains))
    return use(PrimalDualChain(spins), "one chain by pairs and variables");
  return use(PrimalDualLanes(spins), "chains as lanes");
}

MarginalsResult marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_gibbs_chains(problem));
  return with_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name) {
    MarginalsResult result = marginals_by_chains(problem, "primal-dual", kernel, options, monitor);
    result.details["kernel"] = kernel_name;
    return result;
  });
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const std::uint32_t chains =
      chains_for_samples(wanted_samples(problem.settings()), default_gibbs_chains(problem));
  const ChainOptions options = chain_options(problem, Task::sample, chains);
  return with_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name) {
    SampleResult result = sample_by_chains(problem, "primal-dual", kernel, options, monitor, consumer);
    result.details["kernel"] = kernel_name;
    return result;
  });
}

}  // namespace

Method primal_dual_method() {
  return {"primal-dual",
          "Gibbs over variables and the duals of their factors in turn; no colouring",
          "Mescheder, Nowozin and Geiger 2016",
          why_not,
          marginals,
          nullptr,
          nullptr,
          sample};
}

}  // namespace drover
