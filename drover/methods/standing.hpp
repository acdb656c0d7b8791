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
  std::size_t step = 1;                ///< every so many entries one was looked at
  std::vector<float> means, errors;    ///< of every entry looked at
  /// Effective samples per sweep of every entry looked at, less where its chains are apart; NaN: not known.
  std::vector<float> rates;
};

/// `group_size` neighbouring chains share a start; 1: none do. At most `most_entries` are looked at, spread
/// evenly.
Standing look_at(const SegmentStore& store, std::uint32_t group_size, std::size_t most_entries = 20'000);

/// Of values that are known, the one below which 2 % lie; NaN when none is.
double slowest(std::vector<float> values);

/// Chains of a larger R-hat are apart: each has seen another part of what there is.
inline constexpr double chains_apart = 1.5;

/// A rate that is less where chains are apart: growth of what is mostly noise says little.
double cautious_rate(double rate, double rhat);

/// Effective samples per sweep by which samplers are compared. Growth is mostly noise where chains are apart, and may seem to
/// be none where a run is short: there R-hat says more, by which m chains have m / (R-hat^2 - 1) effective samples. Chains
/// that are apart may never meet, and count for less than that.
double sure_rate(const Standing& standing, std::uint32_t chains, std::uint64_t sweeps);

/// The largest |a - b| / sqrt(errors^2), over the entries that both looks were at and have errors of.
double largest_difference(const Standing& a, const Standing& b);

/// Effective samples of the slowest entries per work when two samplers take turns of equal work, if what each
/// does for an entry adds up. `work`: of a sweep of each.
double rate_in_turns(const Standing& a, double work_of_a, const Standing& b, double work_of_b);

/// The value that largest_difference() of two right answers stays below but for one case in 10^4: errors from
/// few chains are Student's, not normal.
double difference_limit(const Standing& a, const Standing& b);

}  // namespace drover
