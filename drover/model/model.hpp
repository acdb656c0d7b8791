// What the user states: variables and log-factors, plain data, grouped by kind of factor.
//
//   log p~(x) = log_constant + sum over all factors of their log value at x,   p = p~ / Z
//
// Everything is in natural logs; a zero of a table is minus infinity. Nothing is checked here: compile() is
// the only validator. Readers and builders fill a Model; samplers and inference see the Graph that compile()
// makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/core/shared_array.hpp"
#include "drover/core/types.hpp"
#include "drover/model/gates.hpp"

namespace drover {

/// Factors over one variable each; factor f has log_values[offsets[f] .. offsets[f+1]).
struct Unaries {
  std::vector<VariableId> variables;
  SharedArray<std::size_t> offsets{0};
  SharedArray<double> log_values;

  std::size_t size() const { return variables.size(); }
  void add(VariableId variable, std::span<const double> values) {
    variables.push_back(variable);
    log_values.append(values);
    offsets.push_back(log_values.size());
  }
  std::span<const double> values(std::size_t factor) const {
    return {log_values.data() + offsets[factor], offsets[factor + 1] - offsets[factor]};
  }
};

/// One number per pair. SpinPairs: log factor = coupling * s_i * s_j with s = 2x - 1 (binary variables).
/// PottsPairs: log factor = coupling * [x_i = x_j]. Each pair is counted once.
struct Pairs {
  SharedArray<VariableId> first;
  SharedArray<VariableId> second;
  SharedArray<double> couplings;

  std::size_t size() const { return couplings.size(); }
  void add(VariableId i, VariableId j, double coupling) {
    first.push_back(i);
    second.push_back(j);
    couplings.push_back(coupling);
  }
};
struct SpinPairs : Pairs {};
struct PottsPairs : Pairs {};

/// General tables of any arity >= 1; the last variable of a scope runs fastest. Factors may share (tie) a
/// table.
struct Tables {
  std::vector<std::size_t> table_offsets{0};  ///< table t: log_values[table_offsets[t] .. table_offsets[t+1])
  std::vector<double> log_values;
  std::vector<std::size_t> scope_offsets{0};  ///< factor f: scopes[scope_offsets[f] .. scope_offsets[f+1])
  std::vector<VariableId> scopes;
  std::vector<std::uint32_t> table_of;  ///< factor f uses table table_of[f]

  std::size_t size() const { return table_of.size(); }
  std::size_t table_count() const { return table_offsets.size() - 1; }
  std::span<const VariableId> scope(std::size_t factor) const {
    return {scopes.data() + scope_offsets[factor], scope_offsets[factor + 1] - scope_offsets[factor]};
  }
  std::span<const double> table(std::size_t table) const {
    return {log_values.data() + table_offsets[table], table_offsets[table + 1] - table_offsets[table]};
  }
  std::span<const double> values(std::size_t factor) const { return table(table_of[factor]); }

  std::uint32_t add_table(std::span<const double> values) {
    log_values.insert(log_values.end(), values.begin(), values.end());
    table_offsets.push_back(log_values.size());
    return static_cast<std::uint32_t>(table_count() - 1);
  }
  void add_factor(std::span<const VariableId> scope, std::uint32_t table) {
    scopes.insert(scopes.end(), scope.begin(), scope.end());
    scope_offsets.push_back(scopes.size());
    table_of.push_back(table);
  }
  void add(std::span<const VariableId> scope, std::span<const double> values) {
    add_factor(scope, add_table(values));
  }
};

/// A full bipartite layer of binary variables (an RBM without its biases):
/// log factor = sum_ij weights[i * hidden_count + j] * x_(first_visible + i) * x_(first_hidden + j), x in {0,
/// 1}.
struct DenseLayer {
  VariableId first_visible = 0;
  std::uint32_t visible_count = 0;
  VariableId first_hidden = 0;
  std::uint32_t hidden_count = 0;
  std::vector<double> weights;
};

enum class ModelKind {
  markov,
  bayes,  ///< every variable is the last of exactly one unary or table, which is its conditional distribution
};

struct Model {
  ModelKind kind = ModelKind::markov;
  std::vector<std::uint32_t> cardinalities;
  double log_constant = 0;

  Unaries unaries;
  SpinPairs spin_pairs;
  PottsPairs potts_pairs;
  Tables tables;
  std::vector<DenseLayer> dense_layers;
  Gates gates;

  /// Empty when the format has no names.
  std::string name;
  std::vector<std::string> variable_names;
  std::vector<std::vector<std::string>> state_names;

  /// What a reader had to decide, in plain sentences for the user.
  std::vector<std::string> warnings;

  std::size_t variable_count() const { return cardinalities.size(); }
  std::size_t factor_count() const {
    return unaries.size() + spin_pairs.size() + potts_pairs.size() + tables.size() + dense_layers.size() +
           gates.size();
  }
  /// The variable's name, or its number when it has none.
  std::string variable_name(VariableId variable) const;
  std::string state_name(VariableId variable, Value value) const;
};

/// Variables whose value is known.
struct Evidence {
  std::vector<VariableId> variables;
  std::vector<Value> values;

  std::size_t size() const { return variables.size(); }
  void add(VariableId variable, Value value) {
    variables.push_back(variable);
    values.push_back(value);
  }
};

/// log p~(x), the logarithm of the unnormalised probability of a whole assignment.
double log_score(const Model& model, std::span<const Value> assignment);

}  // namespace drover
