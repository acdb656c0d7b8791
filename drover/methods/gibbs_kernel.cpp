#include "drover/methods/gibbs_kernel.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

bool use_bytes(const SpinGraph& graph) {
  return graph.neighbour.size() <= 24 * graph.size();
}

bool use_long_chains(const Problem& problem, std::uint32_t chains) {
  return chains <= 8 && problem.graph().size() >= 10'000 && problem.options().chains.scan == Scan::fixed;
}

bool use_colours(const Problem& problem, std::uint32_t chains) {
  if (chains > 4 || problem.options().chains.scan != Scan::fixed) return false;
  const Graph& graph = problem.graph();
  return graph.size() >= 500 && graph.spin_pairs.size() <= 6 * graph.size() && graph.is_spin();
}

bool use_spread_chains(const Problem& problem, std::uint32_t chains, const Ranks& ranks) {
  return chains < ranks.size() && use_long_chains(problem, chains);
}

std::uint32_t default_gibbs_chains(const Problem& problem) {
  constexpr std::size_t most_entries_in_lanes = 2'000'000;
  return problem.graph().unary.size() / 2 <= most_entries_in_lanes ? 128 : 4;
}

std::string broken_connectivity(const Problem& problem) {
  const ConnectivityReport& report = problem.connectivity();
  if (report.connectivity != Connectivity::broken) return "";
  return "changes of one variable at a time cannot reach every possible state: " + report.reason;
}

void warn_of_unknown_connectivity(const Problem& problem, RunFacts& facts) {
  if (problem.connectivity().connectivity != Connectivity::unknown) return;
  facts.warnings.emplace_back(
      "the model has hard zeros, and it is not known whether changes of one variable at a time reach every "
      "possible state; blocked-gibbs is safer");
}

void warn_of_connectivity(const Problem& problem, RunFacts& facts) {
  const std::string broken = broken_connectivity(problem);
  if (!broken.empty()) facts.warnings.push_back(broken + "; a better state may be out of reach");
  warn_of_unknown_connectivity(problem, facts);
}

}  // namespace drover
