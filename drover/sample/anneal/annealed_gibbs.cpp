#include "drover/sample/anneal/annealed_gibbs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr double not_ended = std::numeric_limits<double>::quiet_NaN();

}  // namespace

AnnealOptions checked(const AnnealOptions& options, const Graph& graph) {
  if (options.reads == 0) throw Error(ErrorKind::usage, "annealing needs at least 1 read");
  if (options.sweeps == 0) throw Error(ErrorKind::usage, "annealing needs at least 1 sweep per read");
  if (!(options.cold_share >= 0 && options.cold_share <= 1))
    throw Error(ErrorKind::usage, fmt::format("the cold share is {}, not in 0 .. 1", options.cold_share));
  AnnealOptions filled = options;
  const TemperatureRange automatic = temperature_range(graph);
  if (filled.range.hot == 0) filled.range.hot = automatic.hot;
  if (filled.range.cold == 0) filled.range.cold = std::max(automatic.cold, filled.range.hot);
  if (!(filled.range.hot > 0 && filled.range.cold >= filled.range.hot && std::isfinite(filled.range.cold)))
    throw Error(ErrorKind::usage, fmt::format("the inverse temperatures must rise from above 0: {} to {}",
                                              filled.range.hot, filled.range.cold));
  return filled;
}

AnnealCollector::AnnealCollector(const AnnealOptions& options, AnnealObserver observer)
    : observer_(std::move(observer)),
      planned_sweeps_(static_cast<double>(options.sweeps) * options.reads),
      scores_(options.reads, not_ended) {}

void AnnealCollector::offer(std::uint32_t read, double log_score, std::span<const Value> assignment) {
  const std::lock_guard lock(mutex_);
  const bool first = best_.assignment.empty();
  const bool better = log_score > best_.log_score || (log_score == best_.log_score && read < best_read_);
  if (!first && !better) return;
  best_.assignment.assign(assignment.begin(), assignment.end());
  best_.log_score = log_score;
  best_read_ = read;
}

void AnnealCollector::end_read(std::uint32_t read, double log_score, std::uint64_t sweeps) {
  const std::lock_guard lock(mutex_);
  scores_[read] = log_score;
  best_.sweeps += sweeps;
  ++ended_;
}

void AnnealCollector::end_batch() {
  const std::lock_guard lock(mutex_);
  if (observer_) observer_(ended_, best_.log_score);
}

AnnealResult AnnealCollector::result() {
  const std::lock_guard lock(mutex_);
  for (double score : scores_)
    if (!std::isnan(score)) best_.read_scores.push_back(score);
  best_.stopped = static_cast<double>(best_.sweeps) < planned_sweeps_;
  return std::move(best_);
}

}  // namespace drover
