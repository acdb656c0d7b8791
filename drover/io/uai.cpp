#include "drover/io/uai.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/io/factor_tables.hpp"
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
      const std::uint64_t arity = source_.count("the number of variables of a factor", variables);
      scope.clear();
      for (std::uint64_t k = 0; k < arity; ++k) {
        const std::uint64_t v = source_.count("a variable number");
        if (v >= variables) source_.fail_expected(fmt::format("a variable from 0 to {}", variables - 1));
        scope.push_back(static_cast<VariableId>(v));
      }
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

  void read_entries(std::size_t factor, std::size_t entries, std::vector<double>& log_values) {
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
    const auto missing = std::find(seen.begin(), seen.end(), false);
    if (missing != seen.end())
      source_.fail(
          fmt::format("expected one table per variable of a BAYES model, found none with variable {} "
                      "last (a MARKOV model may hold any factors)",
                      missing - seen.begin()));
  }

  enum class Kind : std::uint8_t { constant, unary, table };

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
  integer(constants.size() + count_factor_tables(model), '\n');
  for (std::size_t c = 0; c < constants.size(); ++c) line += "0\n";
  flush();
  visit_factors(model, [&](std::span<const VariableId> scope, auto&&) {
    integer(scope.size(), ' ');
    for (std::size_t k = 0; k < scope.size(); ++k) integer(scope[k], k + 1 < scope.size() ? ' ' : '\n');
    flush();
  });
  LogText log_text;
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
