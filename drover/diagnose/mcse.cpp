#include "drover/diagnose/mcse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "drover/diagnose/beta_quantile.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/diagnose/ranks.hpp"

namespace drover {

namespace {

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (double value : values) sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

}  // namespace

double mcse_mean(Draws draws) {
  if (undiagnosable(draws)) return not_a_number;
  const double mean = mean_of(draws.all());
  double squares = 0;
  for (double value : draws.all()) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(draws.size() - 1) / ess_mean(draws));
}

double mcse_sd(Draws draws) {
  if (undiagnosable(draws)) return not_a_number;
  const double mean = mean_of(draws.all());
  std::vector<double> squares(draws.size());
  double fourth = 0;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    squares[i] = (draws.data[i] - mean) * (draws.data[i] - mean);
    fourth += squares[i] * squares[i] / static_cast<double>(draws.size());
  }
  const double second = mean_of(squares);
  const double effective = ess_mean({squares.data(), draws.chains, draws.draws});
  return std::sqrt((fourth - second * second) / effective / (4 * second));
}

double mcse_quantile(Draws draws, double p) {
  if (undiagnosable(draws)) return not_a_number;
  std::vector<double> sorted(draws.all().begin(), draws.all().end());
  std::sort(sorted.begin(), sorted.end());
  const double effective = ess_of_quantile_value(draws, sorted_quantile(sorted, p));
  if (std::isnan(effective)) return not_a_number;
  const double count = static_cast<double>(sorted.size());
  const auto order_statistic = [&](double probability) {
    const double share = beta_quantile(probability, effective * p + 1, effective * (1 - p) + 1);
    return sorted[static_cast<std::size_t>(std::clamp(std::nearbyint(share * count), 1.0, count)) - 1];
  };
  return (order_statistic(0.8413447) - order_statistic(0.1586553)) / 2;
}

}  // namespace drover
