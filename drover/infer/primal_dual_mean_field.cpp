#include "drover/infer/primal_dual_mean_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/log_math.hpp"

namespace drover {

namespace {

double term(double p) {
  return p > 0 ? -p * std::log(p) : 0;
}

double entropy(double p) {
  return term(p) + term(1 - p);
}

double logistic(double log_odds) {
  return 1 / (1 + std::exp(-log_odds));
}

// Far below the rounding of a sum of terms of the order of one.
constexpr double negligible_covariance = 1e-20;

}  // namespace

PrimalDualMeanField::PrimalDualMeanField(SpinEdges graph, bool forest, const RunControl& control)
    : graph_(std::move(graph)),
      forest_(forest ? strongest_forest(graph_, control) : no_forest(graph_)),
      depth_(graph_.size(), 0) {
  for (const auto& edge : graph_.edges) duals_.push_back(dual_of_coupling(edge.coupling));
  for (std::uint32_t i : forest_.order)
    if (forest_.parent[i] != i) depth_[i] = depth_[forest_.parent[i]] + 1;
}

PrimalDualMeanField::Beliefs PrimalDualMeanField::start(std::span<const double> p) const {
  Beliefs q;
  q.p.assign(p.begin(), p.end());
  q.if_one = q.if_zero = q.p;
  q.tau.assign(graph_.edges.size(), 0.0);
  return q;
}

void PrimalDualMeanField::update_duals(Beliefs& q) const {
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (forest_.has_edge[e] != 0) continue;
    const auto& edge = graph_.edges[e];
    const double first = 2 * q.p[edge.first] - 1, second = 2 * q.p[edge.second] - 1;
    q.tau[e] = std::tanh(duals_[e].strength / 2 * (duals_[e].flip ? first - second : first + second));
  }
}

double PrimalDualMeanField::update_variables(Beliefs& q) const {
  std::vector<double> log_odds(graph_.field.begin(), graph_.field.end());
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (forest_.has_edge[e] != 0) continue;
    const double gain = duals_[e].strength * q.tau[e];
    log_odds[graph_.edges[e].first] += gain;
    log_odds[graph_.edges[e].second] += duals_[e].flip ? -gain : gain;
  }
  for (std::size_t at = forest_.order.size(); at-- > 0;) {
    const std::uint32_t i = forest_.order[at];
    if (forest_.parent[i] == i) continue;
    const double b = log_odds[i], j = forest_.coupling[i];
    log_odds[forest_.parent[i]] += log_add(b + j, -j) - log_add(b - j, j);
  }
  double largest = 0;
  for (std::uint32_t i : forest_.order) {
    const double j = forest_.coupling[i];  // zero for a root
    q.if_one[i] = logistic(log_odds[i] + 2 * j);
    q.if_zero[i] = logistic(log_odds[i] - 2 * j);
    const double above = q.p[forest_.parent[i]];
    const double next =
        forest_.parent[i] == i ? q.if_one[i] : above * q.if_one[i] + (1 - above) * q.if_zero[i];
    largest = std::max(largest, std::abs(next - q.p[i]));
    q.p[i] = next;
  }
  return largest;
}

// What both bounds share: fields, pairs of the forest, H(q(x)).
double PrimalDualMeanField::expected_score_of_forest(const Beliefs& q) const {
  double total = graph_.log_constant;
  for (std::uint32_t i = 0; i < size(); ++i) {
    total += graph_.field[i] * q.p[i];
    if (forest_.parent[i] == i) {
      total += entropy(q.p[i]);
      continue;
    }
    const double above = q.p[forest_.parent[i]], one = q.if_one[i], zero = q.if_zero[i];
    const double agree = above * one + (1 - above) * (1 - zero);
    total += forest_.coupling[i] * (2 * agree - 1) + above * entropy(one) + (1 - above) * entropy(zero);
  }
  return total;
}

double PrimalDualMeanField::bound(const Beliefs& q) const {
  double total = expected_score_of_forest(q);
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (forest_.has_edge[e] != 0) continue;
    const auto& edge = graph_.edges[e];
    const double first = 2 * q.p[edge.first] - 1, second = 2 * q.p[edge.second] - 1;
    total += duals_[e].log_constant +
             duals_[e].strength / 2 * q.tau[e] * (duals_[e].flip ? first - second : first + second) +
             entropy((1 + q.tau[e]) / 2);
  }
  return total;
}

// Of the spins. E[s_i | s_parent] is linear in s_parent with slope q(1 | 1) - q(1 | 0), so that along the
// path the slopes multiply: up from either end to where they meet. Trees of large grids are thousands of pairs deep,
// and the product vanishes long before.
double PrimalDualMeanField::covariance(const Beliefs& q, std::uint32_t i, std::uint32_t j,
                                       std::size_t& steps) const {
  double slopes = 1;
  while (i != j) {
    std::uint32_t& deeper = depth_[i] >= depth_[j] ? i : j;
    if (forest_.parent[deeper] == deeper) return 0;  // two trees
    slopes *= q.if_one[deeper] - q.if_zero[deeper];
    ++steps;
    if (std::abs(slopes) < negligible_covariance) return 0;
    deeper = forest_.parent[deeper];
  }
  return slopes * 4 * q.p[i] * (1 - q.p[i]);
}

double PrimalDualMeanField::ordinary_bound(const Beliefs& q, const RunControl& control) const {
  constexpr std::size_t steps_between = 1U << 16;
  double total = expected_score_of_forest(q);
  std::size_t steps = 0;
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (forest_.has_edge[e] != 0) continue;
    const auto& edge = graph_.edges[e];
    const double means = (2 * q.p[edge.first] - 1) * (2 * q.p[edge.second] - 1);
    total += edge.coupling * (means + covariance(q, edge.first, edge.second, steps));
    if (++steps < steps_between) continue;
    steps = 0;
    if (control.should_stop()) return -std::numeric_limits<double>::infinity();
  }
  return total;
}

}  // namespace drover
