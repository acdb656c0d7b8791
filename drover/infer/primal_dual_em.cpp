#include "drover/infer/primal_dual_em.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

namespace {

double log_score_of(const SpinEdges& graph, std::span<const Value> x) {
  double total = graph.log_constant;
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (x[i] == 1) total += graph.field[i];
  for (const auto& edge : graph.edges)
    total += x[edge.first] == x[edge.second] ? edge.coupling : -edge.coupling;
  return total;
}

}  // namespace

PrimalDualEm::PrimalDualEm(SpinEdges graph, bool forest, const RunControl& control)
    : graph_(std::move(graph)), forest_(forest ? strongest_forest(graph_, control) : no_forest(graph_)) {
  for (const auto& edge : graph_.edges) duals_.push_back(dual_of_coupling(edge.coupling));
}

// Max-product in log-odds: up the forest, then down.
void PrimalDualEm::maximise_over_forest(std::span<double> log_odds, std::span<Value> x) const {
  for (std::size_t at = forest_.order.size(); at-- > 0;) {
    const std::uint32_t i = forest_.order[at];
    if (forest_.parent[i] == i) continue;
    const double b = log_odds[i], j = forest_.coupling[i];
    log_odds[forest_.parent[i]] += std::max(b + j, -j) - std::max(b - j, j);
  }
  for (std::uint32_t i : forest_.order) {
    double b = log_odds[i];
    if (forest_.parent[i] != i)
      b += x[forest_.parent[i]] == 1 ? 2 * forest_.coupling[i] : -2 * forest_.coupling[i];
    if (b != 0) x[i] = b > 0 ? 1 : 0;
  }
}

void PrimalDualEm::step(std::span<Value> x) const {
  std::vector<double> log_odds(graph_.field.begin(), graph_.field.end());
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (forest_.has_edge[e] != 0) continue;
    const auto& edge = graph_.edges[e];
    const SpinDual& dual = duals_[e];
    if ((x[edge.first] == x[edge.second]) == dual.flip) continue;  // tau = 0
    const double pull = dual.strength * (1 - 2 * dual.noise);
    log_odds[edge.first] += x[edge.first] == 1 ? pull : -pull;
    log_odds[edge.second] += x[edge.second] == 1 ? pull : -pull;
  }
  maximise_over_forest(log_odds, x);
}

PrimalDualEm::Climb PrimalDualEm::climb(std::vector<Value>& x) const {
  double score = log_score_of(graph_, x);
  std::uint64_t steps = 0;
  std::vector<Value> next;
  for (;;) {
    next = x;
    step(next);
    ++steps;
    const double reached = log_score_of(graph_, next);
    if (!(reached > score)) return {score, steps};
    score = reached;
    x.swap(next);
  }
}

}  // namespace drover
