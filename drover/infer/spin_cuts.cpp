#include "drover/infer/spin_cuts.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/infer/max_flow.hpp"

namespace drover {

namespace {

// Half the log-odds of a variable by its own factor.
double field_of(const Graph& graph, VariableId v) {
  return (graph.unary[2 * v + 1] - graph.unary[2 * v]) / 2;
}

// Costs of a cut as whole numbers, and the score that no cut costs anything.
struct Scale {
  double factor = 1;   // a power of two
  double highest = 0;  // constant + sum |h| + sum |J|, with the middle of the unaries
  double rounding = 0;

  explicit Scale(const Graph& graph) {
    double total = 0, middle = graph.log_constant;
    for (VariableId v = 0; v < graph.size(); ++v) {
      total += std::abs(field_of(graph, v));
      middle += (graph.unary[2 * v] + graph.unary[2 * v + 1]) / 2;
    }
    for (double coupling : graph.spin_pairs.couplings) total += std::abs(coupling);
    highest = middle + total;
    if (total == 0) return;  // no cost, nothing to round
    factor = std::exp2(std::clamp(std::floor(58 - std::log2(total)), -1000.0, 1000.0));
    // Every cost is rounded once; sums of doubles lose at most a few units in the last place each.
    const auto terms = static_cast<double>(graph.size() + graph.spin_pairs.size());
    rounding = terms / factor + 4e-16 * terms * (total + std::abs(middle));
  }
  std::int64_t whole(double cost) const { return std::llround(cost * factor); }
};

Value by_field(const Graph& graph, VariableId v) {
  return field_of(graph, v) >= 0 ? Value{1} : Value{0};
}

SpinCut unfinished(const Graph& graph, const Scale& scale, const MaxFlow& network) {
  SpinCut cut;
  cut.tolerance = scale.rounding;
  cut.upper = scale.highest - static_cast<double>(network.flow()) / scale.factor + scale.rounding;
  cut.state.resize(graph.size());
  cut.decided.assign(graph.size(), 0);
  for (VariableId v = 0; v < graph.size(); ++v) cut.state[v] = by_field(graph, v);
  return cut;
}

}  // namespace

std::optional<std::vector<char>> balancing_flips(const Graph& graph) {
  assert(graph.is_spin());
  const SpinPairs& pairs = graph.spin_pairs;
  std::vector<std::size_t> offsets(graph.size() + 1, 0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    ++offsets[pairs.first[p] + 1];
    ++offsets[pairs.second[p] + 1];
  }
  for (std::size_t v = 0; v < graph.size(); ++v) offsets[v + 1] += offsets[v];
  std::vector<std::size_t> incident(offsets.back()), at(offsets.begin(), offsets.end() - 1);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    incident[at[pairs.first[p]]++] = p;
    incident[at[pairs.second[p]]++] = p;
  }
  constexpr char unseen = 2;
  std::vector<char> flips(graph.size(), unseen);
  std::vector<VariableId> waiting;
  for (VariableId root = 0; root < graph.size(); ++root) {
    if (flips[root] != unseen) continue;
    flips[root] = 0;
    waiting.assign(1, root);
    while (!waiting.empty()) {
      const VariableId v = waiting.back();
      waiting.pop_back();
      for (std::size_t k = offsets[v]; k < offsets[v + 1]; ++k) {
        const std::size_t p = incident[k];
        if (pairs.couplings[p] == 0) continue;
        const VariableId other = pairs.first[p] == v ? pairs.second[p] : pairs.first[p];
        const char wanted = static_cast<char>(flips[v] ^ (pairs.couplings[p] < 0 ? 1 : 0));
        if (flips[other] == unseen) {
          flips[other] = wanted;
          waiting.push_back(other);
        } else if (flips[other] != wanted) {
          return std::nullopt;
        }
      }
    }
  }
  return flips;
}

SpinCut balanced_cut(const Graph& graph, const std::vector<char>& flips, const RunControl& control) {
  const Scale scale(graph);
  std::vector<std::int64_t> surplus(graph.size());
  for (VariableId v = 0; v < graph.size(); ++v)
    surplus[v] = scale.whole(2 * (flips[v] ? -field_of(graph, v) : field_of(graph, v)));
  const SpinPairs& pairs = graph.spin_pairs;
  std::vector<MaxFlow::Edge> edges;
  edges.reserve(pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p)
    edges.push_back({pairs.first[p], pairs.second[p], scale.whole(2 * std::abs(pairs.couplings[p]))});
  MaxFlow network(surplus, edges);
  const bool complete = network.run(control);
  SpinCut cut = unfinished(graph, scale, network);
  if (!complete) return cut;
  cut.complete = true;
  cut.decided.assign(graph.size(), 1);
  for (VariableId v = 0; v < graph.size(); ++v)
    cut.state[v] = static_cast<Value>((network.on_source_side(v) ? 1 : 0) ^ flips[v]);
  return cut;
}

SpinCut roof_duality(const Graph& graph, const RunControl& control, std::uint64_t most_work) {
  assert(graph.is_spin());
  const Scale scale(graph);
  const auto size = static_cast<std::uint32_t>(graph.size());  // the opposite of spin v is node size + v
  std::vector<std::int64_t> surplus(2 * graph.size());
  for (VariableId v = 0; v < graph.size(); ++v) {
    surplus[v] = scale.whole(field_of(graph, v));
    surplus[size + v] = -surplus[v];
  }
  const SpinPairs& pairs = graph.spin_pairs;
  std::vector<MaxFlow::Edge> edges;
  edges.reserve(2 * pairs.size());
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const VariableId i = pairs.first[p], j = pairs.second[p];
    const std::int64_t capacity = scale.whole(std::abs(pairs.couplings[p]));
    const std::uint32_t across = pairs.couplings[p] < 0 ? size : 0;  // i agrees with the opposite of j
    edges.push_back({i, j + across, capacity});
    edges.push_back({i + size, j + size - across, capacity});
  }
  MaxFlow network(surplus, edges);
  const bool complete = network.run(control, most_work);
  SpinCut cut = unfinished(graph, scale, network);
  if (!complete) return cut;
  cut.complete = true;
  for (VariableId v = 0; v < graph.size(); ++v) {
    const bool up = network.on_source_side(v), down = network.on_source_side(size + v);
    assert(!(up && down));
    cut.decided[v] = up || down;
    if (cut.decided[v]) cut.state[v] = up ? Value{1} : Value{0};
  }
  return cut;
}

}  // namespace drover
