// Picks the single-site Gibbs kernel that suits a problem and hands it to `use`.
#pragma once

#include "drover/compile/lattice.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/methods/chains.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "drover/sample/spread/gibbs_lattice_spread.hpp"
#include "drover/sample/spread/gibbs_spin_spread.hpp"
#include "drover/sample/spread/gibbs_table_spread.hpp"

namespace drover {

/// Whether 64 chains of a spin graph are kept as bytes: faster while variables have few neighbours.
bool use_bytes(const SpinGraph& graph);

/// Many chains at once, each in its lane: for spins one byte or bit per chain and variable, else any graph.
template <class Use>
auto with_lane_kernel(const Problem& problem, std::uint32_t chains, Use use) {
  const Scan scan = problem.options().chains.scan;
  if (problem.graph().is_spin()) {
    const SpinGraph spins = spin_graph(problem.graph(), problem.control());
    if (use_bytes(spins)) return use(GibbsSpinBytes(spins, scan));
    return use(GibbsSpinLanes(spins, scan));
  }
  GibbsTableLanes::Options options;
  options.scan = scan;
  options.starts = starting_states(problem, chains);
  return use(GibbsTableLanes(problem.graph(), options));
}

/// Few chains on a large graph are stepped one after the other, each vectorised over its sites.
bool use_long_chains(const Problem& problem, std::uint32_t chains);
/// Few chains on a smaller graph that is sparse and of spins: the same by colours; lanes would draw 64 chains for them.
bool use_colours(const Problem& problem, std::uint32_t chains);
/// Long chains that are fewer than the ranks lie on all of them.
bool use_spread_chains(const Problem& problem, std::uint32_t chains, const Ranks& ranks);

/// 128 chains, two batches of lanes; for models so large that lanes would not fit in memory, 4 long chains.
std::uint32_t default_gibbs_chains(const Problem& problem);

/// A kernel for this many chains: lanes for many, one chain at a time for few on a graph that is not small.
/// `use` also gets a few words that say which kernel it is, whatever the number of ranks.
template <class Use>
auto with_gibbs_kernel(const Problem& problem, std::uint32_t chains, const Ranks& ranks, Use use) {
  if (!use_long_chains(problem, chains)) {
    if (use_colours(problem, chains))
      return use(GibbsSpinChain(spin_graph(problem.graph(), problem.control())),
                 "one chain by colour classes");
    return with_lane_kernel(problem, chains,
                            [&](const auto& kernel) { return use(kernel, "chains as lanes"); });
  }
  if (problem.graph().is_spin()) {
    if (auto lattice = recognise_lattice(problem.graph()); lattice && lattice->is_checkerboard()) {
      const bool spread = use_spread_chains(problem, chains, ranks);
      if (const auto equal = equal_lattice(*lattice); equal && equal->width >= 200) {
        constexpr const char* name = "one chain on a lattice of equal couplings";
        lattice.reset();  // its memory serves the run
        if (spread) return use(GibbsLatticeSpread<GibbsSpinEqualLattice>(*equal, ranks), name);
        return use(GibbsSpinEqualLattice(*equal), name);
      }
      constexpr const char* name = "one chain on a checkerboard lattice";
      if (spread) return use(GibbsLatticeSpread<GibbsSpinLattice>(*lattice, ranks), name);
      GibbsSpinLattice kernel(*lattice);
      lattice.reset();
      return use(std::move(kernel), name);
    }
    const SpinGraph spins = spin_graph(problem.graph(), problem.control());
    if (use_spread_chains(problem, chains, ranks))
      return use(GibbsSpinSpread(spins, ranks), "one chain by colour classes");
    return use(GibbsSpinChain(spins), "one chain by colour classes");
  }
  GibbsTableChain::Options options;
  options.starts = starting_states(problem, chains);
  if (use_spread_chains(problem, chains, ranks))
    return use(GibbsTableSpread(problem.graph(), options, ranks), "one chain by colour classes");
  return use(GibbsTableChain(problem.graph(), options), "one chain by colour classes");
}

/// Why single-site moves do not reach every state; empty when they do or when it is not known.
std::string broken_connectivity(const Problem& problem);
/// Says so in a warning when it is not known whether single-site moves connect the states.
void warn_of_unknown_connectivity(const Problem& problem, RunFacts& facts);
/// The same, and a warning when they do not: for methods that run all the same.
void warn_of_connectivity(const Problem& problem, RunFacts& facts);

}  // namespace drover
