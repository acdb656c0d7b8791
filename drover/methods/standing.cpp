#include "drover/methods/standing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/parallel.hpp"
#include "drover/diagnose/beta_quantile.hpp"
#include "drover/diagnose/nested_rhat.hpp"
#include "drover/run/segment_diagnostics.hpp"

namespace drover {

namespace {

// False alarms in one look at all entries.
constexpr double alarm_probability = 1e-3;

struct EntryStanding {
  EntryDiagnostics figures;
  double ess_per_sweep;
  NestedFigures nested;
  double mean;
};

EntryStanding look_at_entry(const SegmentStore& store, std::size_t entry, std::size_t group_size,
                            DiagnosisRoom& room, std::vector<double>& chain_means) {
  store.means_of_entry(entry, room.means);
  EntryStanding result{diagnose_means(store, room), not_known, {not_known, not_known}, 0};
  const std::size_t segments = store.segments(), groups = store.groups();
  const std::size_t first = std::max<std::size_t>(1, segments / 4);
  if (segments > first && std::isfinite(result.figures.ess)) {
    const auto begin = diagnose_means(store, room, first);
    const auto draws = static_cast<double>((segments - first) * store.draws_of_segments().front());
    const double early = std::isfinite(begin.ess) ? begin.ess : 0;
    result.ess_per_sweep = std::max(0.0, result.figures.ess - early) / draws;
  }
  chain_means.assign(groups, 0.0);
  for (std::size_t s = 0; s < segments; ++s)
    for (std::size_t g = 0; g < groups; ++g) chain_means[g] += room.means[s * groups + g];
  for (double& mean : chain_means) {
    mean /= static_cast<double>(segments);
    result.mean += mean / static_cast<double>(groups);
  }
  if (group_size > 1) result.nested = nested_figures(chain_means, group_size);
  return result;
}

}  // namespace

Standing look_at(const SegmentStore& store, std::uint32_t group_size, std::size_t most_entries) {
  Standing standing;
  if (store.segments() == 0) return standing;
  standing.groups = store.groups();
  // Where neighbouring chains share their means already, so do those that share a start.
  group_size = std::max(1U, group_size / store.chains_per_group());
  const std::size_t step = std::max<std::size_t>(1, (store.entries() + most_entries - 1) / most_entries);
  const std::size_t count = (store.entries() + step - 1) / step;
  std::vector<EntryStanding> entries(count);
  parallel_for(IndexRange(0, count, 64), [&](const IndexRange& range) {
    DiagnosisRoom room;
    std::vector<double> chain_means;
    for (std::size_t k = range.begin(); k != range.end(); ++k)
      entries[k] = look_at_entry(store, k * step, group_size, room, chain_means);
  });
  standing.step = step;
  Diagnostics& worst = standing.diagnostics;
  std::vector<float> rates;
  double memory = 0;
  for (const EntryStanding& entry : entries) {
    worst.rhat_max = std::fmax(worst.rhat_max, entry.figures.rhat);
    worst.ess_min = std::fmin(worst.ess_min, entry.figures.ess);
    worst.mcse_max = std::fmax(worst.mcse_max, entry.figures.mcse);
    standing.nested_rhat_max = std::fmax(standing.nested_rhat_max, entry.nested.rhat);
    memory = std::fmax(memory, entry.nested.memory);
    rates.push_back(static_cast<float>(entry.ess_per_sweep));
    standing.rates.push_back(static_cast<float>(cautious_rate(entry.ess_per_sweep, entry.figures.rhat)));
    standing.means.push_back(static_cast<float>(entry.mean));
    standing.errors.push_back(static_cast<float>(entry.figures.mcse));
  }
  settle_exact_averages(store, worst);
  standing.ess_per_sweep = slowest(std::move(rates));
  if (std::isnan(standing.ess_per_sweep) && worst.rhat_max == 1)
    standing.ess_per_sweep = std::numeric_limits<double>::infinity();
  if (group_size > 1 && store.groups() / group_size > 1)
    standing.starts_forgotten =
        memory <= memory_limit(store.groups() / group_size, group_size,
                               alarm_probability / static_cast<double>(std::max<std::size_t>(1, count)));
  return standing;
}

double slowest(std::vector<float> values) {
  std::erase_if(values, [](float value) { return !std::isfinite(value); });
  if (values.empty()) return not_known;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 50);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

double cautious_rate(double rate, double rhat) {
  return rhat > chains_apart ? rate * (chains_apart * chains_apart - 1) / (rhat * rhat - 1) : rate;
}

double sure_rate(const Standing& standing, std::uint32_t chains, std::uint64_t sweeps) {
  const double rhat = standing.diagnostics.rhat_max, growth = standing.ess_per_sweep;
  if (!(rhat > 1) || (rhat <= chains_apart && growth > 0)) return std::fmax(0, growth);
  const double by_rhat = chains / (rhat * rhat - 1);
  return cautious_rate(by_rhat / static_cast<double>(std::max<std::uint64_t>(1, sweeps)), rhat);
}

namespace {

// Calls use(k, m) for the entries that are at place k of one look and at place m of the other.
template <class Use>
void for_common_entries(const Standing& a, const Standing& b, Use use) {
  for (std::size_t k = 0; k < a.means.size(); ++k)
    if (const std::size_t entry = k * a.step; entry % b.step == 0 && entry / b.step < b.means.size())
      use(k, entry / b.step);
}

}  // namespace

double largest_difference(const Standing& a, const Standing& b) {
  double largest = 0;
  for_common_entries(a, b, [&](std::size_t k, std::size_t m) {
    const double error = std::hypot(static_cast<double>(a.errors[k]), static_cast<double>(b.errors[m]));
    if (error > 0)
      largest = std::max(largest, static_cast<double>(std::abs(a.means[k] - b.means[m])) / error);
  });
  return largest;
}

double rate_in_turns(const Standing& a, double work_of_a, const Standing& b, double work_of_b) {
  std::vector<float> rates;
  for_common_entries(a, b, [&](std::size_t k, std::size_t m) {
    // What one of them never moved is left to the other.
    const double first = std::isfinite(a.rates[k]) ? static_cast<double>(a.rates[k]) / work_of_a : 0;
    const double second = std::isfinite(b.rates[m]) ? static_cast<double>(b.rates[m]) / work_of_b : 0;
    if (std::isfinite(a.rates[k]) || std::isfinite(b.rates[m]))
      rates.push_back(static_cast<float>((first + second) / 2));
  });
  return slowest(std::move(rates));
}

double difference_limit(const Standing& a, const Standing& b) {
  const double freedom = std::max(1.0, static_cast<double>(std::min(a.groups, b.groups)) - 1);
  const double probability = 1e-4 / static_cast<double>(std::max<std::size_t>(1, a.means.size()));
  // freedom / (freedom + t^2) has the beta distribution.
  const double x = beta_quantile(probability, freedom / 2, 0.5);
  return std::sqrt(freedom * (1 - x) / x);
}

}  // namespace drover
