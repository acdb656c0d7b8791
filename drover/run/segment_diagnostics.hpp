// R-hat, effective sample size and standard error of marginal entries, from a SegmentStore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/run/result.hpp"
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

/// Reused between calls.
struct DiagnosisRoom {
  std::vector<double> means, figures;
  std::vector<float> block;
  std::vector<const float*> rows;
};

/// Of the first `segments` closed segments; 0: of all.
EntryDiagnostics diagnose_entry(const SegmentStore& store, std::size_t entry, DiagnosisRoom& scratch,
                                std::size_t segments = 0);
/// The same of an entry whose means are in scratch.means already (SegmentStore::means_of_entry).
EntryDiagnostics diagnose_means(const SegmentStore& store, DiagnosisRoom& scratch, std::size_t segments = 0);

/// The same of the entries first .. first + means.size() - 1, as many `figures`, and their means
/// (SegmentStore::mean() but for rounding), several at once.
void diagnose_entries(const SegmentStore& store, std::size_t first, DiagnosisRoom& room,
                      std::span<EntryDiagnostics> figures, std::span<double> means);

/// The worst over the entries, or over an even spread of at most `most_entries` of them. When the
/// conditionals never change, or there are no entries at all, the averages are exact: R-hat 1 and an
/// effective sample size without end.
Diagnostics worst_entry(const SegmentStore& store, std::size_t most_entries = 200'000);

/// The same for figures that were already gathered.
void settle_exact_averages(const SegmentStore& store, Diagnostics& diagnostics);

}  // namespace drover
