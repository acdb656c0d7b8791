#include "drover/infer/tree_neighbourhoods.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "drover/infer/table_ops.hpp"

namespace drover {

TreeNeighbourhoods::TreeNeighbourhoods(const CostNetwork& network)
    : network_(network), place_(network.size(), no_variable) {}

// Breadth first from a random variable, neighbours in random order.
void TreeNeighbourhoods::pick_region(RandomSequence& random, std::size_t largest) {
  for (VariableId v : region_) place_[v] = no_variable;
  region_.clear();
  const auto join = [&](VariableId v) {
    if (place_[v] != no_variable || region_.size() >= largest) return;
    place_[v] = static_cast<std::uint32_t>(region_.size());
    region_.push_back(v);
  };
  if (network_.size() <= largest) {
    for (VariableId v = 0; v < network_.size(); ++v) join(v);
    return;
  }
  std::vector<VariableId> around;
  join(random.below(static_cast<std::uint32_t>(network_.size())));
  for (std::size_t at = 0; at < region_.size(); ++at) {
    around.clear();
    for (std::uint32_t e : network_.edges_of(region_[at]))
      for (VariableId w : network_.scope(network_.factor[e])) around.push_back(w);
    for (std::size_t k = around.size(); k > 1; --k)
      std::swap(around[k - 1], around[random.below(static_cast<std::uint32_t>(k))]);
    for (VariableId w : around) join(w);
  }
}

// Symbolic elimination: fills order_ and scopes_ (in variables of the region at first, then in places).
void TreeNeighbourhoods::plan(RandomSequence& random, double largest_table) {
  const std::size_t n = region_.size();
  neighbours_.assign(n, {});
  for (std::size_t a = 0; a < n; ++a) {
    auto& own = neighbours_[a];
    for (std::uint32_t e : network_.edges_of(region_[a]))
      for (VariableId w : network_.scope(network_.factor[e]))
        if (place_[w] != no_variable && place_[w] != a) own.push_back(place_[w]);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  std::vector<double> ties(n), size(n);
  for (double& tie : ties) tie = random.uniform();
  const auto table = [&](std::size_t a) {
    double entries = network_.cardinalities[region_[a]];
    for (std::uint32_t b : neighbours_[a]) entries *= network_.cardinalities[region_[b]];
    return entries;
  };
  std::set<std::pair<std::pair<double, double>, std::uint32_t>> waiting;
  for (std::uint32_t a = 0; a < n; ++a) waiting.insert({{size[a] = table(a), ties[a]}, a});
  const auto refresh = [&](std::uint32_t a) {
    waiting.erase({{size[a], ties[a]}, a});
    waiting.insert({{size[a] = table(a), ties[a]}, a});
  };
  const auto leave = [&](std::uint32_t a) {
    waiting.erase({{size[a], ties[a]}, a});
    for (std::uint32_t b : neighbours_[a]) {
      auto& list = neighbours_[b];
      list.erase(std::lower_bound(list.begin(), list.end(), a));
    }
  };
  order_.clear();
  scopes_.clear();
  std::vector<std::uint32_t> joined;
  while (!waiting.empty()) {
    const std::uint32_t a = waiting.begin()->second;
    if (size[a] > largest_table) {
      // Of the variables of the smallest table that is too large, the one in most others keeps its value.
      std::uint32_t kept = a;
      for (std::uint32_t b : neighbours_[a])
        if (neighbours_[b].size() > neighbours_[kept].size() ||
            (neighbours_[b].size() == neighbours_[kept].size() && ties[b] > ties[kept]))
          kept = b;
      leave(kept);
      for (std::uint32_t b : neighbours_[kept]) refresh(b);
      continue;
    }
    leave(a);
    const std::vector<std::uint32_t>& around = neighbours_[a];
    for (std::uint32_t b : around) {
      joined.clear();
      std::set_union(neighbours_[b].begin(), neighbours_[b].end(), around.begin(), around.end(),
                     std::back_inserter(joined));
      joined.erase(std::lower_bound(joined.begin(), joined.end(), b));
      neighbours_[b].swap(joined);
    }
    for (std::uint32_t b : around) refresh(b);
    order_.push_back(region_[a]);
    scopes_.push_back(around);
  }
  std::vector<std::uint32_t> place(n, no_variable);
  for (std::uint32_t p = 0; p < order_.size(); ++p) place[place_[order_[p]]] = p;
  for (auto& scope : scopes_) {
    for (std::uint32_t& b : scope) b = place[b];
    // Variables that kept their value after this elimination have no place.
    std::erase(scope, no_variable);
    std::sort(scope.begin(), scope.end());
  }
  for (VariableId v : region_) place_[v] = place[place_[v]];
}

// Elimination with negated costs: maxima.
std::uint64_t TreeNeighbourhoods::solve(std::span<Value> state) {
  struct Table {
    std::vector<std::uint32_t> scope;
    std::vector<double> values;
  };
  const std::size_t n = order_.size();
  std::uint64_t work = 0;
  std::vector<std::uint32_t> cardinalities(n);
  for (std::size_t p = 0; p < n; ++p) cardinalities[p] = network_.cardinalities[order_[p]];
  std::vector<std::vector<Table>> buckets(n);
  std::vector<std::pair<std::uint32_t, std::size_t>> axes;
  for (std::size_t p = 0; p < n; ++p) {
    const VariableId v = order_[p];
    Table unary{{static_cast<std::uint32_t>(p)}, {}};
    for (std::uint32_t k = 0; k < cardinalities[p]; ++k)
      unary.values.push_back(-network_.unary[network_.value_offsets[v] + k]);
    for (std::uint32_t e : network_.edges_of(v)) {
      const std::size_t f = network_.factor[e];
      std::size_t base = network_.table_offsets[f];
      axes.clear();
      bool first = true;
      for (std::size_t x = network_.scope_offsets[f]; x < network_.scope_offsets[f + 1]; ++x) {
        const VariableId w = network_.variable[x];
        if (place_[w] == no_variable) {
          base += network_.stride[x] * state[w];
        } else {
          axes.emplace_back(place_[w], network_.stride[x]);
          first &= place_[w] >= p;
        }
      }
      if (!first) continue;  // in an earlier bucket
      if (axes.size() == 1) {
        for (std::uint32_t k = 0; k < cardinalities[p]; ++k)
          unary.values[k] -= network_.tables[base + axes[0].second * k];
        continue;
      }
      std::sort(axes.begin(), axes.end());
      Table sliced;
      std::size_t entries = 1;
      for (const auto& [place, stride] : axes) {
        sliced.scope.push_back(place);
        entries *= cardinalities[place];
      }
      sliced.values.reserve(entries);
      std::vector<std::uint32_t> digits(axes.size(), 0);
      std::size_t at = base;
      for (std::size_t k = 0; k < entries; ++k) {
        sliced.values.push_back(-network_.tables[at]);
        for (std::size_t a = axes.size(); a-- > 0;) {
          at += axes[a].second;
          if (++digits[a] < cardinalities[axes[a].first]) break;
          at -= axes[a].second * digits[a];
          digits[a] = 0;
        }
      }
      work += entries;
      buckets[p].push_back(std::move(sliced));
    }
    buckets[p].push_back(std::move(unary));
  }
  std::vector<Operand> operands;
  for (std::size_t p = 0; p < n; ++p) {
    if (scopes_[p].empty()) continue;
    operands.clear();
    for (const Table& table : buckets[p]) operands.push_back({table.scope, table.values.data()});
    std::vector<std::uint32_t> scope = {static_cast<std::uint32_t>(p)};
    scope.insert(scope.end(), scopes_[p].begin(), scopes_[p].end());
    Table message{scopes_[p], std::vector<double>(table_size(cardinalities, scopes_[p]))};
    contract(Reduce::maximum, cardinalities, scope, operands, 0, message.scope, message.values.data());
    work += message.values.size() * cardinalities[p];
    buckets[message.scope[0]].push_back(std::move(message));
  }
  std::vector<double> weights;
  for (std::size_t p = n; p-- > 0;) {
    weights.assign(cardinalities[p], 0.0);
    for (const Table& table : buckets[p]) {
      std::size_t at = 0, stride = table.values.size();
      for (std::uint32_t q : table.scope) {
        stride /= cardinalities[q];
        if (q != p) at += stride * state[order_[q]];
      }
      const std::size_t own = table.values.size() / cardinalities[p];  // p comes first in every scope
      for (std::uint32_t k = 0; k < cardinalities[p]; ++k) weights[k] += table.values[at + own * k];
    }
    state[order_[p]] = static_cast<Value>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  }
  return work;
}

TreeNeighbourhoods::Step TreeNeighbourhoods::improve(std::span<Value> state, RandomSequence& random,
                                                     double largest_table, std::size_t largest_region) {
  pick_region(random, largest_region);
  plan(random, largest_table);
  Step step;
  step.variables = order_.size();
  const double before = network_.cost(state);
  step.work = solve(state);
  step.gain = before - network_.cost(state);
  return step;
}

}  // namespace drover
