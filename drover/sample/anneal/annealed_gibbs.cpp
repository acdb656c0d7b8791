#include "drover/sample/anneal/annealed_gibbs.hpp"

#include <fmt/format.h>

#include <cstring>

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

namespace {

struct BatchHead {
  double log_score;
  std::uint64_t sweeps, reads, size;  // `size` values of the state follow
};

void append(std::string& bytes, const BatchHead& head, const std::vector<Value>& state) {
  bytes.append(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes.append(reinterpret_cast<const char*>(state.data()), state.size() * sizeof(Value));
}

// use(head, state) for all that was appended.
template <class Use>
void for_each_batch(const std::string& bytes, Use use) {
  for (std::size_t at = 0; at < bytes.size();) {
    BatchHead head{};
    std::memcpy(&head, bytes.data() + at, sizeof(head));
    at += sizeof(head);
    std::vector<Value> state(head.size);
    if (head.size > 0) std::memcpy(state.data(), bytes.data() + at, head.size * sizeof(Value));
    at += head.size * sizeof(Value);
    use(head, std::move(state));
  }
}

}  // namespace

void gather_batches(const Ranks& ranks, std::span<AnnealedBatch> own, std::vector<AnnealedBatch>& all) {
  if (ranks.size() == 1) return;
  std::string bytes;
  for (const AnnealedBatch& batch : own)
    append(bytes, {batch.log_score, batch.sweeps, 0, batch.state.size()}, batch.state);
  std::size_t k = 0;
  for (const std::string& part : ranks.gather(std::move(bytes)))
    for_each_batch(part, [&](const BatchHead& head, std::vector<Value> state) {
      all[k++] = {std::move(state), head.log_score, head.sweeps};
    });
}

void AnnealCollector::gather(const Ranks& ranks) {
  std::string bytes;
  append(bytes, {best_.log_score, best_.sweeps, best_.reads, best_.assignment.size()}, best_.assignment);
  const std::vector<double> scores = joined(ranks, best_.batch_scores);
  const std::vector<std::string> parts = ranks.gather(std::move(bytes));
  for (std::size_t rank = 1; rank < parts.size(); ++rank)
    for_each_batch(parts[rank], [&](const BatchHead& head, std::vector<Value> state) {
      best_.sweeps += head.sweeps;
      best_.reads += static_cast<std::uint32_t>(head.reads);
      if (state.empty()) return;
      merger_.recombine(best_.assignment, state, room_);
      best_.log_score = merger_.polish(best_.assignment);
    });
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
