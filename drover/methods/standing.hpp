// How far the chains of a sampler have come: the figures that a race compares, from a SegmentStore.
//
// Effective samples per sweep. With N sweeps the effective sample size of an entry is about
//
//   ESS(N) = a + b N:   each chain brings about one draw however short it is (a), and b N by moving on.
//
// Chains that do not move have b = 0 whatever their ESS, so the rate is the growth from the first quarter of
// the run to the whole of it. The slowest entries count: the rate below which 2 % of the entries lie.
#pragma once

#include <cstdint>
#include <vector>

#include "drover/run/result.hpp"
#include "drover/run/segment_store.hpp"

namespace drover {

struct Standing {
  Diagnostics diagnostics;             ///< the worst entry
  double ess_per_sweep = not_known;    ///< of the slowest entries; infinity where averages are exact
  double nested_rhat_max = not_known;  ///< NaN without groups of starts, or when nothing moved
  bool starts_forgotten = true;        ///< no entry tells the groups of starts apart
  std::uint32_t groups = 0;            ///< of the store: how many means each error rests on
  std::vector<float> means, errors;    ///< of every entry looked at
};

/// `group_size` neighbouring chains share a start; 1: none do. At most `most_entries` are looked at, spread
/// evenly.
Standing look_at(const SegmentStore& store, std::uint32_t group_size, std::size_t most_entries = 20'000);

/// The largest |a - b| / sqrt(errors^2), over the entries that both have errors of. The looks must be at the
/// same entries.
double largest_difference(const Standing& a, const Standing& b);

/// The value that largest_difference() of two right answers stays below but for one case in 10^4: errors from
/// few chains are Student's, not normal.
double difference_limit(const Standing& a, const Standing& b);

}  // namespace drover
