#include "drover/compile/cluster_bonds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace drover {

std::vector<ClusterBond> cluster_bonds(const Graph& graph) {
  struct Pair {
    VariableId first, second;
    double coupling;
  };
  std::vector<ClusterBond> bonds;
  std::vector<Pair> pairs;
  const auto add_all = [&](const Pairs& list, bool spins) {
    pairs.clear();
    for (std::size_t p = 0; p < list.size(); ++p)
      pairs.push_back({std::min(list.first[p], list.second[p]), std::max(list.first[p], list.second[p]),
                       list.couplings[p]});
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return std::tie(a.first, a.second) < std::tie(b.first, b.second);
    });
    for (std::size_t p = 0; p < pairs.size();) {
      const Pair& pair = pairs[p];
      double sum = 0;
      for (; p < pairs.size() && pairs[p].first == pair.first && pairs[p].second == pair.second; ++p)
        sum += pairs[p].coupling;
      if (sum == 0) continue;
      const double strength = spins ? 2 * std::abs(sum) : sum;
      bonds.push_back({pair.first, pair.second, static_cast<float>(strength), spins && sum < 0 ? 1U : 0U});
    }
  };
  add_all(graph.spin_pairs, true);
  add_all(graph.potts_pairs, false);
  return bonds;
}

std::string scope_name(const Graph& graph, std::span<const VariableId> scope) {
  std::string text = "(";
  for (VariableId v : scope) text += (text.size() > 1 ? ", " : "") + graph.name(v);
  return text + ")";
}

std::string frustration(const Graph& graph) {
  const std::vector<ClusterBond> bonds = cluster_bonds(graph);
  // Union-find with the relabelling of each variable relative to its parent.
  std::vector<VariableId> parent(graph.size());
  std::vector<std::uint8_t> flipped(graph.size(), 0);
  std::iota(parent.begin(), parent.end(), VariableId{0});
  const auto root = [&](VariableId v) {
    std::uint8_t flip = 0;
    while (parent[v] != v) {
      flipped[v] ^= flipped[parent[v]];
      parent[v] = parent[parent[v]];
      flip ^= flipped[v];
      v = parent[v];
    }
    return std::pair{v, flip};
  };
  for (const ClusterBond& bond : bonds) {
    if (bond.strength < 0)
      return fmt::format("the Potts pair over ({}, {}) wants its variables to differ", graph.name(bond.first),
                         graph.name(bond.second));
    const auto [a, flip_a] = root(bond.first);
    const auto [b, flip_b] = root(bond.second);
    const auto flip = static_cast<std::uint8_t>(flip_a ^ flip_b ^ bond.flip);
    if (a == b && flip != 0)
      return fmt::format(
          "the couplings are frustrated: no choice of signs makes all of them attractive, the "
          "pair over ({}, {}) closes a cycle with an odd number of repulsive ones",
          graph.name(bond.first), graph.name(bond.second));
    if (a == b) continue;
    parent[std::max(a, b)] = std::min(a, b);
    flipped[std::max(a, b)] = flip;
  }
  return "";
}

}  // namespace drover
