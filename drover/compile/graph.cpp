#include "drover/compile/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "drover/compile/compile_gates.hpp"
#include "drover/compile/merge_factors.hpp"
#include "drover/compile/reweight.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::bad_data, message);
}

std::string scope_name(const Model& model, std::span<const VariableId> scope) {
  std::string text;
  for (std::size_t k = 0; k < scope.size() && k < 8; ++k)
    text += (k > 0 ? ", " : "") + model.variable_name(scope[k]);
  if (scope.size() > 8) text += ", ...";
  return "(" + text + ")";
}

// Holds the state of one compilation; each add_ function puts one factor of the model into the graph.
class Compiler {
 public:
  Compiler(const Model& model, const Evidence& evidence, PairTables pairs, const RunControl& control)
      : model_(model), pairs_(pairs), control_(control) {
    check_variables();
    check_gates(model);
    clamp(evidence);
    propagate_gates(model, clamped_, graph_.clamped_value);
    number_free_variables();
  }

  /// Variables, evidence and memory of a graph that was compiled before; its factors go.
  Compiler(const Model& model, Graph&& before)
      : model_(model), control_(no_control()), graph_(std::move(before)) {
    check_variables();
    check_gates(model);
    bool fits = model.variable_count() == graph_.model_size();
    for (std::size_t v = 0; fits && v < graph_.size(); ++v)
      fits = graph_.cardinalities[v] == model.cardinalities[graph_.model_variable[v]];
    if (!fits) fail("a model with other variables cannot give a compiled one new weights");
    graph_.unary.assign(graph_.unary.size(), 0.0);
    for (Pairs* pairs : {static_cast<Pairs*>(&graph_.spin_pairs), static_cast<Pairs*>(&graph_.potts_pairs)}) {
      pairs->first.clear();
      pairs->second.clear();
      pairs->couplings.clear();
    }
    graph_.tables.table_offsets.resize(1);
    graph_.tables.log_values.clear();
    graph_.tables.scope_offsets.resize(1);
    graph_.tables.scopes.clear();
    graph_.tables.table_of.clear();
    graph_.gates = {};
  }

  Graph run() {
    graph_.log_constant = model_.log_constant;
    if (std::isnan(model_.log_constant) || std::isinf(model_.log_constant))
      fail("the model's constant is not a finite number");
    if (!add_free_unaries()) add_unaries();
    if (!add_free_spin_pairs())
      add_pairs(model_.spin_pairs, "spin pair",
                [this](VariableId i, VariableId j, double coupling) { add_spin_pair(i, j, coupling); });
    add_pairs(model_.potts_pairs, "Potts pair",
              [this](VariableId i, VariableId j, double coupling) { add_potts_pair(i, j, coupling); });
    for (const DenseLayer& layer : model_.dense_layers) add_dense_layer(layer);
    add_tables();
    add_gates(model_, graph_);
    merge_factors(graph_, control_);
    check_support();
    return std::move(graph_);
  }

 private:
  void check_variables() {
    for (std::size_t v = 0; v < model_.variable_count(); ++v) {
      const std::uint32_t cardinality = model_.cardinalities[v];
      if (cardinality == 0 || cardinality > max_cardinality)
        fail(fmt::format("variable {} has {} states; expected 1 to {}",
                         model_.variable_name(static_cast<VariableId>(v)), cardinality, max_cardinality));
    }
  }

  void clamp(const Evidence& evidence) {
    graph_.clamped_value.assign(model_.variable_count(), 0);
    clamped_.assign(model_.variable_count(), false);
    for (std::size_t v = 0; v < model_.variable_count(); ++v)
      if (model_.cardinalities[v] == 1) clamped_[v] = true;
    std::vector<bool> observed(evidence.size() > 0 ? model_.variable_count() : 0, false);
    for (std::size_t e = 0; e < evidence.size(); ++e) {
      const VariableId v = evidence.variables[e];
      const Value value = evidence.values[e];
      if (v >= model_.variable_count())
        fail(fmt::format("evidence names variable {}, but the model has {}", v,
                         counted(model_.variable_count(), "variable")));
      if (value >= model_.cardinalities[v])
        fail(fmt::format("evidence gives variable {} the value {}, but its values are 0 to {}",
                         model_.variable_name(v), value, model_.cardinalities[v] - 1));
      if (observed[v] && graph_.clamped_value[v] != value)
        fail(fmt::format("contradictory evidence: variable {} is observed as {} and as {}",
                         model_.variable_name(v), model_.state_name(v, graph_.clamped_value[v]),
                         model_.state_name(v, value)));
      observed[v] = true;
      clamped_[v] = true;
      graph_.clamped_value[v] = value;
    }
  }

  void number_free_variables() {
    const std::size_t count = model_.variable_count();
    graph_.variable_names = model_.variable_names;
    if (std::find(clamped_.begin(), clamped_.end(), true) == clamped_.end()) return keep_numbers();
    graph_.free_variable.resize(count);
    graph_.model_variable.reserve(count);
    graph_.cardinalities.reserve(count);
    graph_.unary_offsets.reserve(count + 1);
    graph_.unary_offsets.push_back(0);
    for (std::size_t v = 0; v < count; ++v) {
      if (clamped_[v]) {
        graph_.free_variable[v] = no_variable;
        continue;
      }
      graph_.free_variable[v] = static_cast<VariableId>(graph_.model_variable.size());
      graph_.model_variable.push_back(static_cast<VariableId>(v));
      graph_.cardinalities.push_back(model_.cardinalities[v]);
      graph_.unary_offsets.push_back(graph_.unary_offsets.back() + model_.cardinalities[v]);
    }
    graph_.unary.assign(graph_.unary_offsets.back(), 0.0);
  }

  // Every variable is free and keeps its number.
  void keep_numbers() {
    std::vector<VariableId> numbers(model_.variable_count());
    std::iota(numbers.begin(), numbers.end(), VariableId{0});
    graph_.model_variable = std::move(numbers);
    graph_.free_variable = graph_.model_variable;
    graph_.cardinalities = model_.cardinalities;
    shares_unaries_ = has_one_unary_each();
    if (shares_unaries_) {
      graph_.unary_offsets = model_.unaries.offsets;
      graph_.unary = model_.unaries.log_values;
      return;
    }
    std::vector<std::size_t> offsets(graph_.size() + 1, 0);
    for (std::size_t v = 0; v < graph_.size(); ++v) offsets[v + 1] = offsets[v] + graph_.cardinalities[v];
    graph_.unary_offsets = std::move(offsets);
    graph_.unary.assign(std::as_const(graph_).unary_offsets.back(), 0.0);
  }

  // Whether the model's unaries stand as those of a graph do: one for each variable, in order. A graph has sums from
  // zero on, which are never the negative zero.
  bool has_one_unary_each() const {
    const Unaries& unaries = model_.unaries;
    if (unaries.size() != model_.variable_count() || unaries.offsets.size() != unaries.size() + 1 ||
        unaries.offsets.front() != 0 || unaries.log_values.size() != unaries.offsets.back())
      return false;
    bool fit = true;
    for (std::size_t f = 0; f < unaries.size(); ++f)
      fit &=
          unaries.variables[f] == f && unaries.offsets[f + 1] - unaries.offsets[f] == model_.cardinalities[f];
    for (double value : unaries.log_values)
      fit &= std::bit_cast<std::uint64_t>(value) != std::bit_cast<std::uint64_t>(-0.0);
    return fit;
  }

  double* unary_of(VariableId free) {
    return graph_.unary.data() + std::as_const(graph_).unary_offsets[free];
  }

  void check_value(double value, std::span<const VariableId> scope) const {
    if (std::isnan(value))
      fail("the factor over " + scope_name(model_, scope) + " has an entry that is not a number");
    if (value == -log_zero) fail("the factor over " + scope_name(model_, scope) + " has an infinite entry");
  }

  void check_scope(std::span<const VariableId> scope, std::size_t entries) const {
    std::size_t expected = 1;
    for (VariableId v : scope) {
      if (v >= model_.variable_count())
        fail(fmt::format("a factor names variable {}, but the model has {}", v,
                         counted(model_.variable_count(), "variable")));
      expected *= model_.cardinalities[v];
    }
    for (std::size_t a = 0; a < scope.size(); ++a)
      for (std::size_t b = a + 1; b < scope.size(); ++b)
        if (scope[a] == scope[b])
          fail("the factor over " + scope_name(model_, scope) + " names a variable twice");
    if (entries != expected)
      fail(fmt::format("the factor over {} has {} entries; expected {}", scope_name(model_, scope), entries,
                       expected));
  }

  void add_constant(double value, std::span<const VariableId> scope) {
    if (value == log_zero)
      fail("the evidence is impossible: the factor over " + scope_name(model_, scope) + " is zero there");
    graph_.log_constant += value;
  }

  // Whether every variable is binary and free, so that each keeps its number.
  bool all_binary_and_free() const {
    return graph_.size() == model_.variable_count() && graph_.unary.size() == 2 * graph_.size() &&
           graph_.is_binary();
  }

  // The same as add_unaries() in a few loops without branches, for models of millions of variables; false, and
  // nothing is done, where a variable is not binary, one is clamped or something is wrong.
  bool add_free_unaries() {
    const Unaries& unaries = model_.unaries;
    if (!all_binary_and_free() || unaries.log_values.size() != 2 * unaries.size()) return false;
    check_.ask();
    bool right = true;
    for (std::size_t f = 0; f < unaries.size(); ++f) {
      const double a = unaries.log_values[2 * f], b = unaries.log_values[2 * f + 1];
      right &= unaries.variables[f] < graph_.size() && unaries.offsets[f] == 2 * f && std::isfinite(a) &&
               std::isfinite(b);
    }
    if (!right || shares_unaries_) return right;
    for (std::size_t f = 0; f < unaries.size(); ++f) {
      double* const unary = graph_.unary.data() + 2 * std::size_t{unaries.variables[f]};
      unary[0] += unaries.log_values[2 * f];
      unary[1] += unaries.log_values[2 * f + 1];
    }
    return true;
  }

  // Likewise for pairs of spins.
  bool add_free_spin_pairs() {
    const SpinPairs& pairs = model_.spin_pairs;
    if (!all_binary_and_free()) return false;
    check_.ask();
    bool right = true, ordered = true;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      ordered &= pairs.first[p] < pairs.second[p];
      right &= pairs.first[p] < graph_.size() && pairs.second[p] < graph_.size() &&
               pairs.first[p] != pairs.second[p] && std::isfinite(pairs.couplings[p]);
    }
    check_.ask();
    if (!right) return false;
    graph_.spin_pairs = pairs;
    if (ordered) return true;
    std::vector<VariableId> first(pairs.size()), second(pairs.size());
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      first[p] = std::min(pairs.first[p], pairs.second[p]);
      second[p] = std::max(pairs.first[p], pairs.second[p]);
    }
    graph_.spin_pairs.first = std::move(first);
    graph_.spin_pairs.second = std::move(second);
    return true;
  }

  void add_unaries() {
    for (std::size_t f = 0; f < model_.unaries.size(); ++f) {
      check_.step();
      const VariableId v = model_.unaries.variables[f];
      const std::span<const VariableId> scope(&v, 1);
      const auto values = model_.unaries.values(f);
      check_scope(scope, values.size());
      for (double value : values) check_value(value, scope);
      if (std::all_of(values.begin(), values.end(), [](double x) { return x == log_zero; }))
        fail("the factor over " + scope_name(model_, scope) + " is zero everywhere");
      const VariableId free = graph_.free_variable[v];
      if (free == no_variable) {
        add_constant(values[graph_.clamped_value[v]], scope);
      } else if (!shares_unaries_) {
        for (std::size_t k = 0; k < values.size(); ++k) unary_of(free)[k] += values[k];
      }
    }
  }

  template <class Add>
  void add_pairs(const Pairs& pairs, const char* kind, Add add) {
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      check_.step();
      const VariableId scope[2] = {pairs.first[f], pairs.second[f]};
      for (VariableId v : scope)
        if (v >= model_.variable_count())
          fail(fmt::format("a {} names variable {}, but the model has {}", kind, v,
                           counted(model_.variable_count(), "variable")));
      if (scope[0] == scope[1])
        fail(fmt::format("a {} joins variable {} with itself", kind, model_.variable_name(scope[0])));
      if (!std::isfinite(pairs.couplings[f]))
        fail(
            fmt::format("the {} over {} has a coupling that is not finite", kind, scope_name(model_, scope)));
      add(scope[0], scope[1], pairs.couplings[f]);
    }
  }

  void require_binary(VariableId v, const char* kind) const {
    if (model_.cardinalities[v] != 2)
      fail(fmt::format("a {} needs variables with 2 states, but {} has {}", kind, model_.variable_name(v),
                       model_.cardinalities[v]));
  }

  void add_spin_pair(VariableId i, VariableId j, double coupling) {
    require_binary(i, "spin pair");
    require_binary(j, "spin pair");
    const VariableId a = graph_.free_variable[i];
    const VariableId b = graph_.free_variable[j];
    if (a != no_variable && b != no_variable) {
      graph_.spin_pairs.add(std::min(a, b), std::max(a, b), coupling);
    } else if (a == no_variable && b == no_variable) {
      graph_.log_constant += graph_.clamped_value[i] == graph_.clamped_value[j] ? coupling : -coupling;
    } else {
      const Value known = graph_.clamped_value[a == no_variable ? i : j];
      double* unary = unary_of(a == no_variable ? b : a);
      unary[known] += coupling;
      unary[1 - known] -= coupling;
    }
  }

  void add_potts_pair(VariableId i, VariableId j, double coupling) {
    const VariableId a = graph_.free_variable[i];
    const VariableId b = graph_.free_variable[j];
    if (model_.cardinalities[i] != model_.cardinalities[j])
      fail(fmt::format("the Potts pair over ({}, {}) joins variables with {} and {} states",
                       model_.variable_name(i), model_.variable_name(j), model_.cardinalities[i],
                       model_.cardinalities[j]));
    if (a != no_variable && b != no_variable) {
      if (model_.cardinalities[i] == 2) {
        graph_.spin_pairs.add(std::min(a, b), std::max(a, b), coupling / 2);
        graph_.log_constant += coupling / 2;
      } else {
        graph_.potts_pairs.add(std::min(a, b), std::max(a, b), coupling);
      }
    } else if (a == no_variable && b == no_variable) {
      if (graph_.clamped_value[i] == graph_.clamped_value[j]) graph_.log_constant += coupling;
    } else {
      unary_of(a == no_variable ? b : a)[graph_.clamped_value[a == no_variable ? i : j]] += coupling;
    }
  }

  // w x_i x_j = w/4 (s_i s_j + s_i + s_j + 1)
  void add_dense_layer(const DenseLayer& layer) {
    const std::size_t end_visible = std::size_t{layer.first_visible} + layer.visible_count;
    const std::size_t end_hidden = std::size_t{layer.first_hidden} + layer.hidden_count;
    if (end_visible > model_.variable_count() || end_hidden > model_.variable_count())
      fail(fmt::format("a dense layer reaches beyond the model's {} variables", model_.variable_count()));
    if (layer.first_visible < end_hidden && layer.first_hidden < end_visible)
      fail("the two sides of a dense layer overlap");
    if (layer.weights.size() != std::size_t{layer.visible_count} * layer.hidden_count)
      fail(fmt::format("a dense layer of {} by {} has {} weights", layer.visible_count, layer.hidden_count,
                       layer.weights.size()));
    for (std::size_t v = layer.first_visible; v < end_visible; ++v)
      require_binary(static_cast<VariableId>(v), "dense layer");
    for (std::size_t v = layer.first_hidden; v < end_hidden; ++v)
      require_binary(static_cast<VariableId>(v), "dense layer");
    std::size_t w = 0;
    for (std::size_t i = layer.first_visible; i < end_visible; ++i)
      for (std::size_t j = layer.first_hidden; j < end_hidden; ++j, ++w) {
        const double weight = layer.weights[w];
        if (!std::isfinite(weight)) fail("a dense layer has a weight that is not finite");
        if (weight == 0) continue;
        check_.step();
        const double table[4] = {0, 0, 0, weight};
        const VariableId scope[2] = {static_cast<VariableId>(i), static_cast<VariableId>(j)};
        add_table(scope, table);
      }
  }

  // What became of a table after evidence, when it can be used again for the next factor that shares it.
  struct Tie {
    std::uint32_t table = no_table;  ///< of the graph
    bool is_potts = false;
    double coupling = 0, constant = 0;  ///< of a Potts pair
  };

  // Factors that share a table, have the same shape and the same evidence on the same axes share what is left
  // of it. Sums run over the factors in the model's order, as they do for tables of their own.
  void add_tables() {
    const Tables& tables = model_.tables;
    std::vector<std::uint32_t> uses(tables.table_count(), 0);
    for (std::uint32_t table : tables.table_of) uses[table] += uses[table] < 2 ? 1 : 0;
    std::map<std::vector<std::uint32_t>, Tie> ties;
    std::vector<std::uint32_t> key;
    for (std::size_t f = 0; f < tables.size(); ++f) {
      const auto scope = tables.scope(f);
      check_.step(1 + tables.values(f).size() / 16);
      if (uses[tables.table_of[f]] < 2) {
        add_table(scope, tables.values(f));
        continue;
      }
      check_scope(scope, tables.values(f).size());
      key.assign(1, tables.table_of[f]);
      for (VariableId v : scope) {
        key.push_back(model_.cardinalities[v]);
        key.push_back(graph_.free_variable[v] == no_variable ? graph_.clamped_value[v] : no_variable);
      }
      const auto [known, is_new] = ties.try_emplace(key);
      add_tied_table(scope, tables.values(f), is_new, known->second);
    }
  }

  void add_tied_table(std::span<const VariableId> scope, std::span<const double> values, bool is_new,
                      Tie& tie) {
    if (is_new) {
      const std::size_t table = graph_.tables.table_count(), pair = graph_.potts_pairs.size();
      add_table(scope, values);
      if (graph_.tables.table_count() > table) tie.table = static_cast<std::uint32_t>(table);
      tie.is_potts = graph_.potts_pairs.size() > pair;
      if (tie.is_potts) tie = {no_table, true, graph_.potts_pairs.couplings[pair], sliced_values_[1]};
    } else if (tie.table != no_table || tie.is_potts) {
      slice_scope(scope, values.size());
      if (tie.is_potts) {
        add_potts(sliced_scope_[0], sliced_scope_[1], tie.coupling, tie.constant);
      } else {
        graph_.tables.add_factor(sliced_scope_, tie.table);
      }
    } else {
      add_checked_table(scope, values);
    }
  }

  void add_table(std::span<const VariableId> scope, std::span<const double> values) {
    check_scope(scope, values.size());
    bool possible = false;
    for (double value : values) {
      check_value(value, scope);
      possible |= value != log_zero;
    }
    if (!possible) fail("the factor over " + scope_name(model_, scope) + " is zero everywhere");
    add_checked_table(scope, values);
  }

  void add_checked_table(std::span<const VariableId> scope, std::span<const double> values) {
    slice(scope, values);
    const std::span<const double> table = sliced_values_;
    if (std::all_of(table.begin(), table.end(), [](double x) { return x == log_zero; }))
      fail("the evidence is impossible: the factor over " + scope_name(model_, scope) + " is zero there");
    if (sliced_scope_.empty()) {
      graph_.log_constant += table[0];
    } else if (sliced_scope_.size() == 1) {
      for (std::size_t k = 0; k < table.size(); ++k) unary_of(sliced_scope_[0])[k] += table[k];
    } else if (std::all_of(table.begin(), table.end(), [&](double x) { return x == table[0]; })) {
      graph_.log_constant += table[0];
    } else if (!add_recognised_pair(table)) {
      graph_.tables.add(sliced_scope_, table);
    }
  }

  // The free variables of the scope and their strides; returns where the entries that agree with the clamped
  // values begin.
  std::size_t slice_scope(std::span<const VariableId> scope, std::size_t size) {
    sliced_scope_.clear();
    strides_.clear();
    std::size_t base = 0;
    std::size_t stride = size;
    for (VariableId v : scope) {
      stride /= model_.cardinalities[v];
      if (graph_.free_variable[v] == no_variable) {
        base += stride * graph_.clamped_value[v];
      } else {
        sliced_scope_.push_back(graph_.free_variable[v]);
        strides_.push_back(stride);
      }
    }
    return base;
  }

  // Keeps the entries that agree with the clamped values, in the order of the remaining scope.
  void slice(std::span<const VariableId> scope, std::span<const double> values) {
    sliced_values_.clear();
    std::size_t at = slice_scope(scope, values.size());
    if (sliced_scope_.size() == scope.size()) {
      sliced_values_.assign(values.begin(), values.end());
      return;
    }
    std::size_t entries = 1;
    for (VariableId v : sliced_scope_) entries *= graph_.cardinalities[v];
    std::vector<std::uint32_t> index(sliced_scope_.size(), 0);
    for (std::size_t e = 0; e < entries; ++e) {
      sliced_values_.push_back(values[at]);
      for (std::size_t k = index.size(); k-- > 0;) {
        at += strides_[k];
        if (++index[k] < graph_.cardinalities[sliced_scope_[k]]) break;
        at -= strides_[k] * index[k];
        index[k] = 0;
      }
    }
  }

  bool add_recognised_pair(std::span<const double> table) {
    if (sliced_scope_.size() != 2 || pairs_ == PairTables::kept) return false;
    const VariableId i = sliced_scope_[0];
    const VariableId j = sliced_scope_[1];
    const std::uint32_t K = graph_.cardinalities[i];
    if (graph_.cardinalities[j] != K) return false;
    if (K == 2) {
      for (double value : table)
        if (value == log_zero) return false;
      const double t00 = table[0], t01 = table[1], t10 = table[2], t11 = table[3];
      const double coupling = ((t00 + t11) - (t01 + t10)) / 4;
      const double field_i = ((t11 + t10) - (t01 + t00)) / 4;
      const double field_j = ((t11 + t01) - (t10 + t00)) / 4;
      graph_.log_constant += ((t00 + t11) + (t01 + t10)) / 4;
      graph_.spin_pairs.add(std::min(i, j), std::max(i, j), coupling);
      unary_of(i)[0] -= field_i;
      unary_of(i)[1] += field_i;
      unary_of(j)[0] -= field_j;
      unary_of(j)[1] += field_j;
      return true;
    }
    const double equal = table[0], different = table[1];
    if (equal == log_zero || different == log_zero) return false;
    for (std::uint32_t a = 0; a < K; ++a)
      for (std::uint32_t b = 0; b < K; ++b)
        if (table[std::size_t{a} * K + b] != (a == b ? equal : different)) return false;
    add_potts(i, j, equal - different, different);
    return true;
  }

  void add_potts(VariableId i, VariableId j, double coupling, double constant) {
    graph_.log_constant += constant;
    graph_.potts_pairs.add(std::min(i, j), std::max(i, j), coupling);
  }

  void check_support() {
    for (std::size_t v = 0; v < graph_.size(); ++v) {
      const auto unary = graph_.unary_of(static_cast<VariableId>(v));
      if (std::all_of(unary.begin(), unary.end(), [](double x) { return x == log_zero; }))
        fail(fmt::format("the model is impossible: no value of variable {} is allowed by its factors{}",
                         model_.variable_name(graph_.model_variable[v]),
                         graph_.size() < graph_.model_size() ? " and the evidence" : ""));
    }
  }

  static constexpr std::uint32_t no_table = ~std::uint32_t{0};

  const Model& model_;
  PairTables pairs_ = PairTables::recognised;
  const RunControl& control_;
  StopCheck check_{control_, "the model", "was compiled"};
  Graph graph_;
  std::vector<bool> clamped_;
  bool shares_unaries_ = false;  // they are in the graph already
  std::vector<VariableId> sliced_scope_;
  std::vector<double> sliced_values_;
  std::vector<std::size_t> strides_;
};

}  // namespace

Graph compile(const Model& model, const Evidence& evidence, PairTables pairs, const RunControl& control) {
  return Compiler(model, evidence, pairs, control).run();
}

Graph compile(const Model& model, const Evidence& evidence, PairTables pairs) {
  return compile(model, evidence, pairs, no_control());
}

void reweight(Graph& graph, const Model& model) {
  graph = Compiler(model, std::move(graph)).run();
}

bool Graph::is_binary() const {
  return std::all_of(cardinalities.begin(), cardinalities.end(), [](std::uint32_t k) { return k == 2; });
}

bool Graph::is_pairwise() const {
  for (std::size_t f = 0; f < tables.size(); ++f)
    if (tables.scope(f).size() > 2) return false;
  for (std::size_t g = 0; g < gates.size(); ++g)
    if (gates.scope(g).size() > 2) return false;
  return true;
}

bool Graph::is_spin() const {
  return is_binary() && tables.size() == 0 && gates.size() == 0 && potts_pairs.size() == 0 &&
         is_strictly_positive();
}

bool Graph::is_strictly_positive() const {
  const auto finite = [](double x) { return x != log_zero; };
  return gates.size() == 0 && std::all_of(unary.begin(), unary.end(), finite) &&
         std::all_of(tables.log_values.begin(), tables.log_values.end(), finite);
}

std::uint32_t Graph::max_cardinality() const {
  std::uint32_t most = 1;
  for (std::uint32_t k : cardinalities) most = std::max(most, k);
  return most;
}

std::string Graph::name(VariableId free) const {
  const VariableId variable = model_variable[free];
  return variable < variable_names.size() ? variable_names[variable] : std::to_string(variable);
}

double log_score(const Graph& graph, std::span<const Value> x) {
  assert(x.size() == graph.size());
  double total = graph.log_constant;
  for (std::size_t v = 0; v < graph.size(); ++v) total += graph.unary[graph.unary_offsets[v] + x[v]];
  const auto& spins = graph.spin_pairs;
  for (std::size_t f = 0; f < spins.size(); ++f)
    total += x[spins.first[f]] == x[spins.second[f]] ? spins.couplings[f] : -spins.couplings[f];
  const auto& potts = graph.potts_pairs;
  for (std::size_t f = 0; f < potts.size(); ++f)
    if (x[potts.first[f]] == x[potts.second[f]]) total += potts.couplings[f];
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    std::size_t index = 0;
    for (VariableId v : graph.tables.scope(f)) index = index * graph.cardinalities[v] + x[v];
    total += graph.tables.values(f)[index];
  }
  std::vector<Value> values;
  for (std::size_t g = 0; g < graph.gates.size(); ++g) {
    values.clear();
    for (VariableId v : graph.gates.scope(g)) values.push_back(x[v]);
    total += graph.gates.log_value(g, values);
  }
  return total;
}

std::vector<Value> whole_assignment(const Graph& graph, std::span<const Value> free_assignment) {
  assert(free_assignment.size() == graph.size());
  std::vector<Value> whole = graph.clamped_value;
  for (std::size_t v = 0; v < graph.size(); ++v) whole[graph.model_variable[v]] = free_assignment[v];
  return whole;
}

bool can_expand_gates(const Graph& graph) {
  for (std::size_t g = 0; g < graph.gates.size(); ++g)
    if (graph.gates.scope(g).size() > largest_expanded_gate) return false;
  return true;
}

namespace {

void add_gate_tables(const Gates& gates, Tables& tables) {
  for (std::size_t g = 0; g < gates.size(); ++g) {
    assert(gates.scope(g).size() <= largest_expanded_gate);
    tables.add(gates.scope(g), gates.table(g));
  }
}

}  // namespace

Graph expand_gates(const Graph& graph) {
  Graph expanded = graph;
  expanded.gates = {};
  add_gate_tables(graph.gates, expanded.tables);
  return expanded;
}

Tables all_tables(const Graph& graph) {
  Tables tables = graph.tables;
  add_gate_tables(graph.gates, tables);
  const auto& spins = graph.spin_pairs;
  for (std::size_t f = 0; f < spins.size(); ++f) {
    const VariableId scope[2] = {spins.first[f], spins.second[f]};
    const double J = spins.couplings[f];
    const double values[4] = {J, -J, -J, J};
    tables.add(scope, values);
  }
  const auto& potts = graph.potts_pairs;
  std::map<std::pair<std::size_t, double>, std::uint32_t> known;  // equal pairs share a table
  std::vector<double> values;
  for (std::size_t f = 0; f < potts.size(); ++f) {
    const VariableId scope[2] = {potts.first[f], potts.second[f]};
    const std::size_t K = graph.cardinalities[scope[0]];
    const auto [table, is_new] = known.try_emplace({K, potts.couplings[f]});
    if (is_new) {
      values.assign(K * K, 0.0);
      for (std::size_t k = 0; k < K; ++k) values[k * K + k] = potts.couplings[f];
      table->second = tables.add_table(values);
    }
    tables.add_factor(scope, table->second);
  }
  return tables;
}

}  // namespace drover
