// The registry's entry for single-site Gibbs sampling.
#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not(const Problem& problem, Task) {
  return broken_connectivity(problem);
}

MarginalsResult marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_gibbs_chains(problem));
  return with_gibbs_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name) {
    MarginalsResult result = marginals_by_chains(problem, "gibbs", kernel, options, monitor);
    result.details["kernel"] = kernel_name;
    warn_of_unknown_connectivity(problem, result);
    return result;
  });
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const std::uint32_t chains =
      chains_for_samples(wanted_samples(problem.settings()), default_gibbs_chains(problem));
  const ChainOptions options = chain_options(problem, Task::sample, chains);
  return with_gibbs_kernel(problem, options.chains, [&](const auto& kernel, const char* kernel_name) {
    SampleResult result = sample_by_chains(problem, "gibbs", kernel, options, monitor, consumer);
    result.details["kernel"] = kernel_name;
    warn_of_unknown_connectivity(problem, result);
    return result;
  });
}

}  // namespace

Method gibbs_method() {
  return {"gibbs",
          "single-site Gibbs sampling, many chains at once",
          "Geman and Geman 1984",
          why_not,
          marginals,
          nullptr,
          nullptr,
          sample,
          chain_option_names + " scan"};
}

}  // namespace drover
