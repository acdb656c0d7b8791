// R-hat, effective sample size and standard error of marginal entries, from a SegmentStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/run/segment_store.hpp"

namespace drover {

struct EntryDiagnostics {
  double rhat;  ///< NaN when the conditional never changed
  double ess;   ///< likewise
  double mcse;  ///< NaN when the variable never moved
};

/// Conditionals and their sums over 64 draws are single precision: each of the 64 additions rounds by at most
/// half a unit of the running sum, 2^-20 on average, so no error below that is ever reported.
inline constexpr double precision_floor = 1e-6;

/// `scratch` is reused between calls.
EntryDiagnostics diagnose_entry(const SegmentStore& store, std::size_t entry, std::vector<double>& scratch);

struct WorstEntry {
  double rhat_max = 0;
  double mcse_max = 0;
};

/// The worst over the entries; over an even spread of them when there are more than 20,000.
WorstEntry worst_entry(const SegmentStore& store);

}  // namespace drover
