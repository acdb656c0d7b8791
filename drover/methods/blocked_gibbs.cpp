// The registry's entry for blocked Gibbs (drover/sample/blocked/blocked_gibbs.hpp).
#include "drover/sample/blocked/blocked_gibbs.hpp"

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_chains = 64;

std::string why_not(const Problem&, Task) {
  return "";
}

void note_blocks(const BlockedGibbs& kernel, RunFacts& facts) {
  std::size_t largest = 0;
  for (const Block& block : kernel.blocks().list) largest = std::max(largest, block.order.size());
  facts.details["blocks"] = kernel.blocks().list.size();
  facts.details["largest_block"] = largest;
  const std::string warning = kernel.blocks().warning();
  if (!warning.empty()) facts.warnings.push_back(warning);
}

MarginalsResult marginals(const Problem& problem, const Monitor& monitor) {
  const ChainOptions options = chain_options(problem, Task::marginals, default_chains);
  const BlockedGibbs kernel(problem.graph(), BlockOptions{}, starting_states(problem, options.chains));
  MarginalsResult result = marginals_by_chains(problem, "blocked-gibbs", kernel, options, monitor);
  note_blocks(kernel, result);
  return result;
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const ChainOptions options = chain_options(
      problem, Task::sample, chains_for_samples(wanted_samples(problem.settings()), default_chains));
  const BlockedGibbs kernel(problem.graph(), BlockOptions{}, starting_states(problem, options.chains));
  SampleResult result = sample_by_chains(problem, "blocked-gibbs", kernel, options, monitor, consumer);
  note_blocks(kernel, result);
  return result;
}

}  // namespace

Method blocked_gibbs_method() {
  return {"blocked-gibbs",
          "Gibbs over blocks: trees and low-width groups of variables drawn jointly",
          "Jensen, Kong and Kjaerulff 1995; Hamze and de Freitas 2004",
          why_not,
          marginals,
          nullptr,
          nullptr,
          sample,
          chain_option_names};
}

}  // namespace drover
