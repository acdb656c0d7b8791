#include "drover/diagnose/ess.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "drover/diagnose/autocorrelation.hpp"
#include "drover/diagnose/binary_draws.hpp"
#include "drover/diagnose/initial_sequence.hpp"
#include "drover/diagnose/patience.hpp"
#include "drover/diagnose/ranks.hpp"

namespace drover {

namespace {

std::vector<double> sorted(Draws draws, const RunControl& control = no_control()) {
  StopCheck check = diagnosis_check(control);
  std::vector<double> values;
  values.reserve(draws.size());
  append_patiently(values, draws.all(), check);
  patient_sort(values, check);
  return values;
}

}  // namespace

double effective_size(Draws draws, const RunControl& control) {
  const std::vector<double> covariance = mean_autocovariance(draws, control);
  const double time = initial_sequence_time(draws.chains, draws.draws, chain_moments(draws).variance_of_means,
                                            [&](std::size_t lag) { return covariance[lag]; });
  return static_cast<double>(draws.size()) / time;
}

double ess_bulk(Draws draws) {
  if (undiagnosable(draws)) return not_a_number;
  const DrawsBuffer split = split_chains(draws);
  const std::vector<double> scores = rank_normalise(split.values);
  return effective_size({scores.data(), split.chains, split.draws});
}

double ess_mean(Draws draws) {
  return undiagnosable(draws) ? not_a_number : effective_size(split_chains(draws).view());
}

double ess_sd(Draws draws) {
  if (undiagnosable(draws)) return not_a_number;
  double mean = 0;
  for (double value : draws.all()) mean += value / static_cast<double>(draws.size());
  std::vector<double> distances(draws.size());
  for (std::size_t i = 0; i < distances.size(); ++i) distances[i] = std::abs(draws.data[i] - mean);
  return ess_mean({distances.data(), draws.chains, draws.draws});
}

double ess_of_quantile_value(Draws draws, double quantile, const RunControl& control) {
  BinaryDraws binary(draws.chains, draws.draws);
  pack(binary, [&](std::size_t c, std::size_t t) { return draws.data[c * draws.draws + t] <= quantile; });
  if (binary.ones == draws.size())
    pack(binary, [&](std::size_t c, std::size_t t) { return draws.data[c * draws.draws + t] < quantile; });
  return diagnose_binary(binary, control).ess;
}

double ess_quantile(Draws draws, double p) {
  return undiagnosable(draws) ? not_a_number
                              : ess_of_quantile_value(draws, sorted_quantile(sorted(draws), p));
}

double ess_tail(Draws draws, const RunControl& control) {
  if (undiagnosable(draws)) return not_a_number;
  const std::vector<double> values = sorted(draws, control);
  return std::min(ess_of_quantile_value(draws, sorted_quantile(values, 0.05), control),
                  ess_of_quantile_value(draws, sorted_quantile(values, 0.95), control));
}

double autocorrelation_time(Draws draws) {
  const std::size_t halves = draws.draws / 2 * 2 * draws.chains;
  return static_cast<double>(halves) / ess_mean(draws);
}

}  // namespace drover
