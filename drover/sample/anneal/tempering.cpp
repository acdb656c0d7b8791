#include "drover/sample/anneal/tempering.hpp"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "drover/core/error.hpp"

namespace drover {

void SwapCounts::add(const SwapInfo& info) {
  acceptance.resize(info.pairs, 0.0);
  offered.resize(info.pairs, 0);
  for (std::size_t t = 0; t < info.acceptance.size(); ++t) {
    if (std::isnan(info.acceptance[t])) continue;
    acceptance[t % info.pairs] += info.acceptance[t];
    ++offered[t % info.pairs];
  }
  rounds += info.acceptance.size() / info.pairs;
  round_trips += info.round_trips;
}

void SwapCounts::add(const SwapCounts& other) {
  if (other.acceptance.empty()) return;
  if (acceptance.empty()) {
    *this = other;
    return;
  }
  assert(acceptance.size() == other.acceptance.size());
  rounds += other.rounds;
  round_trips += other.round_trips;
  for (std::size_t t = 0; t < acceptance.size(); ++t) {
    acceptance[t] += other.acceptance[t];
    offered[t] += other.offered[t];
  }
}

TemperingReport tempering_report(const Ladder& ladder, const SwapCounts& counts) {
  TemperingReport report;
  report.inverse_temperatures = ladder.inverse_temperatures;
  report.round_trips = counts.round_trips;
  double slowdown = 0;
  for (std::size_t t = 0; t < counts.acceptance.size(); ++t) {
    const double offered = static_cast<double>(counts.offered[t]);
    const double acceptance = offered > 0 ? counts.acceptance[t] / offered : 0;
    report.swap_acceptance.push_back(acceptance);
    report.barrier += 1 - acceptance;
    slowdown += (1 - acceptance) / acceptance;
  }
  report.best_rate = 1 / (2 + 2 * slowdown);
  if (counts.rounds > 0)
    report.round_trip_rate = static_cast<double>(counts.round_trips) / static_cast<double>(counts.rounds);
  return report;
}

LadderOptions checked(const LadderOptions& options, const Graph& graph) {
  if (options.sweeps < 64)
    throw Error(ErrorKind::usage,
                fmt::format("tuning a ladder takes at least 64 sweeps, not {}", options.sweeps));
  if ((options.rungs && *options.rungs < 2) || options.max_rungs < 2)
    throw Error(ErrorKind::usage, "a ladder has at least 2 rungs");
  if (options.hottest && !(*options.hottest >= 0 && *options.hottest < 1))
    throw Error(ErrorKind::usage,
                fmt::format("the hot end of the ladder must be below 1, not {}", *options.hottest));
  LadderOptions filled = options;
  const bool positive = graph.is_strictly_positive();
  if (!filled.hottest) filled.hottest = positive ? 0 : std::min(0.5, temperature_range(graph).hot);
  if (filled.hottest == 0 && !positive)
    throw Error(ErrorKind::usage,
                "the hot end of the ladder may be 0 only for models without hard zeros; give a small number");
  return filled;
}

std::size_t wanted_rungs(double barrier, const LadderOptions& options) {
  if (options.rungs) return *options.rungs;
  const auto wanted = static_cast<std::size_t>(std::ceil(2 * barrier)) + 2;
  return std::min<std::size_t>(wanted, options.max_rungs);
}

bool swap_rungs(const Ladder& ladder, const LadderView& view, const Random& random, std::uint32_t chain,
                std::uint64_t sweep) {
  const std::span<std::uint32_t> replica_of = view.replica_of;
  for (std::size_t t = sweep % 2; t + 1 < replica_of.size(); t += 2) {
    const double step = view.scale * (ladder.inverse_temperatures[t + 1] - ladder.inverse_temperatures[t]);
    const double gain = view.scores[replica_of[t]] - view.scores[replica_of[t + 1]];
    const double probability = std::exp(std::min(0.0, step * gain));
    view.acceptance[t] = probability;
    if (random.uniform(chain, sweep, static_cast<std::uint32_t>(t)) < probability)
      std::swap(replica_of[t], replica_of[t + 1]);
  }
  Journey& hot = view.journeys[replica_of.front()];
  const bool round_trip = hot == Journey::from_hot_and_cold;
  hot = Journey::from_hot;
  Journey& cold = view.journeys[replica_of.back()];
  if (cold == Journey::from_hot) cold = Journey::from_hot_and_cold;
  return round_trip;
}

}  // namespace drover
