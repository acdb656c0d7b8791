#include "drover/infer/recombine.hpp"

#include <cassert>
#include <cmath>

namespace drover {

namespace {

enum Mark : std::uint8_t { same, differs, found };

// Where a factor's table is read.
std::size_t place_in_table(const Graph& graph, std::size_t factor, std::span<const Value> x) {
  std::size_t place = 0;
  for (VariableId v : graph.tables.scope(factor)) place = place * graph.cardinalities[v] + x[v];
  return place;
}

}  // namespace

/// What a component's change from x to y brings: fewer hard zeros first, then the finite part.
struct Recombination::Gain {
  std::int64_t zeros = 0;  ///< more hard zeros in y
  double finite = 0;
  double magnitude = 0;  ///< of the terms, for the rounding error of their sum

  void add(double before, double after) {
    zeros += (after == log_zero) - (before == log_zero);
    if (after != log_zero) add_term(after);
    if (before != log_zero) add_term(-before);
  }
  void add_term(double term) {
    finite += term;
    magnitude += std::abs(term);
  }
  bool is_no_loss() const { return zeros < 0 || (zeros == 0 && finite >= -1e-13 * magnitude); }
};

Recombination::Recombination(const Graph& graph)
    : graph_(graph),
      spins_(graph.spin_pairs, graph.size()),
      potts_(graph.potts_pairs, graph.size()),
      tables_(graph.tables, graph.size()) {}

// room.component holds one variable; finds the rest of its component and adds up its factors. A factor with
// several differing variables counts at the first of them.
Recombination::Gain Recombination::gain_of_component(std::span<const Value> x, std::span<const Value> y,
                                                     Room& room) const {
  Gain gain;
  const auto meet = [&](VariableId v) {
    if (room.marks[v] != differs) return;
    room.marks[v] = found;
    room.component.push_back(v);
  };
  for (std::size_t next = 0; next < room.component.size(); ++next) {
    const VariableId v = room.component[next];
    const auto unary = graph_.unary_of(v);
    gain.add(unary[x[v]], unary[y[v]]);
    // A pair of spins that both turn keeps its term.
    for (std::size_t e = spins_.offsets[v]; e < spins_.offsets[v + 1]; ++e) {
      const VariableId u = spins_.neighbours[e];
      if (room.marks[u] == same)
        gain.add_term(y[v] == x[u] ? 2 * spins_.couplings[e] : -2 * spins_.couplings[e]);
      else
        meet(u);
    }
    for (std::size_t e = potts_.offsets[v]; e < potts_.offsets[v + 1]; ++e) {
      const VariableId u = potts_.neighbours[e];
      meet(u);
      if (room.marks[u] != same && u < v) continue;
      if (x[u] == x[v]) gain.add_term(-potts_.couplings[e]);
      if (y[u] == y[v]) gain.add_term(potts_.couplings[e]);
    }
    for (std::size_t e = tables_.offsets[v]; e < tables_.offsets[v + 1]; ++e) {
      const std::size_t factor = tables_.factors[e];
      bool is_first = true, seen = false;
      for (VariableId u : graph_.tables.scope(factor)) {
        meet(u);
        if (room.marks[u] == same) continue;
        if (!seen) is_first = u == v;
        seen = true;
      }
      if (!is_first) continue;
      const auto table = graph_.tables.values(factor);
      gain.add(table[place_in_table(graph_, factor, x)], table[place_in_table(graph_, factor, y)]);
    }
  }
  return gain;
}

Recombination::Outcome Recombination::improve(std::span<Value> x, std::span<const Value> y,
                                              Room& room) const {
  assert(x.size() == graph_.size() && y.size() == graph_.size());
  Outcome outcome;
  room.marks.resize(x.size(), same);
  room.differing.clear();
  for (VariableId v = 0; v < x.size(); ++v)
    if (x[v] != y[v]) {
      room.marks[v] = differs;
      room.differing.push_back(v);
    }
  for (VariableId first : room.differing) {
    if (room.marks[first] != differs) continue;
    room.marks[first] = found;
    room.component.assign(1, first);
    const Gain gain = gain_of_component(x, y, room);
    ++outcome.components;
    if (!gain.is_no_loss()) continue;
    ++outcome.taken;
    outcome.gain += gain.finite;
    // Marks stay: what was taken is no neighbour of any later component.
    for (VariableId v : room.component) x[v] = y[v];
  }
  for (VariableId v : room.differing) room.marks[v] = same;
  return outcome;
}

}  // namespace drover
