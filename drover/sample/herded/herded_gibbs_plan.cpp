#include "drover/sample/herded/herded_gibbs_plan.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "drover/sample/herded/herded_gibbs_visited.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"

namespace drover {

namespace {

constexpr double most_enumerated_when_shared = 4096;

std::vector<double> configuration_counts(const Graph& graph) {
  const Adjacency near = adjacency(graph);
  std::vector<double> counts(graph.size(), 1);
  for (VariableId v = 0; v < graph.size(); ++v)
    for (VariableId u : near.of(v)) counts[v] *= graph.cardinalities[u];
  return counts;
}

/// How many conditionals a variable can have at most: one per configuration; where it has spin pairs only,
/// m equal couplings give m + 1 sums.
std::vector<double> distinct_counts(const Graph& graph, const std::vector<double>& configurations) {
  std::vector<std::vector<double>> couplings(graph.size());
  for (std::size_t f = 0; f < graph.spin_pairs.size(); ++f) {
    couplings[graph.spin_pairs.first[f]].push_back(graph.spin_pairs.couplings[f]);
    couplings[graph.spin_pairs.second[f]].push_back(graph.spin_pairs.couplings[f]);
  }
  std::vector<char> pairs_only(graph.size(), 1);
  for (VariableId v : graph.tables.scopes) pairs_only[v] = 0;
  for (VariableId v : graph.potts_pairs.first) pairs_only[v] = 0;
  for (VariableId v : graph.potts_pairs.second) pairs_only[v] = 0;
  std::vector<double> counts = configurations;
  for (VariableId v = 0; v < graph.size(); ++v) {
    if (!pairs_only[v]) continue;
    auto& mine = couplings[v];
    std::sort(mine.begin(), mine.end());
    double sums = 1;
    for (std::size_t begin = 0, end = 0; begin < mine.size(); begin = end) {
      while (end < mine.size() && mine[end] == mine[begin]) ++end;
      sums *= static_cast<double>(end - begin + 1);
    }
    counts[v] = std::min(counts[v], sums);
  }
  return counts;
}

/// A bound of what a variable keeps of its visits; places of hash tables are at most four for each key.
double visited_bytes(std::uint32_t states, double configurations, std::size_t degree, std::uint64_t visits) {
  const double width = herded_weight_count(states);
  double stored = std::min(configurations, static_cast<double>(visits));
  double bytes = sizeof(HerdedTable);
  if (states >= herded_visits_from_states) {
    const auto few = static_cast<double>(std::min<std::uint64_t>(visits, HerdedVisits::most));
    const double often = few / herded_visits_before_weights(states);
    stored = std::min(stored, often + (static_cast<double>(visits) - few));
    bytes += sizeof(HerdedVisits) + (1.25 * few + 8) * (4 + 2.0 * static_cast<double>(degree));
    if (stored <= 4) return bytes + 2 * stored * (8 + 4 * width);
  }
  return bytes + 4 * stored * (8 + 4 * width);
}

HerdedPlan plan_of(const Graph& graph, const std::vector<double>& configurations, HerdedShare share,
                   std::uint32_t bins, std::uint32_t chains, std::uint64_t visits) {
  const double most = configurations.empty() ? 0 : *std::ranges::max_element(configurations);
  HerdedPlan plan;
  plan.share = share;
  plan.bins = share == HerdedShare::bins ? bins : 0;
  plan.enumerated =
      share == HerdedShare::dense || (share == HerdedShare::exact && most <= most_enumerated_when_shared);
  std::vector<std::size_t> degrees(graph.size(), 0);
  if (!plan.enumerated) {
    const Adjacency near = adjacency(graph);
    for (VariableId v = 0; v < graph.size(); ++v) degrees[v] = near.of(v).size();
  }
  std::vector<double> rows = configurations;
  if (share == HerdedShare::exact) rows = distinct_counts(graph, configurations);
  for (VariableId v = 0; v < graph.size(); ++v) {
    const double width = herded_weight_count(graph.cardinalities[v]);
    if (share == HerdedShare::bins && graph.cardinalities[v] == 2) rows[v] = std::min(rows[v], bins + 2.0);
    if (plan.enumerated)
      plan.bytes += rows[v] * 8 * width;
    else
      plan.bytes += visited_bytes(graph.cardinalities[v], rows[v], degrees[v], visits);
  }
  plan.bytes *= chains;
  return plan;
}

}  // namespace

HerdedPlan herded_plan(const Graph& graph, HerdedShare share, std::uint32_t bins, std::uint32_t chains,
                       std::uint64_t visits) {
  return plan_of(graph, configuration_counts(graph), share, bins, chains, visits);
}

HerdedPlan automatic_herded_plan(const Graph& graph, std::uint32_t chains, std::uint64_t visits,
                                 double limit_bytes) {
  const std::vector<double> configurations = configuration_counts(graph);
  const double most = configurations.empty() ? 0 : *std::ranges::max_element(configurations);
  const HerdedPlan dense = plan_of(graph, configurations, HerdedShare::dense, 0, chains, visits);
  const HerdedPlan hashed = plan_of(graph, configurations, HerdedShare::hashed, 0, chains, visits);
  // Tables that a run can hardly begin to fill are not worth making; the states are the same either way.
  constexpr double worth = 4;
  if (most <= 0x1p16 && dense.bytes <= limit_bytes && dense.bytes <= worth * hashed.bytes) return dense;
  if (most <= 0x1p20 && hashed.bytes <= limit_bytes) return hashed;
  return plan_of(graph, configurations, HerdedShare::bins, default_herded_bins, chains, visits);
}

}  // namespace drover
