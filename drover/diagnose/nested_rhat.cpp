#include "drover/diagnose/nested_rhat.hpp"

#include <algorithm>
#include <cmath>

#include "drover/diagnose/beta_quantile.hpp"
#include "drover/diagnose/draws.hpp"

namespace drover {

NestedFigures nested_figures(std::span<const double> chain_means, std::size_t group_size) {
  const std::size_t groups = group_size == 0 ? 0 : chain_means.size() / group_size;
  if (groups < 2 || group_size < 2) return {not_a_number, not_a_number};
  const auto count = static_cast<double>(groups), size = static_cast<double>(group_size);
  double sum = 0, squares = 0, between_chains = 0, within_chains = 0;
  const double centre = chain_means[0];  // so that nothing cancels
  for (std::size_t k = 0; k < groups; ++k) {
    const std::span<const double> chains = chain_means.subspan(k * group_size, group_size);
    double mean = 0;
    for (double c : chains) mean += (c - centre) / size;
    for (double c : chains) {
      between_chains += (c - centre - mean) * (c - centre - mean) / (size - 1) / count;
      within_chains += c * (1 - c) / (size * count);
    }
    sum += mean;
    squares += mean * mean;
  }
  const double between_groups = std::max(0.0, squares - sum * sum / count) / (count - 1);
  if (between_groups <= 0 && between_chains <= 0) return {not_a_number, not_a_number};
  return {std::sqrt(1 + between_groups / (between_chains + within_chains)),
          size * between_groups / between_chains};
}

double memory_limit(std::size_t groups, std::size_t group_size, double probability) {
  const double a = static_cast<double>(groups) - 1;
  const double b = static_cast<double>(groups) * (static_cast<double>(group_size) - 1);
  // a F / (a F + b) has the beta distribution; the upper tail of one is the lower tail of the other.
  const double x = beta_quantile(probability, b / 2, a / 2);
  return b * (1 - x) / (a * x);
}

}  // namespace drover
