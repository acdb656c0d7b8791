#include "drover/infer/primal_dual_mean_field.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

namespace {

double term(double p) {
  return p > 0 ? -p * std::log(p) : 0;
}

double entropy(double p) {
  return term(p) + term(1 - p);
}

}  // namespace

PrimalDualMeanField::PrimalDualMeanField(SpinEdges graph) : graph_(std::move(graph)) {
  for (const auto& edge : graph_.edges) duals_.push_back(dual_of_coupling(edge.coupling));
}

void PrimalDualMeanField::update_duals(std::span<const double> p, std::span<double> tau) const {
  for (std::size_t e = 0; e < dual_count(); ++e) {
    const auto& edge = graph_.edges[e];
    const double first = 2 * p[edge.first] - 1, second = 2 * p[edge.second] - 1;
    tau[e] = std::tanh(duals_[e].strength / 2 * (duals_[e].flip ? first - second : first + second));
  }
}

double PrimalDualMeanField::update_variables(std::span<const double> tau, std::span<double> p) const {
  std::vector<double> log_odds(graph_.field.begin(), graph_.field.end());
  for (std::size_t e = 0; e < dual_count(); ++e) {
    const double gain = duals_[e].strength * tau[e];
    log_odds[graph_.edges[e].first] += gain;
    log_odds[graph_.edges[e].second] += duals_[e].flip ? -gain : gain;
  }
  double largest = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const double next = 1 / (1 + std::exp(-log_odds[i]));
    largest = std::max(largest, std::abs(next - p[i]));
    p[i] = next;
  }
  return largest;
}

double PrimalDualMeanField::bound(std::span<const double> p, std::span<const double> tau) const {
  double total = graph_.log_constant;
  for (std::size_t i = 0; i < size(); ++i) total += graph_.field[i] * p[i] + entropy(p[i]);
  for (std::size_t e = 0; e < dual_count(); ++e) {
    const auto& edge = graph_.edges[e];
    const double first = 2 * p[edge.first] - 1, second = 2 * p[edge.second] - 1;
    total += duals_[e].log_constant +
             duals_[e].strength / 2 * tau[e] * (duals_[e].flip ? first - second : first + second) +
             entropy((1 + tau[e]) / 2);
  }
  return total;
}

}  // namespace drover
