#include "drover/compile/compile_gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"

namespace drover {

namespace {

std::string gate_text(const Model& model, std::size_t gate) {
  std::string names;
  const auto scope = model.gates.scope(gate);
  for (std::size_t k = 0; k < scope.size() && k < 8; ++k)
    names += (k > 0 ? ", " : "") +
             (scope[k] < model.variable_count() ? model.variable_name(scope[k]) : std::to_string(scope[k]));
  return fmt::format("the {} factor over ({}{})", gate_name(model.gates.kinds[gate]), names,
                     scope.size() > 8 ? ", ..." : "");
}

[[noreturn]] void fail(const Model& model, std::size_t gate, const std::string& what) {
  throw Error(ErrorKind::bad_data, gate_text(model, gate) + " " + what);
}

bool is_noisy(GateKind kind) {
  return kind == GateKind::noisy_or || kind == GateKind::noisy_or_on;
}

// How many variables of a list are known to be 0 and to be 1.
struct Known {
  std::size_t zeros = 0, ones = 0;
};

class Propagation {
 public:
  Propagation(const Model& model, std::vector<bool>& clamped, std::vector<Value>& values)
      : model_(model), clamped_(clamped), values_(values), gates_of_(model.variable_count()) {
    for (std::uint32_t g = 0; g < model.gates.size(); ++g)
      if (!is_noisy(model.gates.kinds[g]))
        for (VariableId v : model.gates.scope(g)) gates_of_[v].push_back(g);
  }

  void run() {
    for (std::uint32_t g = 0; g < model_.gates.size(); ++g) waiting_.push_back(g);
    while (!waiting_.empty()) {
      gate_ = waiting_.back();
      waiting_.pop_back();
      visit();
    }
  }

 private:
  Known known(std::span<const VariableId> variables) const {
    Known result;
    for (VariableId v : variables)
      if (clamped_[v]) ++(values_[v] == 0 ? result.zeros : result.ones);
    return result;
  }

  void set(VariableId v, Value value) {
    if (clamped_[v] && values_[v] != value)
      fail(model_, gate_, "cannot be satisfied: the evidence is impossible");
    if (clamped_[v]) return;
    clamped_[v] = true;
    values_[v] = value;
    for (std::uint32_t g : gates_of_[v]) waiting_.push_back(g);
  }

  void set_unknown(std::span<const VariableId> variables, Value value) {
    for (VariableId v : variables)
      if (!clamped_[v]) set(v, value);
  }

  // child = [some input has value `on`] (OR: on = 1, and an AND is an OR of complements).
  void visit_or(Value on) {
    const Gates& gates = model_.gates;
    const auto inputs = gates.inputs(gate_);
    const VariableId child = gates.child(gate_);
    const auto off = static_cast<Value>(1 - on);
    const Known k = known(inputs);
    const std::size_t on_count = on == 1 ? k.ones : k.zeros, off_count = on == 1 ? k.zeros : k.ones;
    if (on_count > 0) return set(child, on);
    if (off_count == inputs.size()) return set(child, off);
    if (!clamped_[child]) return;
    if (values_[child] == off) return set_unknown(inputs, off);
    if (off_count + 1 == inputs.size()) set_unknown(inputs, on);
  }

  void visit_count() {
    const auto scope = model_.gates.scope(gate_);
    const Known k = known(scope);
    if (k.ones > model_.gates.high[gate_] || scope.size() - k.zeros < model_.gates.low[gate_])
      fail(model_, gate_, "cannot be satisfied: the evidence is impossible");
    if (k.ones == model_.gates.high[gate_]) set_unknown(scope, 0);
    if (scope.size() - k.zeros == model_.gates.low[gate_]) set_unknown(scope, 1);
  }

  void visit() {
    switch (model_.gates.kinds[gate_]) {
      case GateKind::or_gate:
        return visit_or(1);
      case GateKind::and_gate:
        return visit_or(0);
      case GateKind::count:
        return visit_count();
      case GateKind::noisy_or:
      case GateKind::noisy_or_on:
        return;
    }
  }

  const Model& model_;
  std::vector<bool>& clamped_;
  std::vector<Value>& values_;
  std::vector<std::vector<std::uint32_t>> gates_of_;
  std::vector<std::uint32_t> waiting_;
  std::uint32_t gate_ = 0;
};

// Writes one gate after another; what is known has been propagated.
class GateWriter {
 public:
  GateWriter(const Model& model, Graph& graph) : model_(model), graph_(graph) {}

  void add(std::size_t gate) {
    const Gates& gates = model_.gates;
    split(gates.inputs(gate), gates.input_log_off(gate));
    switch (gates.kinds[gate]) {
      case GateKind::or_gate:
      case GateKind::and_gate:
        return add_or(gate, gates.kinds[gate] == GateKind::or_gate);
      case GateKind::count:
        return add_count(gates.low[gate], gates.high[gate]);
      case GateKind::noisy_or:
      case GateKind::noisy_or_on:
        return add_noisy(gate);
    }
  }

 private:
  void split(std::span<const VariableId> inputs, std::span<const double> log_off) {
    free_.clear();
    free_log_off_.clear();
    ones_ = zeros_ = 0;
    ones_log_off_ = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const VariableId free = graph_.free_variable[inputs[i]];
      if (free != no_variable) {
        free_.push_back(free);
        free_log_off_.push_back(log_off[i]);
      } else if (graph_.clamped_value[inputs[i]] == 1) {
        ++ones_;
        ones_log_off_ += log_off[i];
      } else {
        ++zeros_;
      }
    }
  }

  void add_or(std::size_t gate, bool is_or) {
    const VariableId child = graph_.free_variable[model_.gates.child(gate)];
    if (free_.empty() || (is_or ? ones_ : zeros_) > 0) return;  // propagation settled the child
    if (child == no_variable) {
      const Value value = graph_.clamped_value[model_.gates.child(gate)];
      if ((value == 1) != is_or) return;  // every input is settled too
      const auto count = static_cast<std::uint32_t>(free_.size());
      graph_.gates.add_count(free_, is_or ? 1 : 0, is_or ? count : count - 1);
    } else if (is_or) {
      graph_.gates.add_or(free_, child);
    } else {
      graph_.gates.add_and(free_, child);
    }
  }

  void add_count(std::uint32_t low, std::uint32_t high) {
    const auto count = static_cast<std::uint32_t>(free_.size());
    low = low > ones_ ? low - ones_ : 0;
    high = std::min(count, high - ones_);
    if (free_.empty() || (low == 0 && high == count)) return;
    graph_.gates.add_count(free_, low, high);
  }

  void add_noisy(std::size_t gate) {
    const double leak = model_.gates.log_leak_off[gate] + ones_log_off_;
    const bool has_child = model_.gates.has_child(gate);
    const VariableId child = has_child ? graph_.free_variable[model_.gates.child(gate)] : no_variable;
    const bool off = has_child && child == no_variable && graph_.clamped_value[model_.gates.child(gate)] == 0;
    if (off) {
      add_constant(gate, leak);
      for (std::size_t i = 0; i < free_.size(); ++i) unary_of(free_[i])[1] += free_log_off_[i];
    } else if (child != no_variable && !free_.empty()) {
      graph_.gates.add_noisy_or(free_, child, free_log_off_, leak);
    } else if (child != no_variable) {
      unary_of(child)[0] += leak;
      unary_of(child)[1] += log_one_minus_exp(leak);
    } else if (free_.empty()) {
      add_constant(gate, log_one_minus_exp(leak));
    } else if (free_.size() == 1) {
      unary_of(free_[0])[0] += log_one_minus_exp(leak);
      unary_of(free_[0])[1] += log_one_minus_exp(leak + free_log_off_[0]);
    } else {
      graph_.gates.add_noisy_or_on(free_, free_log_off_, leak);
    }
  }

  void add_constant(std::size_t gate, double value) {
    if (value == log_zero) fail(model_, gate, "is zero there: the evidence is impossible");
    graph_.log_constant += value;
  }

  double* unary_of(VariableId free) {
    return graph_.unary.data() + std::as_const(graph_).unary_offsets[free];
  }

  const Model& model_;
  Graph& graph_;
  std::vector<VariableId> free_;
  std::vector<double> free_log_off_;
  double ones_log_off_ = 0;
  std::uint32_t ones_ = 0, zeros_ = 0;
};

}  // namespace

void check_gates(const Model& model) {
  const Gates& gates = model.gates;
  if (gates.size() == 0) return;
  std::vector<std::size_t> last(model.variable_count(), gates.size());
  for (std::size_t g = 0; g < gates.size(); ++g) {
    if (gates.inputs(g).empty()) fail(model, g, "has no inputs");
    for (VariableId v : gates.scope(g)) {
      if (v >= model.variable_count())
        fail(model, g,
             fmt::format("names variable {}, but the model has {} variables", v, model.variable_count()));
      if (model.cardinalities[v] != 2)
        fail(model, g,
             fmt::format("needs variables with 2 states, but {} has {}", model.variable_name(v),
                         model.cardinalities[v]));
      if (last[v] == g) fail(model, g, "names a variable twice");
      last[v] = g;
    }
    if (gates.kinds[g] == GateKind::count &&
        (gates.low[g] > gates.high[g] || gates.low[g] > gates.scope(g).size()))
      fail(model, g,
           fmt::format("allows {} to {} ones of {} variables: none", gates.low[g], gates.high[g],
                       gates.scope(g).size()));
    const auto is_log_probability = [](double value) { return value <= 0; };  // false for NaN
    const auto log_off = gates.input_log_off(g);
    if (!is_log_probability(gates.log_leak_off[g]) ||
        !std::all_of(log_off.begin(), log_off.end(), is_log_probability))
      fail(model, g, "has a parameter that is no probability");
  }
}

void propagate_gates(const Model& model, std::vector<bool>& clamped, std::vector<Value>& values) {
  if (model.gates.size() > 0) Propagation(model, clamped, values).run();
}

void add_gates(const Model& model, Graph& graph) {
  GateWriter writer(model, graph);
  for (std::size_t g = 0; g < model.gates.size(); ++g) writer.add(g);
}

}  // namespace drover
