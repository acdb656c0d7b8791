// The answers to every question about a small model by summing over all of its states, from what the model
// states: a second implementation that shares nothing with compile() and the methods.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "drover/core/types.hpp"
#include "drover/model/observations.hpp"

namespace drover::testing {

/// log p~(x), written out factor by factor.
inline double stated_score(const Model& model, std::span<const Value> x) {
  const auto spin = [&](VariableId v) { return x[v] == 1 ? 1.0 : -1.0; };
  double sum = model.log_constant;
  for (std::size_t f = 0; f < model.unaries.size(); ++f)
    sum += model.unaries.values(f)[x[model.unaries.variables[f]]];
  for (std::size_t p = 0; p < model.spin_pairs.size(); ++p)
    sum += model.spin_pairs.couplings[p] * spin(model.spin_pairs.first[p]) * spin(model.spin_pairs.second[p]);
  for (std::size_t p = 0; p < model.potts_pairs.size(); ++p)
    if (x[model.potts_pairs.first[p]] == x[model.potts_pairs.second[p]])
      sum += model.potts_pairs.couplings[p];
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    std::size_t entry = 0;
    for (VariableId v : model.tables.scope(f)) entry = entry * model.cardinalities[v] + x[v];
    sum += model.tables.values(f)[entry];
  }
  for (const DenseLayer& layer : model.dense_layers)
    for (std::uint32_t i = 0; i < layer.visible_count; ++i)
      for (std::uint32_t j = 0; j < layer.hidden_count; ++j)
        if (x[layer.first_visible + i] == 1 && x[layer.first_hidden + j] == 1)
          sum += layer.weights[i * layer.hidden_count + j];
  for (std::size_t g = 0; g < model.gates.size(); ++g) {
    const GateKind kind = model.gates.kinds[g];
    const std::span<const VariableId> inputs = model.gates.inputs(g);
    std::uint32_t ones = 0;
    double log_off = model.gates.log_leak_off[g];
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (x[inputs[k]] == 1) {
        ++ones;
        log_off += model.gates.input_log_off(g)[k];
      }
    const auto rule = [&](bool holds) { return holds ? 0.0 : log_zero; };
    if (kind == GateKind::or_gate) sum += rule((x[model.gates.child(g)] == 1) == (ones > 0));
    if (kind == GateKind::and_gate) sum += rule((x[model.gates.child(g)] == 1) == (ones == inputs.size()));
    if (kind == GateKind::count) sum += rule(model.gates.low[g] <= ones && ones <= model.gates.high[g]);
    if (kind == GateKind::noisy_or || kind == GateKind::noisy_or_on) {
      const bool on = kind == GateKind::noisy_or_on || x[model.gates.child(g)] == 1;
      sum += on ? std::log(-std::expm1(log_off)) : log_off;
    }
  }
  return sum;
}

/// All states of a model given what was observed, best first; only those that are possible.
class WholeSum {
 public:
  WholeSum(const Model& model, const Observations& seen) : cardinalities_(model.cardinalities) {
    std::vector<Value> x(cardinalities_.size(), 0);
    std::vector<std::vector<Value>> states;
    std::vector<double> scores;
    for (bool more = true; more;) {
      double score = stated_score(model, x);
      for (std::size_t e = 0; e < seen.size(); ++e)
        if (x[seen.variables[e]] != seen.values[e]) score = log_zero;
      for (std::size_t f = 0; f < seen.likelihoods.size(); ++f)
        score += seen.likelihoods.values(f)[x[seen.likelihoods.variables[f]]];
      if (score > log_zero) {
        states.push_back(x);
        scores.push_back(score);
      }
      more = false;
      for (std::size_t v = x.size(); v-- > 0 && !more;) {
        more = ++x[v] < cardinalities_[v];
        if (!more) x[v] = 0;
      }
    }
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    double total = 0;
    for (std::size_t k : order) {
      states_.push_back(states[k]);
      scores_.push_back(scores[k]);
      total += std::exp(scores[k] - scores_[0]);
    }
    log_z_ = order.empty() ? log_zero : scores_[0] + std::log(total);
    for (double score : scores_) probabilities_.push_back(std::exp(score - log_z_));
  }

  bool is_possible() const { return !states_.empty(); }
  double log_z() const { return log_z_; }
  double best_score() const { return scores_[0]; }
  const std::vector<std::vector<Value>>& states() const { return states_; }
  const std::vector<double>& scores() const { return scores_; }

  /// Joint distribution of some variables, the last fastest.
  std::vector<double> joint(std::span<const VariableId> variables) const {
    std::size_t entries = 1;
    for (VariableId v : variables) entries *= cardinalities_[v];
    std::vector<double> sums(entries, 0.0);
    for (std::size_t k = 0; k < states_.size(); ++k) {
      std::size_t entry = 0;
      for (VariableId v : variables) entry = entry * cardinalities_[v] + states_[k][v];
      sums[entry] += probabilities_[k];
    }
    return sums;
  }
  std::vector<double> marginal(VariableId variable) const { return joint({&variable, 1}); }

 private:
  std::vector<std::uint32_t> cardinalities_;
  std::vector<std::vector<Value>> states_;
  std::vector<double> scores_, probabilities_;
  double log_z_ = log_zero;
};

}  // namespace drover::testing
