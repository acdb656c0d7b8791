// Which tables of weights herded Gibbs gets, and what they will weigh, before anything is allocated.
//
//   dense    (weight, probability) for every configuration: 8 bytes, for K > 2 states 8 K
//   exact    the same for every distinct conditional; beyond 2^12 configurations, found by hashing
//   hashed   a key and weights for every configuration met: at most min(configurations, visits) per variable
//   bins:N   the same for every bin met: at most N + 2 for a binary variable
//
// Hash tables are at most half full and double, so a bound counts four places for each key. The bounds are
// per chain times the number of chains; they are upper bounds, and exact for dense tables.
#pragma once

#include <cstdint>

#include "drover/compile/graph.hpp"

namespace drover {

enum class HerdedShare { dense, hashed, exact, bins };

struct HerdedPlan {
  HerdedShare share = HerdedShare::dense;
  std::uint32_t bins = 0;
  bool enumerated = true;  ///< whole tables (HerdedGibbsTables), not those of what was visited
  double bytes = 0;        ///< a bound, all chains together; may be infinite
};

/// `visits` is the number of sweeps of a chain.
HerdedPlan herded_plan(const Graph& graph, HerdedShare share, std::uint32_t bins, std::uint32_t chains,
                       std::uint64_t visits);

/// Dense tables where every variable has at most 2^16 configurations, all fit into `limit_bytes`, and they
/// are not many times what the visits can fill; else hashed ones where every variable has at most 2^20 and
/// they fit; else bins.
HerdedPlan automatic_herded_plan(const Graph& graph, std::uint32_t chains, std::uint64_t visits,
                                 double limit_bytes);

inline constexpr std::uint32_t default_herded_bins = 64;

}  // namespace drover
