#include "drover/sample/dual/dual_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "drover/compile/cluster_bonds.hpp"

namespace drover {

namespace {

EntryDual entry_dual(const Mixture& mixture) {
  const auto [i, j] = *mixture.entry;
  const auto weight = [&](std::size_t variable, std::uint32_t state) {
    return mixture.values[mixture.offsets[variable] + 2 * state + 1];
  };
  const double first[2] = {weight(0, i == 0 ? 1 : 0), weight(0, i)};
  const double second[2] = {weight(1, j == 0 ? 1 : 0), weight(1, j)};
  EntryDual dual{static_cast<Value>(i), static_cast<Value>(j), {},
                 first[1] / first[0],   second[1] / second[0], 0};
  dual.nats = std::max(std::abs(std::log(dual.first_gain)), std::abs(std::log(dual.second_gain)));
  for (std::size_t c = 0; c < 4; ++c) {
    const double total = 1 + first[c / 2] * second[c % 2];
    dual.least_word[c] = static_cast<std::uint64_t>(std::ceil(0x1p32 / total - 0.5));
  }
  return dual;
}

void place(const Mixture& mixture, std::span<const VariableId> scope, const Graph& graph, DualPlan& plan) {
  PlacedMixture placed{mixture.components, plan.dual_sites++, static_cast<std::uint32_t>(plan.scopes.size()),
                       0, PlacedMixture::none};
  for (std::size_t j = 0; j < scope.size(); ++j) {
    plan.scopes.push_back(scope[j]);
    plan.value_offsets.push_back(plan.values.size());
    const auto values = mixture.values.begin() + mixture.offsets[j];
    plan.values.insert(plan.values.end(), values,
                       values + graph.cardinalities[scope[j]] * mixture.components);
  }
  placed.scope_end = static_cast<std::uint32_t>(plan.scopes.size());
  if (!mixture.residual.empty()) {
    placed.residual = plan.residuals.size();
    plan.residuals.insert(plan.residuals.end(), mixture.residual.begin(), mixture.residual.end());
  }
  plan.mixtures.push_back(placed);
}

// Puts a pair's duals into the plan: first those of its zeros, then those of other entries.
void place_pair(const FactorDual& dual, const Graph& graph, DualPlan& plan, DualLink& link) {
  const VariableId scope[2] = {link.first, link.second};
  link.gains = plan.gains.size();
  for (const std::vector<double>& gains : dual.log_unary) {
    const double highest = *std::max_element(gains.begin(), gains.end());
    for (double gain : gains) plan.gains.push_back(std::exp(gain - highest));
  }
  link.mixture_begin = static_cast<std::uint32_t>(plan.mixtures.size());
  link.entry_begin = static_cast<std::uint32_t>(plan.entries.size());
  for (const Mixture& mixture : dual.mixtures)
    if (!mixture.entry) place(mixture, scope, graph, plan);
  link.entry_site = plan.dual_sites;
  for (const Mixture& mixture : dual.mixtures)
    if (mixture.entry) plan.entries.push_back(entry_dual(mixture));
  link.mixture_end = static_cast<std::uint32_t>(plan.mixtures.size());
  link.entry_end = static_cast<std::uint32_t>(plan.entries.size());
  plan.dual_sites += link.entry_end - link.entry_begin;
}

// The largest interaction of a pair table: how far it is from a product.
double pair_weight(std::uint32_t rows, std::uint32_t columns, std::span<const double> table) {
  std::vector<double> row(rows, 0.0), column(columns, 0.0);
  double mean = 0;
  const auto entry = [&](std::uint32_t i, std::uint32_t j) {
    return std::max(table[i * columns + j], -50.0);
  };
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j) {
      row[i] += entry(i, j) / columns;
      column[j] += entry(i, j) / rows;
      mean += entry(i, j) / (rows * columns);
    }
  double largest = 0;
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j)
      largest = std::max(largest, std::abs(entry(i, j) - row[i] - column[j] + mean));
  return 4 * largest;
}

}  // namespace

DualPlan make_dual_plan(const Graph& graph, double inverse_temperature) {
  const auto tempered = [&](double value) { return value == log_zero ? value : inverse_temperature * value; };
  DualPlan plan;
  for (VariableId v = 0; v < graph.size(); ++v) {
    const auto unary = graph.unary_of(v);
    const double highest = *std::max_element(unary.begin(), unary.end());
    for (double value : unary)
      plan.unary.push_back(value == log_zero ? 0 : std::exp(inverse_temperature * (value - highest)));
  }
  for (const ClusterBond& bond : cluster_bonds(graph)) {
    const double gain = inverse_temperature * bond.strength;
    const double factor = std::exp(gain);
    if (factor == 1) continue;  // it does nothing, though rounding left it something
    const std::uint32_t states = graph.cardinalities[bond.first];
    DualLink link{bond.first, bond.second};
    link.weight = 2 * std::abs(gain);
    link.is_bond = true;
    link.flip = bond.flip;
    link.factor = factor;
    if (gain > 0) {
      link.law = bond_law(gain, 0, states);
    } else {
      std::vector<double> table(std::size_t{states} * states, 0.0);
      for (std::uint32_t k = 0; k < states; ++k) table[k * states + k] = gain;
      const std::uint32_t cardinalities[2] = {states, states};
      place_pair(dual_of_factor(cardinalities, table), graph, plan, link);
    }
    plan.links.push_back(link);
  }

  // Tied tables are decomposed once per shape.
  std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, FactorDual> known;
  std::vector<std::size_t> larger;
  const auto dual_of = [&](std::size_t f) -> const FactorDual& {
    std::vector<std::uint32_t> cardinalities;
    for (VariableId v : graph.tables.scope(f)) cardinalities.push_back(graph.cardinalities[v]);
    const auto key = std::pair{graph.tables.table_of[f], cardinalities};
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    std::vector<double> values;
    for (double value : graph.tables.values(f)) values.push_back(tempered(value));
    return known.emplace(key, dual_of_factor(cardinalities, values)).first->second;
  };
  struct PairTable {
    std::size_t begin;  // in plan.tables
    double weight;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, PairTable> known_pairs;  // by table and first cardinality
  const auto pair_table = [&](std::size_t f) {
    const std::uint32_t rows = graph.cardinalities[graph.tables.scope(f)[0]];
    const auto [found, is_new] = known_pairs.try_emplace({graph.tables.table_of[f], rows});
    if (!is_new) return found->second;
    std::vector<double> values;
    for (double value : graph.tables.values(f)) values.push_back(tempered(value));
    const double highest = *std::max_element(values.begin(), values.end());
    const auto columns = static_cast<std::uint32_t>(values.size() / rows);
    found->second = {plan.tables.size(), pair_weight(rows, columns, values)};
    for (double value : values) plan.tables.push_back(std::exp(value - highest));
    return found->second;
  };
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    if (scope.size() > 2) {
      larger.push_back(f);
      continue;
    }
    DualLink link{scope[0], scope[1]};
    const PairTable table = pair_table(f);
    link.table = table.begin;
    link.weight = table.weight;
    place_pair(dual_of(f), graph, plan, link);
    plan.links.push_back(link);
  }
  plan.first_free_mixture = static_cast<std::uint32_t>(plan.mixtures.size());
  for (std::size_t f : larger) {
    const FactorDual& dual = dual_of(f);
    for (const Mixture& mixture : dual.mixtures) place(mixture, graph.tables.scope(f), graph, plan);
    plan.residual_share = std::max(plan.residual_share, dual.residual_share);
    if (dual.fitted && dual.divergence >= plan.divergence) {
      plan.divergence = dual.divergence;
      plan.worst_factor = scope_name(graph, graph.tables.scope(f));
    }
  }
  return plan;
}

DualForest heaviest_forest(const DualPlan& plan, std::span<const double> weights, std::size_t variables) {
  DualForest forest;
  forest.parent.resize(variables);
  forest.parent_link.assign(variables, DualForest::no_link);
  forest.has_link.assign(plan.links.size(), 0);
  std::iota(forest.parent.begin(), forest.parent.end(), VariableId{0});

  std::vector<VariableId> root(forest.parent);
  const auto find = [&](VariableId v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  std::vector<std::uint32_t> by_weight(weights.size());
  std::iota(by_weight.begin(), by_weight.end(), 0U);
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return weights[a] > weights[b]; });
  std::vector<std::size_t> offsets(variables + 1, 0);
  for (std::uint32_t l : by_weight) {
    const VariableId a = find(plan.links[l].first), b = find(plan.links[l].second);
    if (a == b) continue;
    root[std::max(a, b)] = std::min(a, b);
    forest.has_link[l] = 1;
    ++offsets[plan.links[l].first + 1];
    ++offsets[plan.links[l].second + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::uint32_t> links_of(offsets.back());
  std::vector<std::size_t> at(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t l = 0; l < plan.links.size(); ++l) {
    if (!forest.has_link[l]) continue;
    links_of[at[plan.links[l].first]++] = l;
    links_of[at[plan.links[l].second]++] = l;
  }
  // Breadth first from the lowest variable of every tree.
  std::vector<std::uint8_t> seen(variables, 0);
  for (VariableId start = 0; start < variables; ++start) {
    if (seen[start]) continue;
    seen[start] = 1;
    forest.order.push_back(start);
    for (std::size_t next = forest.order.size() - 1; next < forest.order.size(); ++next) {
      const VariableId v = forest.order[next];
      for (std::size_t k = offsets[v]; k < offsets[v + 1]; ++k) {
        const DualLink& link = plan.links[links_of[k]];
        const VariableId other = link.first == v ? link.second : link.first;
        if (seen[other]) continue;
        seen[other] = 1;
        forest.parent[other] = v;
        forest.parent_link[other] = links_of[k];
        forest.order.push_back(other);
      }
    }
  }
  return forest;
}

}  // namespace drover
