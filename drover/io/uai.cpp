#include "drover/io/uai.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/io/factor_tables.hpp"
#include "drover/io/network_cycle.hpp"
#include "drover/io/number_text.hpp"
#include "drover/io/table_store.hpp"

namespace drover {

namespace {

// Reserves for a claimed count, but never more than the file can hold at `bytes` characters each.
template <class T>
void reserve_claimed(std::vector<T>& values, std::uint64_t claimed, const TextSource& source,
                     std::uint64_t bytes) {
  values.reserve(std::min(claimed, source.size_hint() / bytes + 1));
}

class UaiReader {
 public:
  explicit UaiReader(TextSource& source) : source_(source) {}

  Model run() {
    read_header();
    read_scopes();
    read_tables();
    source_.expect_end();
    if (zero_constants_ > 0)
      model_.warnings.push_back(fmt::format(
          "{} factors over no variable are zero and were left out; taken literally they would make "
          "every state impossible",
          zero_constants_));
    if (model_.kind == ModelKind::bayes) check_children();
    return std::move(model_);
  }

 private:
  void read_header() {
    source_.next_token();
    if (source_.token() == "BAYES") {
      model_.kind = ModelKind::bayes;
    } else if (source_.token() != "MARKOV") {
      source_.fail_expected("MARKOV or BAYES");
    }
    const std::uint64_t variables = source_.count("the number of variables", no_variable - 1);
    reserve_claimed(model_.cardinalities, variables, source_, 2);
    for (std::uint64_t v = 0; v < variables; ++v) {
      const std::uint64_t states = source_.count("the number of states of a variable", max_cardinality);
      if (states == 0) source_.fail_expected(fmt::format("at least 1 state for variable {}", v));
      model_.cardinalities.push_back(static_cast<std::uint32_t>(states));
    }
  }

  // Scopes go straight to their place in the model; what remains is which kind the factors have, in order.
  void read_scopes() {
    const std::size_t variables = model_.variable_count();
    const std::uint64_t factors = source_.count("the number of factors", no_variable - 1);
    reserve_claimed(kinds_, factors, source_, 2);
    std::vector<VariableId> scope;
    Tables& tables = model_.tables;
    for (std::uint64_t f = 0; f < factors; ++f) {
      if (!source_.next_token()) source_.fail_expected("the number of variables of a factor");
      if (is_word(source_.token())) {
        kinds_.push_back(Kind::gate);
        read_gate();
        continue;
      }
      const std::uint64_t arity =
          source_.token_as_count("the number of variables of a factor, or a gate", variables);
      read_scope(arity, scope);
      kinds_.push_back(arity == 0 ? Kind::constant : arity == 1 ? Kind::unary : Kind::table);
      if (arity == 1) {
        model_.unaries.variables.push_back(scope[0]);
        unary_entries_ += model_.cardinalities[scope[0]];
      } else if (arity > 1) {
        check_distinct(source_, scope);
        table_entries_ += std::min(table_entries(source_, model_.cardinalities, scope), std::size_t{1} << 32);
        tables.scopes.insert(tables.scopes.end(), scope.begin(), scope.end());
        tables.scope_offsets.push_back(tables.scopes.size());
      }
    }
  }

  static bool is_word(std::string_view token) {
    return (token[0] >= 'A' && token[0] <= 'Z') || (token[0] >= 'a' && token[0] <= 'z');
  }

  void read_scope(std::uint64_t arity, std::vector<VariableId>& scope) {
    scope.clear();
    for (std::uint64_t k = 0; k < arity; ++k) {
      const std::uint64_t v = source_.count("a variable number");
      if (v >= model_.variable_count())
        source_.fail_expected(fmt::format("a variable from 0 to {}", model_.variable_count() - 1));
      scope.push_back(static_cast<VariableId>(v));
    }
  }

  // A gate stands whole in the place of a scope (docs/formats.md) and has no table.
  void read_gate() {
    const std::string word(source_.token());
    const std::uint64_t variables = model_.variable_count();
    std::uint64_t low = 0, high = variables;
    const bool is_count = word == "AT-MOST" || word == "AT-LEAST" || word == "EXACTLY" || word == "BETWEEN";
    if (word == "AT-LEAST" || word == "EXACTLY" || word == "BETWEEN")
      low = source_.count("the smallest number of ones", variables);
    if (word == "AT-MOST" || word == "BETWEEN") high = source_.count("the largest number of ones", variables);
    if (word == "EXACTLY") high = low;
    if (!is_count && word != "OR" && word != "AND" && word != "NOISY-OR" && word != "NOISY-OR-ON")
      source_.fail_expected(
          "the number of variables of a factor, or one of OR, AND, NOISY-OR, NOISY-OR-ON, AT-MOST, AT-LEAST, "
          "EXACTLY, BETWEEN");
    const bool has_child = !is_count && word != "NOISY-OR-ON";
    const std::uint64_t arity = source_.count("the number of variables of a gate", variables);
    if (arity < (has_child ? 2 : 1)) source_.fail_expected("more variables for a gate");
    std::vector<VariableId> scope;
    read_scope(arity, scope);
    check_distinct(source_, scope);
    for (VariableId v : scope)
      if (model_.cardinalities[v] != 2)
        source_.fail_expected(fmt::format("variables of 2 states for {} (variable {} has {})", word, v,
                                          model_.cardinalities[v]));
    if (is_count) {
      if (low > std::min<std::uint64_t>(high, arity))
        source_.fail_expected(fmt::format("a number of ones that {} variables can have", arity));
      model_.gates.add_count(scope, static_cast<std::uint32_t>(low),
                             static_cast<std::uint32_t>(std::min(high, arity)));
      return;
    }
    const std::span<const VariableId> inputs(scope.data(), scope.size() - (has_child ? 1 : 0));
    if (word == "OR") return model_.gates.add_or(inputs, scope.back());
    if (word == "AND") return model_.gates.add_and(inputs, scope.back());
    const double leak = probability();
    std::vector<double> log_off;
    for (std::size_t k = 0; k < inputs.size(); ++k) log_off.push_back(probability());
    if (has_child)
      model_.gates.add_noisy_or(inputs, scope.back(), log_off, leak);
    else
      model_.gates.add_noisy_or_on(inputs, log_off, leak);
  }

  double probability() {
    const double value = source_.log_number("a probability");
    if (value > 0) source_.fail_expected("a probability from 0 to 1");
    return value;
  }

  void read_tables() {
    // Scopes are longer than 8 bytes per entry in practice; if not, the arrays grow as they fill.
    const std::uint64_t believable = source_.consumed();
    Tables& tables = model_.tables;
    Unaries& unaries = model_.unaries;
    unaries.log_values.reserve(std::min<std::uint64_t>(unary_entries_, believable));
    unaries.offsets.reserve(unaries.size() + 1);
    tables.log_values.reserve(std::min<std::uint64_t>(table_entries_, believable));
    tables.table_of.reserve(tables.scope_offsets.size() - 1);
    for (std::size_t f = 0; f < kinds_.size(); ++f) {
      if (kinds_[f] == Kind::gate) continue;
      if (kinds_[f] == Kind::constant) {
        read_count(f, 1);
        const double value = source_.log_number("a table entry");
        if (value == log_zero) {
          ++zero_constants_;
        } else {
          model_.log_constant += value;
        }
      } else if (kinds_[f] == Kind::unary) {
        const std::size_t entries = model_.cardinalities[unaries.variables[unaries.offsets.size() - 1]];
        read_entries(f, entries, unaries.log_values);
        unaries.offsets.push_back(unaries.log_values.size());
      } else {
        const auto scope = tables.scope(tables.table_of.size());
        std::size_t entries = 1;
        for (VariableId v : scope) entries *= model_.cardinalities[v];
        read_entries(f, entries, tables.log_values);
        tables.table_of.push_back(ties_.close_table(tables));
      }
    }
  }

  void read_count(std::size_t factor, std::size_t entries) {
    if (source_.count("the number of entries of a table") != entries)
      source_.fail_expected(fmt::format("{} entries for factor {}", entries, factor));
    table_line_ = source_.line();
  }

  template <class Array>
  void read_entries(std::size_t factor, std::size_t entries, Array& log_values) {
    read_count(factor, entries);
    bool possible = false;
    for (std::size_t e = 0; e < entries; ++e) {
      const double value = source_.log_number("a table entry");
      possible |= value != log_zero;
      log_values.push_back(value);
    }
    if (!possible) fail_all_zero(factor);
  }

  [[noreturn]] void fail_all_zero(std::size_t factor) const {
    fail_at({source_.name(), table_line_},
            fmt::format("expected a positive entry in factor {} (counted from 0), found only zeros", factor));
  }

  // In a Bayesian network every variable is the child, the last variable, of exactly one factor.
  void check_children() const {
    std::vector<bool> seen(model_.variable_count(), false);
    const auto mark = [&](VariableId child) {
      if (seen[child])
        source_.fail(
            fmt::format("expected one table per variable of a BAYES model, found variable {} last in "
                        "two (a MARKOV model may hold any factors)",
                        child));
      seen[child] = true;
    };
    for (VariableId v : model_.unaries.variables) mark(v);
    for (std::size_t f = 0; f < model_.tables.size(); ++f) mark(model_.tables.scope(f).back());
    for (std::size_t g = 0; g < model_.gates.size(); ++g) {
      if (!model_.gates.has_child(g))
        source_.fail("expected a gate with a child in a BAYES model (a MARKOV model may hold any factors)");
      mark(model_.gates.child(g));
    }
    const auto missing = std::find(seen.begin(), seen.end(), false);
    if (missing != seen.end())
      source_.fail(
          fmt::format("expected one table per variable of a BAYES model, found none with variable {} "
                      "last (a MARKOV model may hold any factors)",
                      missing - seen.begin()));
    check_acyclic();
  }

  void check_acyclic() const {
    std::vector<std::vector<VariableId>> parents(model_.variable_count());
    const auto add = [&](std::span<const VariableId> scope) {
      parents[scope.back()].assign(scope.begin(), scope.end() - 1);
    };
    for (std::size_t f = 0; f < model_.tables.size(); ++f) add(model_.tables.scope(f));
    for (std::size_t g = 0; g < model_.gates.size(); ++g) add(model_.gates.scope(g));
    const std::vector<VariableId> cycle = find_cycle(parents);
    if (cycle.empty()) return;
    std::string text = std::to_string(cycle[0]);
    for (std::size_t k = 1; k < cycle.size(); ++k) text += fmt::format(" <- {}", cycle[k]);
    source_.fail(fmt::format(
        "expected a BAYES model without cycles, found {} (a MARKOV model may hold any factors)", text));
  }

  enum class Kind : std::uint8_t { constant, unary, table, gate };

  TextSource& source_;
  Model model_;
  std::vector<Kind> kinds_;
  TableTies ties_;
  std::uint64_t unary_entries_ = 0;
  std::uint64_t table_entries_ = 0;
  std::uint64_t table_line_ = 0;
  std::uint64_t zero_constants_ = 0;
};

}  // namespace

Model read_uai(TextSource& source) {
  return UaiReader(source).run();
}

namespace {

// A gate in the place of a scope; probabilities as everywhere, the shortest text with the same logarithm.
std::string gate_line(const Gates& gates, std::size_t gate, LogText& log_text) {
  const auto scope = gates.scope(gate);
  const GateKind kind = gates.kinds[gate];
  std::string line = gate_name(kind);
  if (kind == GateKind::count) {
    const std::uint32_t low = gates.low[gate], high = gates.high[gate];
    line = low == high            ? fmt::format("EXACTLY {}", low)
           : low == 0             ? fmt::format("AT-MOST {}", high)
           : high >= scope.size() ? fmt::format("AT-LEAST {}", low)
                                  : fmt::format("BETWEEN {} {}", low, high);
  }
  line += fmt::format(" {} {}", scope.size(), fmt::join(scope, " "));
  if (kind == GateKind::noisy_or || kind == GateKind::noisy_or_on) {
    line += fmt::format(" {}", log_text(gates.log_leak_off[gate]));
    for (double value : gates.input_log_off(gate)) line += fmt::format(" {}", log_text(value));
  }
  return line + "\n";
}

}  // namespace

void write_uai(const Model& model, AtomicFile& file) {
  std::string line;
  const auto integer = [&](std::size_t value, char after) {
    fmt::format_to(std::back_inserter(line), FMT_COMPILE("{}"), value);
    line += after;
  };
  const auto flush = [&] {
    file.write(line);
    line.clear();
  };
  const std::vector<double> constants = split_constant(model.log_constant);
  line = model.kind == ModelKind::bayes ? "BAYES\n" : "MARKOV\n";
  integer(model.variable_count(), '\n');
  for (std::size_t v = 0; v < model.variable_count(); ++v) {
    integer(model.cardinalities[v], v + 1 < model.variable_count() ? ' ' : '\n');
    if (v % 4096 == 0) flush();
  }
  integer(constants.size() + count_factor_tables(model) + model.gates.size(), '\n');
  for (std::size_t c = 0; c < constants.size(); ++c) line += "0\n";
  flush();
  visit_factors(model, [&](std::span<const VariableId> scope, auto&&) {
    integer(scope.size(), ' ');
    for (std::size_t k = 0; k < scope.size(); ++k) integer(scope[k], k + 1 < scope.size() ? ' ' : '\n');
    flush();
  });
  LogText log_text;
  for (std::size_t g = 0; g < model.gates.size(); ++g) {
    line += gate_line(model.gates, g, log_text);
    flush();
  }
  const auto entry = [&](double value, std::span<const VariableId> scope) {
    const std::string_view text = log_text(value);
    if (text.empty()) fail_out_of_range(model, file.name(), scope, value);
    line += ' ';
    line += text;
  };
  line += '\n';
  for (double constant : constants) {
    line += "1\n";
    entry(constant, {});
    line += '\n';
  }
  std::vector<double> buffer;
  visit_factors(model, [&](std::span<const VariableId> scope, auto&& values_into) {
    const std::span<const double> values = values_into(buffer);
    integer(values.size(), '\n');
    for (std::size_t e = 0; e < values.size(); ++e) {
      entry(values[e], scope);
      if (e % 4096 == 4095) flush();
    }
    line += '\n';
    flush();
  });
  flush();
}

}  // namespace drover
