#include "drover/infer/primal_dual_em.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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

PrimalDualEm::PrimalDualEm(SpinEdges graph, bool forest)
    : graph_(std::move(graph)), in_forest_(graph_.edges.size(), 0), forest_(forest) {
  for (const auto& edge : graph_.edges) duals_.push_back(dual_of_coupling(edge.coupling));
  if (forest_) choose_forest();
}

// Kruskal's: strongest pairs first; then every tree is walked from its lowest variable.
void PrimalDualEm::choose_forest() {
  const std::size_t n = graph_.size();
  std::vector<std::uint32_t> edges(graph_.edges.size()), root(n);
  std::iota(edges.begin(), edges.end(), 0U);
  std::iota(root.begin(), root.end(), 0U);
  std::stable_sort(edges.begin(), edges.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::abs(graph_.edges[a].coupling) > std::abs(graph_.edges[b].coupling);
  });
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  std::vector<std::vector<std::uint32_t>> links(n);
  for (std::uint32_t e : edges) {
    const std::uint32_t a = find(graph_.edges[e].first), b = find(graph_.edges[e].second);
    if (a == b) continue;
    root[a] = b;
    in_forest_[e] = 1;
    ++forest_size_;
    links[graph_.edges[e].first].push_back(e);
    links[graph_.edges[e].second].push_back(e);
  }
  parent_.assign(n, 0);
  coupling_.assign(n, 0);
  std::vector<std::uint8_t> seen(n, 0);
  for (std::uint32_t start = 0; start < n; ++start) {
    if (seen[start] != 0) continue;
    seen[start] = 1;
    parent_[start] = start;
    order_.push_back(start);
    for (std::size_t at = order_.size() - 1; at < order_.size(); ++at) {
      const std::uint32_t i = order_[at];
      for (std::uint32_t e : links[i]) {
        const std::uint32_t j = graph_.edges[e].first == i ? graph_.edges[e].second : graph_.edges[e].first;
        if (seen[j] != 0) continue;
        seen[j] = 1;
        parent_[j] = i;
        coupling_[j] = graph_.edges[e].coupling;
        order_.push_back(j);
      }
    }
  }
}

// Max-product in log-odds: up the forest, then down.
void PrimalDualEm::maximise_over_forest(std::span<double> log_odds, std::span<Value> x) const {
  for (std::size_t at = order_.size(); at-- > 0;) {
    const std::uint32_t i = order_[at];
    if (parent_[i] == i) continue;
    const double b = log_odds[i], j = coupling_[i];
    log_odds[parent_[i]] += std::max(b + j, -j) - std::max(b - j, j);
  }
  for (std::uint32_t i : order_) {
    double b = log_odds[i];
    if (parent_[i] != i) b += x[parent_[i]] == 1 ? 2 * coupling_[i] : -2 * coupling_[i];
    if (b != 0) x[i] = b > 0 ? 1 : 0;
  }
}

void PrimalDualEm::step(std::span<Value> x) const {
  std::vector<double> log_odds(graph_.field.begin(), graph_.field.end());
  for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
    if (in_forest_[e] != 0) continue;
    const auto& edge = graph_.edges[e];
    const SpinDual& dual = duals_[e];
    if ((x[edge.first] == x[edge.second]) == dual.flip) continue;  // tau = 0
    const double pull = dual.strength * (1 - 2 * dual.noise);
    log_odds[edge.first] += x[edge.first] == 1 ? pull : -pull;
    log_odds[edge.second] += x[edge.second] == 1 ? pull : -pull;
  }
  if (forest_) {
    maximise_over_forest(log_odds, x);
    return;
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if (log_odds[i] != 0) x[i] = log_odds[i] > 0 ? 1 : 0;
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
