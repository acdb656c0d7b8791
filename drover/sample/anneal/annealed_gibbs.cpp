#include "drover/sample/anneal/annealed_gibbs.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

AnnealOptions checked(const AnnealOptions& options, const Graph& graph) {
  if (options.reads == 0) throw Error(ErrorKind::usage, "annealing needs at least 1 read");
  if (options.sweeps == 0) throw Error(ErrorKind::usage, "annealing needs at least 1 sweep per read");
  AnnealOptions filled = options;
  const TemperatureRange automatic = temperature_range(graph);
  if (filled.range.hot == 0) filled.range.hot = automatic.hot;
  if (filled.range.cold == 0) filled.range.cold = std::max(automatic.cold, filled.range.hot);
  if (!(filled.range.hot > 0 && filled.range.cold >= filled.range.hot && std::isfinite(filled.range.cold)))
    throw Error(ErrorKind::usage, fmt::format("the inverse temperatures must rise from above 0: {} to {}",
                                              filled.range.hot, filled.range.cold));
  return filled;
}

void AnnealCollector::gather(const Ranks& ranks) {
  SaveArchive archive;
  archive(best_.sweeps);
  archive(best_.reads);
  archive(best_.assignment);
  const std::vector<double> scores = joined(ranks, best_.batch_scores);
  std::vector<std::string> parts = ranks.gather(archive.take());
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    LoadArchive load(std::move(parts[rank]));
    AnnealResult other;
    load(other.sweeps);
    load(other.reads);
    load(other.assignment);
    best_.sweeps += other.sweeps;
    best_.reads += other.reads;
    if (other.assignment.empty()) continue;
    merger_.recombine(best_.assignment, other.assignment, room_);
    best_.log_score = merger_.polish(best_.assignment);
  }
  if (ranks.is_first()) best_.batch_scores = scores;
}

void AnnealCollector::take(const AnnealedBatch& batch, std::uint32_t reads) {
  best_.batch_scores.push_back(batch.log_score);
  best_.sweeps += batch.sweeps * reads;
  best_.reads += reads;
  const bool first = best_.assignment.empty();
  merger_.recombine(best_.assignment, batch.state, room_);
  best_.log_score = first ? batch.log_score : merger_.polish(best_.assignment);
  if (observer_) observer_(best_.reads, best_.log_score);
}

}  // namespace drover
