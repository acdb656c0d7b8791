#include "drover/sample/blocked/blocked_plan.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <span>

namespace drover {

namespace {

constexpr std::uint32_t outside = no_parent;
constexpr std::uint32_t rows_per_chunk = 16384;  // with less work, a thread costs more than it saves

template <class ForEachScope>
FactorsOfVariables::List list_of(std::size_t variables, std::size_t factors, ForEachScope scope_of) {
  FactorsOfVariables::List list;
  list.offsets.assign(variables + 1, 0);
  for (std::size_t f = 0; f < factors; ++f)
    for (VariableId v : scope_of(f)) ++list.offsets[v + 1];
  for (std::size_t v = 0; v < variables; ++v) list.offsets[v + 1] += list.offsets[v];
  list.factors.resize(list.offsets.back());
  std::vector<std::size_t> cursor(list.offsets.begin(), list.offsets.end() - 1);
  for (std::size_t f = 0; f < factors; ++f)
    for (VariableId v : scope_of(f)) list.factors[cursor[v]++] = static_cast<std::uint32_t>(f);
  return list;
}

std::array<VariableId, 2> pair_scope(const Pairs& pairs, std::size_t f) {
  return {pairs.first[f], pairs.second[f]};
}

class Planner {
 public:
  Planner(const Graph& graph, const FactorsOfVariables& factors, const Block& block, std::uint64_t first_site,
          StopCheck& check)
      : graph_(graph), factors_(factors), check_(check), position_(graph.size(), outside) {
    plan_.first_site = first_site;
    order_ = group_components(block.order);
    for (std::size_t p = 0; p < order_.size(); ++p) position_[order_[p]] = static_cast<std::uint32_t>(p);
  }

  BlockPlan run() {
    find_parents();
    std::vector<std::vector<std::uint32_t>> children(order_.size());
    bool spin_tree = true;
    for (std::uint32_t p = 0; p < order_.size(); ++p) {
      add_bucket(p, children[p]);
      if (!parents_[p].empty()) children[parents_[p][0]].push_back(p);
      const Bucket& bucket = plan_.buckets.back();
      check_.step(16 + std::size_t{bucket.configurations} * bucket.states);
      spin_tree = spin_tree && bucket.states == 2 && bucket.parent_count <= 1 && bucket.slice_count == 0 &&
                  bucket.configurations <= 2;
    }
    spin_tree = spin_tree && std::all_of(plan_.constants.begin(), plan_.constants.end(),
                                         [](float value) { return std::isfinite(value); });
    make_chunks();
    if (spin_tree) make_nodes();
    return std::move(plan_);
  }

 private:
  template <class Visit>
  void for_each_factor_of(VariableId v, const FactorsOfVariables::List& list, Visit visit) const {
    for (std::size_t e = list.offsets[v]; e < list.offsets[v + 1]; ++e) visit(list.factors[e]);
  }

  template <class Visit>
  void for_each_neighbour(VariableId v, Visit visit) const {
    for_each_factor_of(v, factors_.spin_pairs, [&](std::uint32_t f) {
      for (VariableId u : pair_scope(graph_.spin_pairs, f)) visit(u);
    });
    for_each_factor_of(v, factors_.potts_pairs, [&](std::uint32_t f) {
      for (VariableId u : pair_scope(graph_.potts_pairs, f)) visit(u);
    });
    for_each_factor_of(v, factors_.tables, [&](std::uint32_t f) {
      for (VariableId u : graph_.tables.scope(f)) visit(u);
    });
  }

  // The same order of elimination within each connected component, one component after the other.
  std::vector<VariableId> group_components(const std::vector<VariableId>& order) {
    std::vector<std::uint32_t> component(graph_.size(), outside);
    for (VariableId v : order) position_[v] = 0;
    std::uint32_t count = 0;
    std::vector<VariableId> stack;
    for (VariableId start : order) {
      if (component[start] != outside) continue;
      component[start] = count;
      stack.push_back(start);
      while (!stack.empty()) {
        const VariableId v = stack.back();
        stack.pop_back();
        check_.step(8);
        for_each_neighbour(v, [&](VariableId u) {
          if (position_[u] == outside || component[u] != outside) return;
          component[u] = count;
          stack.push_back(u);
        });
      }
      ++count;
    }
    std::vector<std::size_t> cursor(count + 1, 0);
    for (VariableId v : order) ++cursor[component[v] + 1];
    for (std::uint32_t c = 0; c < count; ++c) cursor[c + 1] += cursor[c];
    component_ends_.assign(cursor.begin() + 1, cursor.end());
    std::vector<VariableId> grouped(order.size());
    for (VariableId v : order) grouped[cursor[component[v]]++] = v;
    return grouped;
  }

  // Whole components, until their tables have enough rows.
  void make_chunks() {
    std::uint32_t begin = 0, first_row = 0;
    for (std::size_t end : component_ends_) {
      const std::uint32_t row = end == order_.size() ? plan_.rows : plan_.buckets[end].row;
      if (row - first_row < rows_per_chunk && end < order_.size()) continue;
      plan_.chunks.push_back({begin, static_cast<std::uint32_t>(end)});
      begin = static_cast<std::uint32_t>(end);
      first_row = row;
    }
  }

  // Symbolic elimination: parents_[p] holds positions, ascending.
  void find_parents() {
    parents_.resize(order_.size());
    for (std::uint32_t p = 0; p < order_.size(); ++p) {
      std::vector<std::uint32_t>& mine = parents_[p];
      check_.step(16 + mine.size());
      for_each_neighbour(order_[p], [&](VariableId u) {
        if (position_[u] != outside && position_[u] > p) mine.push_back(position_[u]);
      });
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      if (!mine.empty()) parents_[mine[0]].insert(parents_[mine[0]].end(), mine.begin() + 1, mine.end());
    }
  }

  std::uint32_t states_at(std::uint32_t position) const { return graph_.cardinalities[order_[position]]; }

  std::uint32_t take_rows(std::size_t count) {
    const std::uint32_t first = plan_.rows;
    plan_.rows += static_cast<std::uint32_t>(count);
    return first;
  }

  void add_bucket(std::uint32_t p, const std::vector<std::uint32_t>& children) {
    const VariableId v = order_[p];
    clique_.assign(1, p);
    clique_.insert(clique_.end(), parents_[p].begin(), parents_[p].end());
    Bucket bucket{};
    bucket.variable = v;
    bucket.states = states_at(p);
    bucket.first_digit = static_cast<std::uint32_t>(plan_.digits.size());
    bucket.first_parent = static_cast<std::uint32_t>(plan_.parents.size());
    bucket.parent_count = static_cast<std::uint32_t>(parents_[p].size());
    bucket.configurations = 1;
    for (std::uint32_t q : clique_) plan_.digits.push_back(states_at(q));
    for (std::uint32_t q : parents_[p]) {
      plan_.parents.push_back(order_[q]);
      plan_.parent_position.push_back(q);
      bucket.configurations *= states_at(q);
    }
    const std::size_t entries = std::size_t{bucket.configurations} * bucket.states;
    bucket.row = take_rows(entries);
    if (bucket.parent_count > 0) bucket.message_row = take_rows(bucket.configurations);
    bucket.first_field = static_cast<std::uint32_t>(plan_.fields.size());
    bucket.first_slice = static_cast<std::uint32_t>(plan_.slices.size());
    bucket.first_source = static_cast<std::uint32_t>(plan_.sources.size());

    constant_.assign(entries, 0.0);
    for (std::size_t e = 0; e < entries; ++e) constant_[e] = graph_.unary_of(v)[e % bucket.states];
    for (std::uint32_t child : children) add_source(plan_.buckets[child].message_row, parents_[child]);
    for_each_factor_of(v, factors_.spin_pairs, [&](std::uint32_t f) { add_spin_pair(p, f); });
    for_each_factor_of(v, factors_.potts_pairs, [&](std::uint32_t f) { add_potts_pair(p, f); });
    for_each_factor_of(v, factors_.tables, [&](std::uint32_t f) { add_table(p, f); });

    bucket.field_count = static_cast<std::uint32_t>(plan_.fields.size()) - bucket.first_field;
    if (bucket.field_count > 0) bucket.field_row = take_rows(bucket.states);
    bucket.slice_count = static_cast<std::uint32_t>(plan_.slices.size()) - bucket.first_slice;
    bucket.source_count = static_cast<std::uint32_t>(plan_.sources.size()) - bucket.first_source;
    store_constant(bucket);
    plan_.buckets.push_back(bucket);
  }

  // Only ratios within a configuration and between configurations matter, so the largest entry becomes 0.
  void store_constant(Bucket& bucket) {
    bucket.constant = plan_.constants.size();
    const double most = *std::max_element(constant_.begin(), constant_.end());
    assert(most > log_zero);
    for (double value : constant_) plan_.constants.push_back(static_cast<float>(value - most));
  }

  // Adds value_of(index) into the clique's constant, where `scope` (positions) lists a table's variables.
  template <class ValueOf>
  void add_constant(std::span<const std::uint32_t> scope, std::span<const std::size_t> steps,
                    ValueOf value_of) {
    for (std::size_t e = 0; e < constant_.size(); ++e) {
      std::size_t rest = e, index = 0;
      for (std::uint32_t q : clique_) {
        const std::size_t value = rest % states_at(q);
        rest /= states_at(q);
        for (std::size_t a = 0; a < scope.size(); ++a)
          if (scope[a] == q) index += steps[a] * value;
      }
      constant_[e] += value_of(index);
    }
  }

  void add_pair_inside(std::uint32_t p, std::uint32_t q, double equal, double different) {
    if (q < p) return;  // it is in the other bucket
    const std::size_t states = states_at(p);
    const std::uint32_t scope[2] = {p, q};
    const std::size_t steps[2] = {states, 1};
    add_constant(scope, steps,
                 [&](std::size_t index) { return index / states == index % states ? equal : different; });
  }

  // J s s' = J (2x - 1) s': the log-odds of x get 2 J s' = 4 J x' - 2 J.
  void add_spin_pair(std::uint32_t p, std::uint32_t f) {
    const auto [i, j] = pair_scope(graph_.spin_pairs, f);
    const double coupling = graph_.spin_pairs.couplings[f];
    const VariableId other = i == order_[p] ? j : i;
    if (position_[other] != outside) return add_pair_inside(p, position_[other], coupling, -coupling);
    plan_.fields.push_back(
        {other, static_cast<float>(4 * coupling), static_cast<float>(std::exp(4 * coupling))});
    for (std::size_t e = 1; e < constant_.size(); e += 2) constant_[e] -= 2 * coupling;
  }

  void add_potts_pair(std::uint32_t p, std::uint32_t f) {
    const auto [i, j] = pair_scope(graph_.potts_pairs, f);
    const double coupling = graph_.potts_pairs.couplings[f];
    const VariableId other = i == order_[p] ? j : i;
    if (position_[other] != outside) return add_pair_inside(p, position_[other], coupling, 0.0);
    plan_.fields.push_back({other, static_cast<float>(coupling), 0.0F});
  }

  void add_table(std::uint32_t p, std::uint32_t f) {
    const auto scope = graph_.tables.scope(f);
    std::vector<std::uint32_t> inside;  // positions in the block
    std::vector<std::size_t> steps;
    std::size_t step = 1;
    Slice slice{};
    slice.first_outsider = static_cast<std::uint32_t>(plan_.outsiders.size());
    for (std::size_t a = scope.size(); a-- > 0;) {
      const std::uint32_t q = position_[scope[a]];
      if (q != outside && q < p) {  // it is in that bucket
        plan_.outsiders.resize(slice.first_outsider);
        return;
      }
      if (q == outside) {
        plan_.outsiders.push_back({scope[a], static_cast<std::int32_t>(step)});
      } else {
        inside.push_back(q);
        steps.push_back(step);
      }
      step *= graph_.cardinalities[scope[a]];
    }
    const auto values = graph_.tables.values(f);
    if (inside.size() == scope.size())
      return add_constant(inside, steps, [&](std::size_t index) { return values[index]; });
    slice.outsider_count = static_cast<std::uint32_t>(plan_.outsiders.size()) - slice.first_outsider;
    slice.table = graph_.tables.table_offsets[graph_.tables.table_of[f]];
    slice.first_axis = static_cast<std::uint32_t>(plan_.axes.size());
    slice.entries = 1;
    std::vector<std::size_t> by_position(inside.size());
    for (std::size_t a = 0; a < inside.size(); ++a) by_position[a] = a;
    std::sort(by_position.begin(), by_position.end(),
              [&](std::size_t a, std::size_t b) { return inside[a] < inside[b]; });
    std::vector<std::uint32_t> sorted;
    for (std::size_t a : by_position) {
      sorted.push_back(inside[a]);
      plan_.axes.push_back({states_at(inside[a]), static_cast<std::int32_t>(steps[a])});
      slice.entries *= states_at(inside[a]);
    }
    slice.axis_count = static_cast<std::uint32_t>(inside.size());
    slice.row = take_rows(slice.entries);
    plan_.slices.push_back(slice);
    add_source(slice.row, sorted);
  }

  // `scope` lists the positions of the source's variables, ascending, the first running fastest.
  void add_source(std::uint32_t row, const std::vector<std::uint32_t>& scope) {
    Source source{};
    source.row = row;
    source.first_jump = static_cast<std::uint32_t>(plan_.jumps.size());
    source.same_layout = scope == clique_;
    std::int32_t step = 1, all_faster = 0;  // all_faster: the index when all faster digits are at their end
    std::size_t a = 0;
    for (std::uint32_t q : clique_) {
      std::int32_t mine = 0;
      if (a < scope.size() && scope[a] == q) {
        mine = step;
        step *= static_cast<std::int32_t>(states_at(q));
        ++a;
      }
      plan_.jumps.push_back(mine - all_faster);
      all_faster += mine * static_cast<std::int32_t>(states_at(q) - 1);
    }
    assert(a == scope.size());
    plan_.sources.push_back(source);
  }

  void make_nodes() {
    std::vector<char> has_child(order_.size(), 0);
    std::vector<float> middle(order_.size(), 0.0F), reach(order_.size(), 0.0F);  // of the log-odds
    plan_.small_odds = true;
    for (std::uint32_t p = 0; p < order_.size(); ++p) {
      check_.step(16);
      const Bucket& bucket = plan_.buckets[p];
      const float* table = plan_.constants.data() + bucket.constant;
      SpinNode node{};
      node.variable = bucket.variable;
      node.parent = bucket.parent_count > 0 ? parents_[p][0] : no_parent;
      node.has_child = has_child[p] != 0;
      node.odds = table[1] - table[0];
      if (node.parent != no_parent) {
        node.first_child = !has_child[node.parent];
        has_child[node.parent] = 1;
        node.base = table[2] - table[0];
        node.odds_step = (table[3] - table[2]) - node.odds;
      }
      node.exp_odds = std::exp(node.odds);
      node.exp_odds_step = std::exp(node.odds_step);
      node.exp_base = std::exp(node.base);
      node.first_field = bucket.first_field;
      node.field_count = bucket.field_count;
      // Each term lies between 0 and a weight; a message lies between base and base + odds_step.
      middle[p] += node.odds + node.odds_step / 2;
      reach[p] += std::abs(node.odds_step) / 2;
      for (std::uint32_t f = 0; f < node.field_count; ++f) {
        const float weight = plan_.fields[node.first_field + f].weight;
        middle[p] += weight / 2;
        reach[p] += std::abs(weight) / 2;
      }
      if (node.parent != no_parent) {
        middle[node.parent] += node.base + node.odds_step / 2;
        reach[node.parent] += std::abs(node.odds_step) / 2;
      }
      plan_.small_odds = plan_.small_odds && std::abs(middle[p]) + reach[p] < 40;
      plan_.nodes.push_back(node);
    }
    plan_.spin_tree = true;
    plan_.rows = 3 * static_cast<std::uint32_t>(order_.size());
    plan_.buckets = {};
    plan_.constants = {};
    plan_.parents = {};
    plan_.parent_position = {};
    plan_.digits = {};
    plan_.sources = {};
    plan_.jumps = {};
  }

  const Graph& graph_;
  const FactorsOfVariables& factors_;
  StopCheck& check_;
  std::vector<std::uint32_t> position_;  // in order_, or outside
  std::vector<VariableId> order_;
  std::vector<std::size_t> component_ends_;
  std::vector<std::vector<std::uint32_t>> parents_;
  std::vector<std::uint32_t> clique_;  // of the bucket being made: positions, ascending
  std::vector<double> constant_;
  BlockPlan plan_;
};

}  // namespace

FactorsOfVariables::FactorsOfVariables(const Graph& graph)
    : spin_pairs(list_of(graph.size(), graph.spin_pairs.size(),
                         [&](std::size_t f) { return pair_scope(graph.spin_pairs, f); })),
      potts_pairs(list_of(graph.size(), graph.potts_pairs.size(),
                          [&](std::size_t f) { return pair_scope(graph.potts_pairs, f); })),
      tables(
          list_of(graph.size(), graph.tables.size(), [&](std::size_t f) { return graph.tables.scope(f); })) {}

BlockPlan plan_block(const Graph& graph, const FactorsOfVariables& all_factors, const Block& block,
                     std::uint64_t first_site, StopCheck& check) {
  return Planner(graph, all_factors, block, first_site, check).run();
}

}  // namespace drover
