#include "drover/infer/cost_network.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

namespace {

struct Ends {
  double least = infinite_cost, most = log_zero;
};

Ends finite_ends(std::span<const double> values) {
  Ends ends;
  for (double value : values) {
    if (value == log_zero) continue;
    ends.least = std::min(ends.least, value);
    ends.most = std::max(ends.most, value);
  }
  return ends;
}

// Appends `values` as costs and returns their largest, scaled.
double add_costs(std::span<const double> values, double scale, std::vector<double>& costs) {
  const double most = finite_ends(values).most;
  for (double value : values)
    costs.push_back(value == log_zero ? infinite_cost : std::round((most - value) * scale));
  return most == log_zero ? 0 : most * scale;
}

}  // namespace

double CostNetwork::cost(std::span<const Value> x) const {
  double total = 0;
  for (std::size_t v = 0; v < size(); ++v) total += unary[value_offsets[v] + x[v]];
  for (std::size_t f = 0; f < factor_count(); ++f) {
    std::size_t at = table_offsets[f];
    for (std::size_t e = scope_offsets[f]; e < scope_offsets[f + 1]; ++e) at += stride[e] * x[variable[e]];
    total += tables[at];
  }
  return total;
}

CostNetwork cost_network(const Graph& graph) {
  CostNetwork network;
  const Tables factors = all_tables(graph);
  network.cardinalities = graph.cardinalities;
  network.value_offsets = graph.unary_offsets;

  double range = 0;
  const auto widen = [&](std::span<const double> values) {
    const Ends ends = finite_ends(values);
    if (ends.most > ends.least) range += ends.most - ends.least;
  };
  for (VariableId v = 0; v < graph.size(); ++v) widen(graph.unary_of(v));
  for (std::size_t f = 0; f < factors.size(); ++f) widen(factors.values(f));
  network.scale = std::exp2(51 - std::ceil(std::log2(std::max(range, 1e-3))));
  network.tolerance = 0.5 * static_cast<double>(graph.size() + factors.size()) / network.scale;

  network.top = graph.log_constant * network.scale;
  network.unary.reserve(graph.unary.size());
  for (VariableId v = 0; v < graph.size(); ++v)
    network.top += add_costs(graph.unary_of(v), network.scale, network.unary);
  network.scope_offsets = {0};
  network.table_offsets = {0};
  network.delta_offsets = {0};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const auto scope = factors.scope(f);
    const auto values = factors.values(f);
    network.top += add_costs(values, network.scale, network.tables);
    std::size_t stride = values.size();
    for (VariableId v : scope) {
      stride /= graph.cardinalities[v];
      network.variable.push_back(v);
      network.factor.push_back(static_cast<std::uint32_t>(f));
      network.stride.push_back(stride);
      network.delta_offsets.push_back(network.delta_offsets.back() + graph.cardinalities[v]);
    }
    network.scope_offsets.push_back(network.variable.size());
    network.table_offsets.push_back(network.tables.size());
  }

  network.edge_offsets.assign(graph.size() + 1, 0);
  for (VariableId v : network.variable) ++network.edge_offsets[v + 1];
  for (std::size_t v = 0; v < graph.size(); ++v) network.edge_offsets[v + 1] += network.edge_offsets[v];
  network.edge_list.resize(network.variable.size());
  std::vector<std::size_t> cursor(network.edge_offsets.begin(), network.edge_offsets.end() - 1);
  for (std::size_t e = 0; e < network.variable.size(); ++e)
    network.edge_list[cursor[network.variable[e]]++] = static_cast<std::uint32_t>(e);
  return network;
}

}  // namespace drover
