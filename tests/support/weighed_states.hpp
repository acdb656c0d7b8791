// Answers by visiting every state of a Model, without compiling it: the oracle of questions about models.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/model/observations.hpp"

namespace drover::testing {

/// Every state of a small model with p~ times the evidence.
class WeighedStates {
 public:
  WeighedStates(const Model& model, const Observations& evidence) : model_(model) {
    std::vector<Value> x(model.variable_count(), 0);
    for (bool more = true; more;) {
      double log_weight = log_score(model, x);
      for (std::size_t e = 0; e < evidence.size(); ++e)
        if (x[evidence.variables[e]] != evidence.values[e]) log_weight = log_zero;
      for (std::size_t l = 0; l < evidence.likelihoods.size(); ++l)
        log_weight += evidence.likelihoods.values(l)[x[evidence.likelihoods.variables[l]]];
      states_.push_back(x);
      weights_.push_back(std::exp(log_weight));
      total_ += weights_.back();
      more = false;
      for (std::size_t v = x.size(); v-- > 0 && !more;) {
        more = ++x[v] < model.cardinalities[v];
        if (!more) x[v] = 0;
      }
    }
  }
  double total() const { return total_; }
  double log_z() const { return std::log(total_); }
  /// The last variable fastest.
  std::vector<double> joint(std::span<const VariableId> variables) const {
    std::size_t entries = 1;
    for (VariableId v : variables) entries *= model_.cardinalities[v];
    std::vector<double> table(entries, 0.0);
    for (std::size_t s = 0; s < states_.size(); ++s) {
      std::size_t at = 0;
      for (VariableId v : variables) at = at * model_.cardinalities[v] + states_[s][v];
      table[at] += weights_[s] / total_;
    }
    return table;
  }

 private:
  const Model& model_;
  std::vector<std::vector<Value>> states_;
  std::vector<double> weights_;
  double total_ = 0;
};

/// A Bayesian network: every variable has up to two earlier ones as parents; entries may be zero.
inline Model random_network(std::uint64_t seed, std::uint32_t variables, std::uint32_t max_states,
                            double zero_share) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.kind = ModelKind::bayes;
  for (std::uint32_t v = 0; v < variables; ++v)
    model.cardinalities.push_back(2 + random.below(max_states - 1));
  for (VariableId v = 0; v < variables; ++v) {
    std::vector<VariableId> scope;
    for (std::uint32_t k = random.below(3); k > 0 && v > 0; --k) {
      const VariableId parent = random.below(v);
      if (scope.empty() || scope[0] != parent) scope.push_back(parent);
    }
    std::size_t rows = 1;
    for (VariableId parent : scope) rows *= model.cardinalities[parent];
    std::vector<double> logs;
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> row(model.cardinalities[v]);
      double total = 0;
      for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] = k > 0 && random.uniform() < zero_share ? 0.0 : 0.05 + random.uniform();
        total += row[k];
      }
      for (double p : row) logs.push_back(std::log(p / total));
    }
    if (scope.empty()) {
      model.unaries.add(v, logs);
    } else {
      scope.push_back(v);
      model.tables.add(scope, logs);
    }
  }
  return model;
}

}  // namespace drover::testing
