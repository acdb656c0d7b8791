#include "drover/infer/factor_graph.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

// Entries of files are logs of rounded decimals; nearer than this they count as equal.
constexpr double rounding = 1e-12;

std::optional<TruncatedLinear> recognise_truncated_linear(std::span<const double> table, std::size_t states) {
  if (states < 3) return std::nullopt;
  TruncatedLinear shape;
  shape.constant = table[0];
  shape.slope = table[0] - table[1];
  shape.limit = table[0] - table[states - 1];
  if (!std::isfinite(shape.constant) || !std::isfinite(shape.limit) || !(shape.slope > 0))
    return std::nullopt;
  const double tolerance = rounding * (1 + std::abs(shape.constant) + std::abs(shape.limit));
  for (std::size_t a = 0; a < states; ++a)
    for (std::size_t b = 0; b < states; ++b) {
      const double distance = std::abs(static_cast<double>(a) - static_cast<double>(b));
      const double expected = shape.constant - std::min(shape.slope * distance, shape.limit);
      if (!(std::abs(table[a * states + b] - expected) <= tolerance)) return std::nullopt;
    }
  return shape;
}

}  // namespace

FactorGraph factor_graph(const Graph& graph, std::span<const char> chosen, const RunControl& control) {
  StopCheck check(control, "message passing", "began");
  FactorGraph result;
  result.graph = &graph;
  result.edge_offsets.push_back(0);
  result.message_offsets.push_back(0);
  const auto add = [&](FactorKind kind, std::size_t index, std::span<const VariableId> scope) {
    check.step(scope.size());
    const auto number = static_cast<std::uint32_t>(result.kind.size());
    result.kind.push_back(kind);
    result.index.push_back(static_cast<std::uint32_t>(index));
    std::size_t entries = 0;
    if (chosen.empty() || chosen[number])
      for (VariableId v : scope) {
        result.variable.push_back(v);
        result.factor.push_back(number);
        result.message_offsets.push_back(result.message_offsets.back() + graph.cardinalities[v]);
        entries += graph.cardinalities[v];
      }
    result.edge_offsets.push_back(result.variable.size());
    result.largest_factor = std::max(result.largest_factor, entries);
  };
  const auto add_pairs = [&](FactorKind kind, const Pairs& pairs) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const VariableId scope[2] = {pairs.first[f], pairs.second[f]};
      add(kind, f, scope);
    }
  };
  add_pairs(FactorKind::spin_pair, graph.spin_pairs);
  add_pairs(FactorKind::potts_pair, graph.potts_pairs);
  // A table of K x K entries is looked at once, for the first factor of that shape that uses it.
  constexpr std::uint32_t not_looked_at = ~0U, not_recognised = ~0U - 1;
  std::vector<std::uint32_t> recognised(graph.tables.table_count(), not_looked_at);
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    if (scope.size() != 2 || graph.cardinalities[scope[0]] != graph.cardinalities[scope[1]]) {
      add(FactorKind::table, f, scope);
      continue;
    }
    std::uint32_t& shape = recognised[graph.tables.table_of[f]];
    if (shape == not_looked_at) {
      const auto found = recognise_truncated_linear(graph.tables.values(f), graph.cardinalities[scope[0]]);
      shape = found ? static_cast<std::uint32_t>(result.truncated_linear.size()) : not_recognised;
      if (found) result.truncated_linear.push_back(*found);
    }
    if (shape == not_recognised)
      add(FactorKind::table, f, scope);
    else
      add(FactorKind::truncated_linear, shape, scope);
  }

  for (std::size_t g = 0; g < graph.gates.size(); ++g) add(FactorKind::gate, g, graph.gates.scope(g));

  result.variable_offsets.assign(graph.size() + 1, 0);
  for (VariableId v : result.variable) ++result.variable_offsets[v + 1];
  for (std::size_t v = 0; v < graph.size(); ++v) result.variable_offsets[v + 1] += result.variable_offsets[v];
  result.edges_of.resize(result.variable.size());
  std::vector<std::size_t> cursor(result.variable_offsets.begin(), result.variable_offsets.end() - 1);
  for (std::size_t e = 0; e < result.variable.size(); ++e) {
    check.step();
    result.edges_of[cursor[result.variable[e]]++] = e;
  }
  return result;
}

FactorOrder breadth_first(const FactorGraph& graph, const RunControl& control) {
  StopCheck check(control, "message passing", "began");
  FactorOrder order;
  std::vector<char> factor_seen(graph.factor_count(), 0), variable_seen(graph.variable_count(), 0);
  for (VariableId root = 0; root < graph.variable_count(); ++root) {
    if (variable_seen[root]) continue;
    variable_seen[root] = 1;
    std::size_t next = order.variables.size();
    order.variables.push_back(root);
    for (; next < order.variables.size(); ++next)
      for (std::size_t e : graph.edges(order.variables[next])) {
        check.step();
        const std::uint32_t f = graph.factor[e];
        if (factor_seen[f]) continue;
        factor_seen[f] = 1;
        order.factors.push_back(f);
        for (VariableId u : graph.scope(f)) {
          if (u == order.variables[next]) continue;
          if (variable_seen[u]) order.is_forest = false;
          if (!variable_seen[u]) order.variables.push_back(u);
          variable_seen[u] = 1;
        }
      }
  }
  return order;
}

}  // namespace drover
