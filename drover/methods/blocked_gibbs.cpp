// The registry's entry for blocked Gibbs (drover/sample/blocked/blocked_gibbs.hpp).
#include "drover/sample/blocked/blocked_gibbs.hpp"

#include "drover/compile/stoppable.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"

namespace drover {

namespace {

std::string why_not_blocked_gibbs(const Problem&, Task) {
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

std::uint32_t default_blocked_gibbs_chains(const Problem&) {
  return 64;
}

void run_blocked_gibbs(const Problem& problem, const ChainOptions& options, const RunControl& control,
                       ChainTask& task) {
  BlockOptions blocks;
  blocks.max_entries = options.block_entries;
  const BlockedGibbs kernel(problem.graph(), choose_blocks(problem.graph(), blocks, control),
                            starting_states(problem, options.chains), control);
  note_blocks(kernel, task.run("blocked-gibbs", kernel));
}

constexpr ChainSampler blocked_gibbs_sampler{default_blocked_gibbs_chains, run_blocked_gibbs};

}  // namespace

Method blocked_gibbs_method() {
  return chain_method<blocked_gibbs_sampler>(
      "blocked-gibbs", "Gibbs over blocks: trees and low-width groups of variables drawn jointly",
      "Jensen, Kong and Kjaerulff 1995; Hamze and de Freitas 2004", why_not_blocked_gibbs);
}

}  // namespace drover
