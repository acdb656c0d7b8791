#include "drover/io/fg.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/io/factor_tables.hpp"
#include "drover/io/number_text.hpp"
#include "drover/io/table_store.hpp"

namespace drover {

namespace {

// For every entry in file order (first variable fastest) its place in a table with the last variable fastest.
class Reorder {
 public:
  explicit Reorder(std::span<const std::uint32_t> states) : strides_(states.size()), states_(states) {
    std::size_t stride = 1;
    for (std::size_t k = states.size(); k-- > 0;) {
      strides_[k] = stride;
      stride *= states[k];
    }
  }
  std::size_t operator()(std::size_t index) const {
    std::size_t place = 0;
    for (std::size_t k = 0; k < states_.size(); ++k) {
      place += index % states_[k] * strides_[k];
      index /= states_[k];
    }
    return place;
  }

 private:
  std::vector<std::size_t> strides_;
  std::span<const std::uint32_t> states_;
};

class FgReader {
 public:
  explicit FgReader(TextSource& source) : source_(source) {}

  Model run() {
    const std::uint64_t factors = count("the number of factors", no_variable - 1);
    for (std::uint64_t f = 0; f < factors; ++f) read_factor(f);
    while (next()) source_.fail_expected("the end of the file");
    if (!model_.cardinalities.empty())
      check_highest_variable(source_, model_.cardinalities.size() - 1, factors);
    for (std::uint32_t& states : model_.cardinalities)
      if (states == 0) states = 1;
    return std::move(model_);
  }

 private:
  bool next() {
    while (source_.next_token()) {
      if (source_.token().front() != '#') return true;
      source_.skip_line();
    }
    return false;
  }
  std::uint64_t count(const char* what, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    next();
    return source_.token_as_count(what, limit);
  }

  void read_factor(std::uint64_t factor) {
    const std::uint64_t arity = count("the number of variables of a factor", no_variable - 1);
    scope_.clear();
    states_.clear();
    for (std::uint64_t k = 0; k < arity; ++k) {
      const std::uint64_t label = count("a variable number", no_variable - 1);
      // The array of cardinalities grows at once, so a slip must not pass even for a moment.
      const std::uint64_t limit =
          std::max(std::uint64_t{1} << 26, 2 * std::max(source_.consumed(), source_.size_hint()));
      if (label >= limit) source_.fail_expected(fmt::format("a variable number below {}", limit));
      scope_.push_back(static_cast<VariableId>(label));
    }
    check_distinct(source_, scope_);
    for (VariableId v : scope_) states_.push_back(read_states(v));
    const std::size_t entries = table_entries(source_, model_.cardinalities, scope_);
    budget_.take(source_, entries);
    const std::uint64_t listed = count("the number of entries that are not zero");
    if (listed > entries)
      source_.fail_expected(fmt::format("at most {} entries for factor {}", entries, factor));

    if (arity == 1) {
      read_values(factor, listed, entries, model_.unaries.log_values);
      model_.unaries.variables.push_back(scope_[0]);
      model_.unaries.offsets.push_back(model_.unaries.log_values.size());
      return;
    }
    std::vector<double>& values = model_.tables.log_values;
    read_values(factor, listed, entries, values);
    if (arity == 0) {
      model_.log_constant += values.back();
      values.pop_back();
    } else {
      model_.tables.add_factor(scope_, ties_.close_table(model_.tables));
    }
  }

  /// Appends the table of a factor.
  template <class Array>
  void read_values(std::size_t factor, std::uint64_t listed, std::size_t entries, Array& values) {
    const std::size_t begin = values.size();
    values.resize(begin + entries, std::numeric_limits<double>::quiet_NaN());  // NaN: not listed yet
    const bool possible = read_entries(listed, values.data() + begin, entries);
    if (!possible)
      source_.fail(
          fmt::format("expected a positive entry in factor {} (counted from 0), found only zeros", factor));
  }

  std::uint32_t read_states(VariableId v) {
    const std::uint64_t states = count("the number of states of a variable", max_cardinality);
    if (states == 0) source_.fail_expected("at least 1 state");
    if (v >= model_.cardinalities.size()) model_.cardinalities.resize(std::size_t{v} + 1, 0);
    std::uint32_t& known = model_.cardinalities[v];
    if (known != 0 && known != states)
      source_.fail_expected(fmt::format("{} states for variable {} as before", known, v));
    known = static_cast<std::uint32_t>(states);
    return known;
  }

  // Fills one table; returns whether any entry is positive.
  bool read_entries(std::uint64_t listed, double* values, std::size_t entries) {
    const Reorder reorder(states_);
    bool possible = false;
    for (std::uint64_t e = 0; e < listed; ++e) {
      const std::uint64_t index = count("the index of an entry");
      if (index >= entries) source_.fail_expected(fmt::format("an index from 0 to {}", entries - 1));
      double& value = values[reorder(index)];
      if (!std::isnan(value)) source_.fail_expected("an index that has not been given before");
      next();
      value = source_.token_as_log("a table entry");
      possible |= value != log_zero;
    }
    if (listed < entries)
      for (std::size_t e = 0; e < entries; ++e)
        if (std::isnan(values[e])) values[e] = log_zero;
    return possible;
  }

  TextSource& source_;
  Model model_;
  TableTies ties_;
  EntryBudget budget_;
  std::vector<VariableId> scope_;
  std::vector<std::uint32_t> states_;
};

}  // namespace

Model read_fg(TextSource& source) {
  return FgReader(source).run();
}

void write_fg(const Model& model, AtomicFile& file) {
  std::vector<bool> used(model.variable_count(), false);
  visit_factors(model, [&](std::span<const VariableId> scope, auto&&) {
    for (VariableId v : scope) used[v] = true;
  });
  std::vector<VariableId> unused;  // of these, the last variable must be named even with one state
  for (std::size_t v = 0; v < used.size(); ++v)
    if (!used[v] && (model.cardinalities[v] > 1 || v + 1 == used.size()))
      unused.push_back(static_cast<VariableId>(v));

  LogText log_text;
  std::string text;
  const auto put = [&](std::span<const VariableId> scope, std::span<const double> values) {
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("\n{}\n"), scope.size());
    std::vector<std::uint32_t> states;
    for (VariableId v : scope) states.push_back(model.cardinalities[v]);
    for (VariableId v : scope) fmt::format_to(std::back_inserter(text), FMT_COMPILE("{} "), v);
    text += '\n';
    for (std::uint32_t k : states) fmt::format_to(std::back_inserter(text), FMT_COMPILE("{} "), k);
    const auto zeros = std::count(values.begin(), values.end(), log_zero);
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("\n{}\n"),
                   values.size() - static_cast<std::size_t>(zeros));
    const Reorder reorder(states);
    for (std::size_t e = 0; e < values.size(); ++e) {
      const double value = values[reorder(e)];
      if (value == log_zero) continue;
      const std::string_view number = log_text(value);
      if (number.empty()) fail_out_of_range(model, file.name(), scope, value);
      fmt::format_to(std::back_inserter(text), FMT_COMPILE("{} {}\n"), e, number);
      if (text.size() > 65536) {
        file.write(text);
        text.clear();
      }
    }
    file.write(text);
    text.clear();
  };

  const std::vector<double> constants = split_constant(model.log_constant);
  text = fmt::format("{}\n", constants.size() + count_factor_tables(model) + unused.size());
  for (const double& constant : constants) put({}, {&constant, 1});
  std::vector<double> buffer;
  visit_factors(
      model, [&](std::span<const VariableId> scope, auto&& values_into) { put(scope, values_into(buffer)); });
  for (const VariableId& v : unused) put({&v, 1}, std::vector<double>(model.cardinalities[v], 0.0));
  file.write(text);
}

}  // namespace drover
