// A sampler that takes part in the race (race.cpp): its chains while they are alive, what they have done and learnt, and how
// far that is from the targets.
#pragma once

#include <cstdint>
#include <string>

#include "drover/methods/live_chains.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/standing.hpp"
#include "drover/run/chain_run.hpp"

namespace drover {

struct Contestant {
  const Method* method = nullptr;
  const Method* second = nullptr;  ///< in turns with the first
  std::string name;
  ChainOptions options{};
  LiveChains* chains = nullptr;  ///< null once it was dismissed
  bool waits = false;            ///< it left, and comes back should the others turn out worse
  std::uint64_t blocks = 0;      ///< LiveChains::blocks()
  const Contestant* same =
      nullptr;            ///< an earlier one that draws the same blocks, so that this one does not run
  double sweep_work = 0;  ///< of all its chains
  Standing standing{};
  RunFacts facts{};
  RaceEntry entry{};

  /// Effective samples of the slowest entries per work, by their growth.
  double rate() const { return standing.ess_per_sweep / sweep_work; }
  /// The same for comparisons.
  double score() const { return sure_rate(standing, entry.chains, entry.sweeps) / sweep_work; }
  /// Whether there is anything to tell it from others by: else its chains are stuck.
  bool moves() const { return rate() > 0 || standing.diagnostics.rhat_max <= chains_apart; }
};

/// What a run is to reach for every entry.
struct Targets {
  double rhat = 1.01;
  double mcse = 0;  ///< 0: any

  bool are_met(const Contestant& one) const;
  /// How many times the kept sweeps it would take to meet them.
  double work_factor(const Contestant& one) const;
  /// The work that it would take to meet them.
  double work_left(const Contestant& one) const;
};

}  // namespace drover
