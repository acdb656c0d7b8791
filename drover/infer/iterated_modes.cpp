#include "drover/infer/iterated_modes.hpp"

#include <cassert>
#include <cmath>
#include <numeric>

#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

// A sum of d terms of total magnitude m is off by a few units in the last place of m.
constexpr double relative_rounding = 1e-14;

double largest_magnitude(std::span<const double> values) {
  double most = 0;
  for (double value : values)
    if (value != log_zero) most = std::max(most, std::abs(value));
  return most;
}

}  // namespace

IteratedModes::IteratedModes(const Graph& graph, const RunControl& control, std::size_t most_kept)
    : graph_(graph),
      spins_(graph.spin_pairs, graph.size()),
      potts_(graph.potts_pairs, graph.size()),
      table_lists_(graph.tables, graph.size()),
      tolerances_(graph.size()),
      has_zeros_(!graph.is_strictly_positive()),
      keeps_(graph.unary.size() <= most_kept) {
  const std::size_t n = graph.size();
  const Tables& tables = graph.tables;
  std::vector<double> table_magnitudes(tables.table_count());
  for (std::size_t t = 0; t < table_magnitudes.size(); ++t)
    table_magnitudes[t] = largest_magnitude(tables.table(t));
  StopCheck check(control, "iterated conditional modes", "began");
  for (VariableId v = 0; v < n; ++v) {
    check.step(graph.cardinalities[v]);
    double magnitude = largest_magnitude(graph.unary_of(v));
    for (const PairLists* pairs : {&spins_, &potts_})
      for (std::size_t e = pairs->offsets[v]; e < pairs->offsets[v + 1]; ++e)
        magnitude += std::abs(pairs->couplings[e]);
    for (std::size_t e = table_lists_.offsets[v]; e < table_lists_.offsets[v + 1]; ++e)
      magnitude += table_magnitudes[tables.table_of[table_lists_.factors[e]]];
    tolerances_[v] = relative_rounding * magnitude;
  }
}

/// One climb: the local sums of the current assignment, and the variables that wait to be looked at.
struct IteratedModes::Ascent {
  const IteratedModes& modes;
  const Graph& graph;
  std::span<Value> x;
  bool keeps;                        ///< the sums of all variables; else of the one that is looked at
  std::vector<double> finite;        ///< per (variable, value), as in Graph::unary: sum of the finite terms
  std::vector<std::uint32_t> zeros;  ///< and number of hard zeros; empty when the model has none
  std::vector<VariableId> queue;     ///< a ring that holds every variable at most once
  std::vector<bool> waiting;
  std::size_t head = 0;
  std::size_t count = 0;

  Ascent(const IteratedModes& prepared, std::span<Value> assignment)
      : modes(prepared),
        graph(prepared.graph_),
        x(assignment),
        keeps(prepared.keeps_),
        finite(keeps ? graph.unary.size() : graph.max_cardinality()),
        zeros(prepared.has_zeros_ ? finite.size() : 0),
        queue(graph.size()),
        waiting(graph.size(), true),
        count(graph.size()) {
    std::iota(queue.begin(), queue.end(), VariableId{0});
  }

  /// Of the sums of v.
  std::size_t begin_of(VariableId v) const { return keeps ? graph.unary_offsets[v] : 0; }

  VariableId pop() {
    const VariableId v = queue[head];
    head = head + 1 == queue.size() ? 0 : head + 1;
    --count;
    waiting[v] = false;
    return v;
  }

  void push(VariableId v) {
    if (waiting[v]) return;
    waiting[v] = true;
    const std::size_t at = head + count++;
    queue[at < queue.size() ? at : at - queue.size()] = v;
  }

  void add(std::size_t entry, double log_value) {
    if (log_value != log_zero)
      finite[entry] += log_value;
    else
      ++zeros[entry];
  }

  void subtract(std::size_t entry, double log_value) {
    if (log_value != log_zero)
      finite[entry] -= log_value;
    else
      --zeros[entry];
  }

  /// Where factor f's table is read, with v's value taken as 0, and the step from one value of v to the next.
  struct Row {
    std::size_t base = 0;
    std::size_t stride = 1;
  };
  Row row(std::size_t f, VariableId v) const {
    const auto scope = graph.tables.scope(f);
    Row result;
    std::size_t stride = 1;
    for (std::size_t k = scope.size(); k-- > 0; stride *= graph.cardinalities[scope[k]]) {
      if (scope[k] == v)
        result.stride = stride;
      else
        result.base += stride * x[scope[k]];
    }
    return result;
  }

  void sum_afresh(VariableId v) {
    const std::size_t begin = begin_of(v);
    const std::uint32_t states = graph.cardinalities[v];
    for (std::uint32_t k = 0; k < states; ++k) {
      finite[begin + k] = 0;
      if (!zeros.empty()) zeros[begin + k] = 0;
      add(begin + k, graph.unary_of(v)[k]);
    }
    const PairLists& spins = modes.spins_;
    for (std::size_t e = spins.offsets[v]; e < spins.offsets[v + 1]; ++e) {
      const Value other = x[spins.neighbours[e]];
      finite[begin + other] += spins.couplings[e];
      finite[begin + 1 - other] -= spins.couplings[e];
    }
    const PairLists& potts = modes.potts_;
    for (std::size_t e = potts.offsets[v]; e < potts.offsets[v + 1]; ++e)
      finite[begin + x[potts.neighbours[e]]] += potts.couplings[e];
    for (std::size_t e = modes.table_lists_.offsets[v]; e < modes.table_lists_.offsets[v + 1]; ++e) {
      const std::size_t f = modes.table_lists_.factors[e];
      const auto table = graph.tables.values(f);
      const Row at = row(f, v);
      for (std::uint32_t k = 0; k < states; ++k) add(begin + k, table[at.base + k * at.stride]);
    }
  }

  bool better(VariableId v, std::size_t entry, std::size_t than) const {
    if (!zeros.empty() && zeros[entry] != zeros[than]) return zeros[entry] < zeros[than];
    return finite[entry] > finite[than] + modes.tolerances_[v];
  }

  Value best_value(VariableId v) const {
    const std::size_t begin = begin_of(v);
    std::uint32_t best = 0;
    for (std::uint32_t k = 1; k < graph.cardinalities[v]; ++k)
      if (better(v, begin + k, begin + best)) best = k;
    return better(v, begin + best, begin + x[v]) ? static_cast<Value>(best) : x[v];
  }

  /// Moves v, corrects the neighbours' sums and lets them wait to be looked at again.
  void move(VariableId v, Value to) {
    const Value from = x[v];
    const PairLists& spins = modes.spins_;
    for (std::size_t e = spins.offsets[v]; e < spins.offsets[v + 1]; ++e) {
      const VariableId u = spins.neighbours[e];
      push(u);
      if (!keeps) continue;
      finite[graph.unary_offsets[u] + to] += 2 * spins.couplings[e];
      finite[graph.unary_offsets[u] + from] -= 2 * spins.couplings[e];
    }
    const PairLists& potts = modes.potts_;
    for (std::size_t e = potts.offsets[v]; e < potts.offsets[v + 1]; ++e) {
      const VariableId u = potts.neighbours[e];
      push(u);
      if (!keeps) continue;
      finite[graph.unary_offsets[u] + to] += potts.couplings[e];
      finite[graph.unary_offsets[u] + from] -= potts.couplings[e];
    }
    x[v] = to;
    for (std::size_t e = modes.table_lists_.offsets[v]; e < modes.table_lists_.offsets[v + 1]; ++e) {
      const std::size_t f = modes.table_lists_.factors[e];
      const auto table = graph.tables.values(f);
      const std::size_t stride_of_v = row(f, v).stride;
      for (VariableId u : graph.tables.scope(f)) {
        if (u == v) continue;
        push(u);
        if (!keeps) continue;
        const Row at = row(f, u);
        for (std::uint32_t k = 0; k < graph.cardinalities[u]; ++k) {
          const std::size_t now = at.base + k * at.stride;
          add(graph.unary_offsets[u] + k, table[now]);
          subtract(graph.unary_offsets[u] + k, table[now - to * stride_of_v + from * stride_of_v]);
        }
      }
    }
  }
};

Climb IteratedModes::climb(std::span<Value> assignment, const OnChange& on_change,
                           const RunControl& control) const {
  assert(assignment.size() == graph_.size());
  constexpr std::uint64_t entries_a_look = 1U << 18;  // between two questions whether to go on
  std::uint64_t looked_at = 0;
  const auto goes_on = [&](VariableId v) {
    looked_at += graph_.cardinalities[v];
    if (looked_at < entries_a_look) return true;
    looked_at = 0;
    return !control.should_stop();
  };
  Ascent ascent(*this, assignment);
  Climb result;
  bool& whole = result.complete;
  if (ascent.keeps)
    for (VariableId v = 0; v < graph_.size() && whole; ++v) {
      ascent.sum_afresh(v);
      whole = goes_on(v);
    }
  while (whole && ascent.count > 0) {
    const VariableId v = ascent.pop();
    whole = goes_on(v);
    ++result.visits;
    if (ascent.keeps && ascent.best_value(v) == assignment[v]) continue;
    ascent.sum_afresh(v);
    const Value to = ascent.best_value(v);
    if (to == assignment[v]) continue;
    ascent.move(v, to);
    ++result.changes;
    if (on_change) on_change(assignment, v);
  }
  result.log_score = log_score(graph_, assignment);
  return result;
}

}  // namespace drover
