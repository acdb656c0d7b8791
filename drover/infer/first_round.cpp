#include "drover/infer/first_round.hpp"

#include <algorithm>
#include <cmath>

#include "drover/core/log_math.hpp"

namespace drover {

namespace {

// What a neighbour with distribution q says by a spin pair, as log odds.
double spin_message(double coupling, const double* q) {
  // Not quite zero: what single states rule out is left to tables.
  const double rare = std::max(std::exp(-2 * std::abs(coupling)), 1e-300);
  const double odds = (q[1] + rare * q[0]) / (rare * q[1] + q[0]);
  return coupling > 0 ? std::log(odds) : -std::log(odds);
}

void add_potts(double coupling, const double* q, std::span<double> belief) {
  const double bonus = std::expm1(std::min(coupling, 700.0));
  for (std::size_t k = 0; k < belief.size(); ++k) belief[k] += std::log1p(bonus * q[k]);
}

// The messages of one table to all its variables, in one pass over its entries.
class TableMessages {
 public:
  explicit TableMessages(const Graph& graph) : graph_(graph) {}

  void add(std::size_t factor, const std::vector<double>& q, std::vector<double>& belief) {
    const auto scope = graph_.tables.scope(factor);
    const auto values = graph_.tables.values(factor);
    const std::size_t axes = scope.size();
    digits_.assign(axes, 0);
    before_.assign(axes + 1, 1);
    first_.assign(axes + 1, 0);
    for (std::size_t a = 0; a < axes; ++a) first_[a + 1] = first_[a] + graph_.cardinalities[scope[a]];
    sums_.assign(first_[axes], 0);
    const double high = *std::ranges::max_element(values);
    for (double value : values) {
      for (std::size_t a = 0; a < axes; ++a) before_[a + 1] = before_[a] * weight(q, scope[a], digits_[a]);
      double after = std::exp(value - high);
      for (std::size_t a = axes; a-- > 0;) {
        sums_[first_[a] + digits_[a]] += before_[a] * after;
        after *= weight(q, scope[a], digits_[a]);
      }
      for (std::size_t a = axes; a-- > 0;) {
        if (++digits_[a] < graph_.cardinalities[scope[a]]) break;
        digits_[a] = 0;
      }
    }
    for (std::size_t a = 0; a < axes; ++a)
      for (std::size_t k = 0; k < graph_.cardinalities[scope[a]]; ++k)
        belief[graph_.unary_offsets[scope[a]] + k] += std::log(sums_[first_[a] + k]);
  }

 private:
  double weight(const std::vector<double>& q, VariableId v, std::size_t state) const {
    return q[graph_.unary_offsets[v] + state];
  }

  const Graph& graph_;
  std::vector<std::size_t> digits_, first_;
  std::vector<double> before_, sums_;
};

}  // namespace

std::vector<double> first_round(const Graph& graph) {
  const auto states_of = [&](std::vector<double>& values, VariableId v) {
    return std::span(values.data() + graph.unary_offsets[v], graph.cardinalities[v]);
  };
  std::vector<double> q = graph.unary;
  for (VariableId v = 0; v < graph.size(); ++v) normalise_logs(states_of(q, v));

  std::vector<double> belief = graph.unary;
  const SpinPairs& spins = graph.spin_pairs;
  for (std::size_t p = 0; p < spins.size(); ++p) {
    const std::size_t i = graph.unary_offsets[spins.first[p]], j = graph.unary_offsets[spins.second[p]];
    belief[i + 1] += spin_message(spins.couplings[p], &q[j]);
    belief[j + 1] += spin_message(spins.couplings[p], &q[i]);
  }
  const PottsPairs& potts = graph.potts_pairs;
  for (std::size_t p = 0; p < potts.size(); ++p) {
    const VariableId i = potts.first[p], j = potts.second[p];
    add_potts(potts.couplings[p], &q[graph.unary_offsets[j]], states_of(belief, i));
    add_potts(potts.couplings[p], &q[graph.unary_offsets[i]], states_of(belief, j));
  }
  TableMessages tables(graph);
  for (std::size_t f = 0; f < graph.tables.size(); ++f) tables.add(f, q, belief);

  for (VariableId v = 0; v < graph.size(); ++v) {
    const auto own = states_of(belief, v);
    // Where the factors leave nothing that double precision can tell from zero, the unaries speak alone.
    if (!std::isfinite(normalise_logs(own))) std::ranges::copy(states_of(q, v), own.begin());
  }
  return belief;
}

}  // namespace drover
