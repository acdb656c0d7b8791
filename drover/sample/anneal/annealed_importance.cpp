#include "drover/sample/anneal/annealed_importance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"

namespace drover {

namespace {

struct Interval {
  double lower;
  double upper;
};

/// 95 % of the logs of the means of resampled weights.
Interval bootstrap(const std::vector<double>& weights, std::uint64_t seed) {
  const auto count = static_cast<std::uint32_t>(weights.size());
  const std::size_t resamples = std::clamp<std::size_t>(4'000'000 / count, 200, 2000);
  RandomSequence random(seed, Stream::resample);
  std::vector<double> logs(resamples);
  for (double& value : logs) {
    double sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += weights[random.below(count)];
    value = std::log(sum / count);
  }
  std::sort(logs.begin(), logs.end());
  const std::size_t tail = resamples / 40;
  return {logs[tail], logs[resamples - 1 - tail]};
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double spread(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

void check(const ImportanceOptions& options, const Graph& graph) {
  if (options.sweeps < 2)
    throw Error(ErrorKind::usage, "annealed importance sampling takes at least 2 sweeps");
  if (options.chains < 2)
    throw Error(ErrorKind::usage, "annealed importance sampling takes at least 2 chains, for its error bar");
  if (!graph.is_strictly_positive())
    throw Error(ErrorKind::misfit,
                "annealed importance sampling needs a model without zeros: its path starts from the uniform "
                "distribution over all states, and how many of them the zeros leave is not known");
}

EqualCostPath importance_path(std::span<const double> inverse_temperatures, std::span<const double> spreads) {
  assert(spreads.size() == inverse_temperatures.size());
  std::vector<double> costs;
  for (std::size_t t = 0; t + 1 < spreads.size(); ++t)
    costs.push_back((inverse_temperatures[t + 1] - inverse_temperatures[t]) * (spreads[t] + spreads[t + 1]) /
                    2);
  return {inverse_temperatures, costs};
}

void ImportanceProgress::add_sweep() {
  const std::uint64_t done = ++done_;
  const std::unique_lock lock(reporting_, std::try_to_lock);
  if (!lock) return;
  const double share = static_cast<double>(done) / all_sweeps_;
  control_.report({"annealing", std::max(share, control_.time_fraction()), done,
                   updates_per_sweep_ * static_cast<double>(done), 0});
}

void fail_stopped_importance(const RunControl& control) {
  fail_stopped(control, "annealed importance sampling");
}

ImportanceResult importance_estimate(std::vector<double> log_weights, double log_base, std::uint64_t seed) {
  assert(log_weights.size() >= 2);
  const auto count = static_cast<double>(log_weights.size());
  ImportanceResult result;
  const double log_mean = log_sum_exp(log_weights) - std::log(count);
  std::vector<double> relative(log_weights.size());  // w / mean(w)
  double squares = 0;
  for (std::size_t i = 0; i < relative.size(); ++i) {
    relative[i] = std::exp(log_weights[i] - log_mean);
    squares += relative[i] * relative[i];
  }
  result.log_z = log_base + log_mean;
  result.mcse = spread(relative) / std::sqrt(count);
  result.effective_samples = count * count / squares;
  const Interval interval = bootstrap(relative, seed);
  result.lower = result.log_z + interval.lower;
  result.upper = result.log_z + interval.upper;
  result.bound = log_base + mean(log_weights);
  result.bound_mcse = spread(log_weights) / std::sqrt(count);
  result.log_weights = std::move(log_weights);
  return result;
}

}  // namespace drover
