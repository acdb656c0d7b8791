#include "drover/sample/dual/generalized_swendsen_wang.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/compile/table_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/dual/clusters.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"

namespace drover {

namespace {

// What agreement gains in a square pair table, on average over its entries.
double agreement(std::uint32_t states, std::span<const double> table) {
  double equal = 0, different = 0;
  for (std::uint32_t a = 0; a < states; ++a)
    for (std::uint32_t b = 0; b < states; ++b) (a == b ? equal : different) += table[a * states + b];
  return equal / states - different / (states * (states - 1.0));
}

}  // namespace

GeneralizedSwendsenWang::GeneralizedSwendsenWang(const Graph& graph)
    : SingleChainKernel(graph), conditional_offsets_(conditional_offsets(graph)) {
  const auto add = [&](Factor factor, std::span<const VariableId> scope) {
    factor.scope_begin = static_cast<std::uint32_t>(scopes_.size());
    scopes_.insert(scopes_.end(), scope.begin(), scope.end());
    factor.scope_end = static_cast<std::uint32_t>(scopes_.size());
    factors_.push_back(factor);
  };
  for (const ClusterBond& bond : cluster_bonds(graph)) {
    Factor factor{};
    factor.is_pair_gain = true;
    factor.flip = bond.flip;
    factor.gain = bond.strength;
    factor.bond_strength = std::max(0.0F, bond.strength);
    const VariableId scope[2] = {bond.first, bond.second};
    add(factor, scope);
  }
  for (std::uint32_t f = 0; f < graph.tables.size(); ++f) {
    const auto scope = graph.tables.scope(f);
    Factor factor{};
    factor.table = f;
    if (scope.size() == 2 && graph.cardinalities[scope[0]] == graph.cardinalities[scope[1]])
      factor.bond_strength =
          static_cast<float>(std::max(0.0, agreement(graph.cardinalities[scope[0]], graph.tables.values(f))));
    add(factor, scope);
  }
  factor_offsets_.assign(size() + 1, 0);
  for (VariableId v : scopes_) ++factor_offsets_[v + 1];
  std::partial_sum(factor_offsets_.begin(), factor_offsets_.end(), factor_offsets_.begin());
  factors_of_.resize(scopes_.size());
  std::vector<std::size_t> at(factor_offsets_.begin(), factor_offsets_.end() - 1);
  for (std::uint32_t f = 0; f < factors_.size(); ++f)
    for (std::uint32_t s = factors_[f].scope_begin; s < factors_[f].scope_end; ++s)
      factors_of_[at[scopes_[s]]++] = f;
}

GeneralizedSwendsenWang::State GeneralizedSwendsenWang::start(std::uint64_t seed,
                                                              std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values.resize(size());
  draw_start(*graph_, {}, seed, first_chain, state.values);
  return state;
}

bool GeneralizedSwendsenWang::satisfied(const Factor& factor, const std::vector<Value>& values) const {
  return values[scopes_[factor.scope_begin]] == (values[scopes_[factor.scope_begin + 1]] ^ factor.flip);
}

// The log factor, and log(1 - q) where the pair is satisfied: what a cut pair or an inner factor adds to the
// logarithm of p(x, bonds). (Bonds inside the cluster stay as they are and cancel.)
double GeneralizedSwendsenWang::factor_score(const Factor& factor, const State& state) const {
  double score = 0;
  if (factor.is_pair_gain) {
    score = satisfied(factor, state.values) ? factor.gain : 0;
  } else {
    std::size_t index = 0;
    for (std::uint32_t s = factor.scope_begin; s < factor.scope_end; ++s)
      index = index * graph_->cardinalities[scopes_[s]] + state.values[scopes_[s]];
    score = graph_->tables.values(factor.table)[index];
  }
  if (factor.bond_strength > 0 && satisfied(factor, state.values)) {
    const VariableId i = scopes_[factor.scope_begin], j = scopes_[factor.scope_begin + 1];
    if (state.parents[i] != state.parents[j]) score -= factor.bond_strength;
  }
  return score;
}

// Of all factors that touch the cluster, each once.
double GeneralizedSwendsenWang::cluster_score(State& state, std::uint32_t first, std::uint32_t last,
                                              std::uint32_t stamp) const {
  double score = 0;
  for (std::uint32_t m = first; m < last; ++m) {
    const VariableId v = state.order[m];
    score += graph_->unary_of(v)[state.values[v]];
    for (std::size_t k = factor_offsets_[v]; k < factor_offsets_[v + 1]; ++k) {
      const std::uint32_t f = factors_of_[k];
      if (state.visited[f] == stamp) continue;
      state.visited[f] = stamp;
      score += factor_score(factors_[f], state);
    }
  }
  return score == log_zero ? log_zero : state.inverse_temperature * score;
}

// Spins turn when `move` is 1; other values become `move`.
void GeneralizedSwendsenWang::turn(State& state, std::uint32_t first, std::uint32_t last, Value move) const {
  for (std::uint32_t m = first; m < last; ++m) {
    Value& x = state.values[state.order[m]];
    x = graph_->cardinalities[state.order[m]] == 2 ? x ^ move : move;
  }
}

void GeneralizedSwendsenWang::make_clusters(State& state, std::uint64_t sweep) const {
  state.parents.resize(size());
  std::iota(state.parents.begin(), state.parents.end(), 0U);
  const Random random(state.seed, Stream::sweep);
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    const Factor& factor = factors_[f];
    if (factor.bond_strength == 0 || !satisfied(factor, state.values)) continue;
    const double q = -std::expm1(-double{state.inverse_temperature} * factor.bond_strength);
    if (random.uniform(state.chain, sweep, static_cast<std::uint32_t>(size() + f)) < q)
      join_clusters(state.parents, scopes_[factor.scope_begin], scopes_[factor.scope_begin + 1]);
  }
  // Members by cluster, clusters by their lowest member.
  state.begin.assign(size() + 1, 0);
  for (std::uint32_t v = 0; v < size(); ++v) {
    state.parents[v] = cluster_root(state.parents, v);
    ++state.begin[state.parents[v] + 1];
  }
  std::partial_sum(state.begin.begin(), state.begin.end(), state.begin.begin());
  state.order.resize(size());
  state.next.assign(state.begin.begin(), state.begin.end() - 1);
  for (std::uint32_t v = 0; v < size(); ++v) state.order[state.next[state.parents[v]]++] = v;
}

Moves GeneralizedSwendsenWang::run(State& state, std::uint64_t sweep, float* sums) const {
  make_clusters(state, sweep);
  state.visited.assign(factors_.size(), 0);
  const Random random(state.seed, Stream::sweep);
  std::uint32_t stamp = 0;
  Moves moves;
  for (std::uint32_t root = 0; root < size(); ++root) {
    const std::uint32_t first = state.begin[root], last = state.begin[root + 1];
    if (first == last) continue;
    const auto words = random.block(state.chain, sweep, root);
    const std::uint32_t states = graph_->cardinalities[root];
    const Value old = state.values[root];
    // Any value as likely, the present one included: if every cluster had to turn, none would move against
    // another.
    const auto proposed = static_cast<Value>(std::uint64_t{words[2]} * states >> 32);
    double accepted = 1;
    if (proposed != old) {
      const double before = cluster_score(state, first, last, ++stamp);
      turn(state, first, last, states == 2 ? 1 : proposed);
      const double after = cluster_score(state, first, last, ++stamp);
      accepted = after == log_zero ? 0 : std::min(1.0, std::exp(after - before));
    }
    if (sums) {
      for (std::uint32_t m = first; m < last; ++m) {
        const VariableId v = state.order[m];
        const Value now = state.values[v];
        if (states == 2) {
          sums[conditional_offsets_[v]] += static_cast<float>(now == 1 ? accepted : 1 - accepted);
        } else {
          sums[conditional_offsets_[v] + now] += static_cast<float>(accepted);
          sums[conditional_offsets_[v] + old] += static_cast<float>(1 - accepted);
        }
      }
    }
    if (proposed == old) continue;
    ++moves.proposed;
    if (Random::to_unit(words[0], words[1]) < accepted)
      ++moves.accepted;
    else
      turn(state, first, last, states == 2 ? 1 : old);
  }
  return moves;
}

}  // namespace drover
