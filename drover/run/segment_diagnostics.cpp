#include "drover/run/segment_diagnostics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/parallel.hpp"
#include "drover/diagnose/draws.hpp"
#include "drover/diagnose/segment_block.hpp"
#include "drover/diagnose/segment_moments.hpp"

namespace drover {

namespace {

// Segments of equal length: an open one that was closed early is shorter than the rest and is left out; the
// mean counts it.
std::size_t equal_segments(const SegmentStore& store) {
  const auto draws = store.draws_of_segments();
  return draws.size() > 1 && draws.back() != draws.front() ? draws.size() - 1 : draws.size();
}

// Figures of groups become those of chains; `mean` is that of some segment of the entry.
EntryDiagnostics settled(const SegmentStore& store, double rhat, double ess, double mcse, double mean) {
  EntryDiagnostics result{rhat, ess, mcse};
  // Means of a group of g chains vary g times less than those of one chain; undo that, so that R-hat speaks
  // of chains.
  if (store.chains_per_group() > 1 && result.rhat > 1)
    result.rhat = std::sqrt(1 + store.chains_per_group() * (result.rhat * result.rhat - 1));
  if (std::isfinite(result.mcse)) {
    result.mcse = std::sqrt(result.mcse * result.mcse + precision_floor * precision_floor);
  } else if (store.draws() >= 16 && mean > 1e-6 && mean < 1 - 1e-6) {
    // The conditional never changed, yet the variable moves: nothing that moves bears on it, and its mean is
    // exact.
    result.mcse = precision_floor;
  }
  return result;
}

}  // namespace

EntryDiagnostics diagnose_entry(const SegmentStore& store, std::size_t entry, DiagnosisRoom& scratch,
                                std::size_t segments) {
  store.means_of_entry(entry, scratch.means);
  return diagnose_means(store, scratch, segments);
}

EntryDiagnostics diagnose_means(const SegmentStore& store, DiagnosisRoom& scratch, std::size_t segments) {
  if (store.segments() == 0) return {not_a_number, not_a_number, not_a_number};
  SegmentMeans means;
  means.means = scratch.means.data();
  means.chains = store.groups();
  means.segments = equal_segments(store);
  if (segments > 0) means.segments = std::min(means.segments, segments);
  means.draws_per_segment = static_cast<double>(store.draws_of_segments().front());
  means.chain_stride = 1;
  means.segment_stride = store.groups();

  const SegmentFigures figures = figures_from_segments(means, scratch.figures);
  return settled(store, figures.rhat, figures.ess, figures.mcse, scratch.means.front());
}

void diagnose_entries(const SegmentStore& store, std::size_t first, DiagnosisRoom& room,
                      std::span<EntryDiagnostics> figures, std::span<double> means) {
  if (store.segments() == 0) {
    std::ranges::fill(figures, EntryDiagnostics{not_a_number, not_a_number, not_a_number});
    std::ranges::fill(means, not_a_number);
    return;
  }
  BlockFigures found;
  const std::size_t segments = equal_segments(store);
  const auto draws = store.draws_of_segments().first(segments);
  const bool alike = std::ranges::all_of(draws, [&](std::uint64_t d) { return d == draws.front(); });
  for (std::size_t begin = 0; begin < means.size(); begin += SegmentBlock::width) {
    const std::size_t count = std::min(SegmentBlock::width, means.size() - begin);
    const SegmentBlock block = store.block(first + begin, segments, room.block, room.rows);
    figures_of_block(block, room.figures, found);
    for (std::size_t e = 0; e < count; ++e) {
      figures[begin + e] = settled(store, found.rhat[e], found.ess[e], found.mcse[e], block.segments[0][e]);
      // Segments that were closed early in the middle of a run are shorter than others.
      means[begin + e] =
          alike ? store.mean(first + begin + e, segments, found.mean[e]) : store.mean(first + begin + e);
    }
  }
}

Diagnostics worst_entry(const SegmentStore& store, std::size_t most_entries) {
  Diagnostics worst;
  if (store.segments() > 0) {
    const std::size_t step = std::max<std::size_t>(1, (store.entries() + most_entries - 1) / most_entries);
    const std::size_t count = (store.entries() + step - 1) / step;
    const auto worse = [](const Diagnostics& a, const Diagnostics& b) {
      return Diagnostics{std::fmax(a.rhat_max, b.rhat_max), std::fmin(a.ess_min, b.ess_min),
                         std::fmax(a.mcse_max, b.mcse_max)};
    };
    constexpr std::size_t together = 64;
    std::vector<Diagnostics> worst_of((count + together - 1) / together);
    parallel_for(std::size_t{0}, worst_of.size(), [&](std::size_t block) {
      DiagnosisRoom scratch;
      for (std::size_t k = block * together; k < std::min(count, (block + 1) * together); ++k) {
        const EntryDiagnostics entry = diagnose_entry(store, k * step, scratch);
        worst_of[block] = worse(worst_of[block], {entry.rhat, entry.ess, entry.mcse});
      }
    });
    for (const Diagnostics& one : worst_of) worst = worse(worst, one);
  }
  settle_exact_averages(store, worst);
  return worst;
}

void settle_exact_averages(const SegmentStore& store, Diagnostics& diagnostics) {
  const bool constant =
      store.segments() >= 2 && std::isnan(diagnostics.ess_min) && !std::isnan(diagnostics.mcse_max);
  if (!constant && store.entries() > 0) return;
  diagnostics.rhat_max = 1;
  diagnostics.ess_min = std::numeric_limits<double>::infinity();
}

}  // namespace drover
