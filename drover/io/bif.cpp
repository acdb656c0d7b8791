#include "drover/io/bif.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "drover/io/factor_tables.hpp"
#include "drover/io/network_cycle.hpp"
#include "drover/io/number_text.hpp"
#include "drover/io/table_store.hpp"

namespace drover {

namespace {

constexpr std::string_view punctuation = "{}()[]|,;";

bool is_blank(int c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Words, quoted words and single punctuation characters; comments and white space are passed over.
class Lexer {
 public:
  explicit Lexer(TextSource& source) : source_(source) { advance(); }

  const std::string& text() const { return text_; }
  bool at_end() const { return kind_ == Kind::end; }
  bool is(char c) const { return kind_ == Kind::mark && text_[0] == c; }
  bool is_keyword(std::string_view keyword) const { return kind_ == Kind::word && text_ == keyword; }
  bool is_word() const { return kind_ == Kind::word || kind_ == Kind::quoted; }

  void advance() {
    skip_blanks();
    source_.mark();
    text_.clear();
    const int c = source_.peek();
    if (c < 0) {
      kind_ = Kind::end;
    } else if (punctuation.find(static_cast<char>(c)) != std::string_view::npos) {
      kind_ = Kind::mark;
      text_ += static_cast<char>(source_.get());
    } else if (c == '"') {
      kind_ = Kind::quoted;
      source_.get();
      while (source_.peek() >= 0 && source_.peek() != '"') append();
      if (source_.get() < 0) source_.fail("expected a closing quote, found the end of the file");
    } else {
      kind_ = Kind::word;
      while (is_word_character(source_.peek())) append();
      if (text_.empty()) source_.fail(fmt::format("expected text, found the byte {:#04x}", c));
    }
  }

  void expect(char c) {
    if (!is(c)) fail_expected(fmt::format("\"{}\"", c));
    advance();
  }
  std::string take_word(const char* what) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    if (!is_word() || std::any_of(text_.begin(), text_.end(), is_control)) fail_expected(what);
    std::string word = text_;
    advance();
    return word;
  }
  void skip_commas() {
    while (is(',')) advance();
  }

  [[noreturn]] void fail_expected(const std::string& what) const {
    if (kind_ == Kind::end) source_.fail(fmt::format("expected {}, found the end of the file", what));
    source_.fail(fmt::format("expected {}, found \"{}\"", what, printable(text_)));
  }

 private:
  enum class Kind { word, quoted, mark, end };

  static bool is_word_character(int c) {
    return c > ' ' && c != '"' && punctuation.find(static_cast<char>(c)) == std::string_view::npos;
  }

  void append() {
    text_ += static_cast<char>(source_.get());
    if (text_.size() > 65536) source_.fail("expected a name or number, found more than 65536 characters");
  }

  void skip_blanks() {
    for (;;) {
      while (is_blank(source_.peek())) source_.get();
      if (source_.peek() != '/') return;
      source_.mark();
      source_.get();
      if (source_.peek() == '/') {
        source_.skip_line();
      } else if (source_.peek() == '*') {
        source_.get();
        for (int before = 0, c = source_.get(); before != '*' || c != '/'; before = c, c = source_.get())
          if (c < 0) source_.fail("expected */ at the end of the comment, found the end of the file");
      } else {
        source_.fail("expected a comment after \"/\"");
      }
    }
  }

  TextSource& source_;
  Kind kind_ = Kind::end;
  std::string text_;
};

class BifReader {
 public:
  explicit BifReader(TextSource& source) : source_(source), lexer_(source) {}

  Model run() {
    model_.kind = ModelKind::bayes;
    if (lexer_.at_end()) lexer_.fail_expected("\"network\" or \"variable\"");
    while (!lexer_.at_end()) {
      if (lexer_.is_keyword("network")) {
        read_network();
      } else if (lexer_.is_keyword("variable")) {
        read_variable();
      } else if (lexer_.is_keyword("probability")) {
        read_probability();
      } else {
        lexer_.fail_expected("\"network\", \"variable\" or \"probability\"");
      }
    }
    for (std::size_t v = 0; v < has_table_.size(); ++v)
      if (!has_table_[v])
        fail_at({source_.name(), declared_in_line_[v]},
                fmt::format("expected a probability block for variable {}, found none",
                            model_.variable_names[v]));
    check_acyclic();
    return std::move(model_);
  }

 private:
  void check_acyclic() const {
    const std::vector<VariableId> cycle = find_cycle(parents_);
    if (cycle.empty()) return;
    std::string text = model_.variable_names[cycle[0]];
    for (std::size_t k = 1; k < cycle.size(); ++k) text += " <- " + model_.variable_names[cycle[k]];
    fail_at({source_.name(), declared_in_line_[cycle[0]]},
            fmt::format("expected a network without cycles, found {}", text));
  }

  void read_network() {
    lexer_.advance();
    if (lexer_.is_word()) model_.name = lexer_.take_word("a name");
    lexer_.expect('{');
    while (!lexer_.is('}')) skip_property();
    lexer_.advance();
  }

  void skip_property() {
    if (!lexer_.is_keyword("property")) lexer_.fail_expected("\"property\" or \"}\"");
    while (!lexer_.is(';')) {
      lexer_.advance();
      if (lexer_.at_end()) lexer_.fail_expected("\";\" after the property");
    }
    lexer_.advance();
  }

  void read_variable() {
    const std::uint64_t line = source_.line();
    lexer_.advance();
    if (lexer_.is_word() && numbers_.contains(lexer_.text()))
      lexer_.fail_expected("a new name for a variable");
    const std::string name = lexer_.take_word("the name of a variable");
    lexer_.expect('{');
    std::vector<std::string> states;
    while (!lexer_.is('}')) {
      if (!lexer_.is_keyword("type")) {
        skip_property();
        continue;
      }
      if (!states.empty()) lexer_.fail_expected("one type for the variable");
      lexer_.advance();
      if (!lexer_.is_keyword("discrete")) lexer_.fail_expected("\"discrete\"");
      lexer_.advance();
      read_states(states);
    }
    if (states.empty()) lexer_.fail_expected("\"type discrete\" for variable " + name);
    lexer_.advance();
    numbers_.emplace(name, static_cast<VariableId>(model_.variable_count()));
    model_.cardinalities.push_back(static_cast<std::uint32_t>(states.size()));
    model_.variable_names.push_back(name);
    model_.state_names.push_back(std::move(states));
    has_table_.push_back(false);
    parents_.emplace_back();
    declared_in_line_.push_back(line);
  }

  void read_states(std::vector<std::string>& states) {
    lexer_.expect('[');
    const std::string& claimed = lexer_.text();
    std::size_t count = 0;
    const char* end = claimed.data() + claimed.size();
    const auto [stop, error] = std::from_chars(claimed.data(), end, count);
    if (!lexer_.is_word() || stop != end || error != std::errc())
      lexer_.fail_expected("the number of states");
    if (count == 0 || count > max_cardinality)
      lexer_.fail_expected(fmt::format("1 to {} states", max_cardinality));
    lexer_.advance();
    lexer_.expect(']');
    lexer_.expect('{');
    while (lexer_.is_word()) {
      if (states.size() == count) lexer_.fail_expected(fmt::format("{} states", count));
      states.push_back(lexer_.take_word("a state"));
      lexer_.skip_commas();
    }
    if (states.size() != count) lexer_.fail_expected(fmt::format("{} states", count));
    std::vector<std::string> sorted = states;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) lexer_.fail_expected(fmt::format("distinct states, not \"{}\" twice", *twice));
    lexer_.expect('}');
    lexer_.expect(';');
  }

  VariableId take_variable(const char* what) {
    if (!lexer_.is_word()) lexer_.fail_expected(what);
    const auto found = numbers_.find(lexer_.text());
    if (found == numbers_.end()) lexer_.fail_expected(fmt::format("{} that was declared", what));
    lexer_.advance();
    return found->second;
  }

  void read_probability() {
    const std::uint64_t line = source_.line();
    lexer_.advance();
    lexer_.expect('(');
    const std::string child_name = lexer_.text();
    const VariableId child = take_variable("a variable");
    if (has_table_[child])
      fail_at({source_.name(), line},
              fmt::format("expected one probability block for variable {}, found a second", child_name));
    has_table_[child] = true;
    scope_.clear();
    if (lexer_.is('|')) lexer_.advance();
    while (lexer_.is_word()) {
      scope_.push_back(take_variable("a parent"));
      lexer_.skip_commas();
    }
    parents_[child] = scope_;
    scope_.push_back(child);
    check_distinct(source_, scope_);
    lexer_.expect(')');
    const std::size_t entries = table_entries(source_, model_.cardinalities, scope_);
    budget_.take(source_, entries);
    lexer_.expect('{');
    read_body(child, entries);
    check_filled(child_name, line);
    check_sums(child);
    if (scope_.size() == 1) {
      model_.unaries.add(child, values_);
    } else {
      model_.tables.log_values.insert(model_.tables.log_values.end(), values_.begin(), values_.end());
      model_.tables.add_factor(scope_, ties_.close_table(model_.tables));
    }
  }

  // Fills values_, last variable of scope_ (the child) fastest; NaN stands for what was not given.
  void read_body(VariableId child, std::size_t entries) {
    const std::size_t states = model_.cardinalities[child];
    values_.assign(entries, std::numeric_limits<double>::quiet_NaN());
    std::vector<double> row;
    std::vector<double> fallback;
    while (!lexer_.is('}')) {
      if (lexer_.is_keyword("property")) {
        skip_property();
      } else if (lexer_.is_keyword("table")) {
        lexer_.advance();
        read_numbers(row, entries);
        for (std::size_t e = 0; e < entries; ++e)
          put(e % (entries / states) * states + e / (entries / states), row[e]);
        finish_numbers();
      } else if (lexer_.is_keyword("default")) {
        if (!fallback.empty()) lexer_.fail_expected("one default");
        lexer_.advance();
        read_numbers(fallback, states);
        finish_numbers();
      } else if (lexer_.is('(')) {
        lexer_.advance();
        const std::size_t begin = read_parent_states() * states;
        read_numbers(row, states);
        for (std::size_t k = 0; k < states; ++k) put(begin + k, row[k]);
        finish_numbers();
      } else {
        lexer_.fail_expected("\"table\", \"default\", a row \"(\", or \"}\"");
      }
    }
    lexer_.advance();
    if (!fallback.empty())
      for (std::size_t e = 0; e < entries; ++e)
        if (std::isnan(values_[e])) values_[e] = fallback[e % states];
  }

  void put(std::size_t entry, double value) {
    if (!std::isnan(values_[entry])) lexer_.fail_expected("each row once; the row before was given twice");
    values_[entry] = value;
  }

  std::size_t read_parent_states() {
    std::size_t index = 0;
    for (std::size_t k = 0; k + 1 < scope_.size(); ++k) {
      const auto& names = model_.state_names[scope_[k]];
      if (!lexer_.is_word()) lexer_.fail_expected("a state of " + model_.variable_names[scope_[k]]);
      const auto found = std::find(names.begin(), names.end(), lexer_.text());
      if (found == names.end()) lexer_.fail_expected("a state of " + model_.variable_names[scope_[k]]);
      index = index * names.size() + static_cast<std::size_t>(found - names.begin());
      lexer_.advance();
      lexer_.skip_commas();
    }
    lexer_.expect(')');
    return index;
  }

  void read_numbers(std::vector<double>& logs, std::size_t count) {
    logs.clear();
    while (lexer_.is_word()) {
      if (logs.size() == count) lexer_.fail_expected(fmt::format("\";\" after {} probabilities", count));
      logs.push_back(take_log());
      lexer_.skip_commas();
    }
    if (logs.size() != count || !lexer_.is(';'))
      lexer_.fail_expected(fmt::format("{} probabilities and \";\"", count));
  }
  void finish_numbers() { lexer_.expect(';'); }

  double take_log() {
    double value = 0;
    if (!parse_log(lexer_.text(), value)) lexer_.fail_expected("a probability (a finite number >= 0)");
    lexer_.advance();
    return value;
  }

  void check_filled(const std::string& child, std::uint64_t line) const {
    bool possible = false;
    for (double value : values_) {
      if (std::isnan(value))
        fail_at(
            {source_.name(), line},
            fmt::format("expected a row for every state of the parents of {}, found some missing", child));
      possible |= value != log_zero;
    }
    if (!possible)
      fail_at({source_.name(), line},
              fmt::format("expected a positive probability for {}, found only zeros", child));
  }

  // Rounded rows are usual; a row that is far from a distribution is worth a word.
  void check_sums(VariableId child) {
    const std::size_t states = model_.cardinalities[child];
    for (std::size_t begin = 0; begin < values_.size(); begin += states) {
      double sum = 0;
      for (std::size_t k = 0; k < states; ++k) sum += std::exp(values_[begin + k]);
      if (std::abs(sum - 1) < 1e-3) continue;
      model_.warnings.push_back(
          fmt::format("the probabilities of {} do not sum to 1 (one row sums to {:.6g})",
                      model_.variable_names[child], sum));
      return;
    }
  }

  TextSource& source_;
  Lexer lexer_;
  Model model_;
  TableTies ties_;
  EntryBudget budget_;
  std::unordered_map<std::string, VariableId> numbers_;
  std::vector<bool> has_table_;
  std::vector<std::vector<VariableId>> parents_;
  std::vector<std::uint64_t> declared_in_line_;
  std::vector<VariableId> scope_;
  std::vector<double> values_;
};

class BifWriter {
 public:
  BifWriter(const Model& model, AtomicFile& file) : model_(model), file_(file) {}

  void run() {
    check();
    name_everything();
    file_.write(fmt::format("network {} {{\n}}\n", word(model_.name.empty() ? "unknown" : model_.name)));
    for (std::size_t v = 0; v < model_.variable_count(); ++v) {
      file_.write(
          fmt::format("variable {} {{\n  type discrete [ {} ] {{ ", names_[v], model_.cardinalities[v]));
      for (std::size_t k = 0; k < states_[v].size(); ++k) file_.write((k > 0 ? ", " : "") + states_[v][k]);
      file_.write(" };\n}\n");
    }
    for (std::size_t f = 0; f < model_.unaries.size(); ++f)
      write_block({&model_.unaries.variables[f], 1}, model_.unaries.values(f));
    for (std::size_t f = 0; f < model_.tables.size(); ++f)
      write_block(model_.tables.scope(f), model_.tables.values(f));
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::misfit,
                fmt::format("cannot write {}: BIF holds Bayesian networks only, and {}", file_.name(), why));
  }

  void check() const {
    if (model_.kind != ModelKind::bayes) refuse("this model is a Markov network (.uai and .fg can hold it)");
    if (model_.log_constant != 0) refuse("this model has a constant factor");
    if (model_.spin_pairs.size() + model_.potts_pairs.size() + model_.dense_layers.size() > 0)
      refuse("this model has pair factors");
    std::vector<int> tables(model_.variable_count(), 0);
    for (VariableId v : model_.unaries.variables) ++tables[v];
    for (std::size_t f = 0; f < model_.tables.size(); ++f) ++tables[model_.tables.scope(f).back()];
    for (std::size_t v = 0; v < tables.size(); ++v)
      if (tables[v] != 1)
        refuse(fmt::format("variable {} has {} tables", model_.variable_name(static_cast<VariableId>(v)),
                           tables[v]));
  }

  // A name that the lexer reads as one word, quoted if need be.
  std::string word(const std::string& name) const {
    if (name.find('"') != std::string::npos) refuse(fmt::format("the name {} has a quote", name));
    const bool plain = !name.empty() && name[0] != '/' && std::all_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) > ' ' && punctuation.find(c) == std::string_view::npos;
    });
    return plain ? name : '"' + name + '"';
  }

  void name_everything() {
    for (std::size_t v = 0; v < model_.variable_count(); ++v) {
      const auto id = static_cast<VariableId>(v);
      names_.push_back(model_.variable_names.empty() ? fmt::format("x{}", v)
                                                     : word(model_.variable_name(id)));
      auto& states = states_.emplace_back();
      for (std::uint32_t k = 0; k < model_.cardinalities[v]; ++k)
        states.push_back(word(model_.state_name(id, static_cast<Value>(k))));
    }
  }

  void write_block(std::span<const VariableId> scope, std::span<const double> values) {
    const VariableId child = scope.back();
    const std::size_t states = model_.cardinalities[child];
    std::string text = fmt::format("probability ( {}", names_[child]);
    for (std::size_t k = 0; k + 1 < scope.size(); ++k) text += (k == 0 ? " | " : ", ") + names_[scope[k]];
    text += " ) {\n";
    std::vector<std::uint32_t> parents(scope.size() - 1, 0);
    for (std::size_t begin = 0; begin < values.size(); begin += states) {
      text += scope.size() == 1 ? "  table " : "  (";
      for (std::size_t k = 0; k < parents.size(); ++k) {
        text += (k > 0 ? ", " : "") + states_[scope[k]][parents[k]];
        if (k + 1 == parents.size()) text += ") ";
      }
      for (std::size_t k = 0; k < states; ++k) {
        const std::string_view number = log_text_(values[begin + k]);
        if (number.empty()) fail_out_of_range(model_, file_.name(), scope, values[begin + k]);
        if (k > 0) text += ", ";
        text += number;
      }
      text += ";\n";
      for (std::size_t k = parents.size(); k-- > 0;) {
        if (++parents[k] < model_.cardinalities[scope[k]]) break;
        parents[k] = 0;
      }
      file_.write(text);
      text.clear();
    }
    file_.write("}\n");
  }

  const Model& model_;
  AtomicFile& file_;
  LogText log_text_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> states_;
};

}  // namespace

Model read_bif(TextSource& source) {
  return BifReader(source).run();
}

void write_bif(const Model& model, AtomicFile& file) {
  BifWriter(model, file).run();
}

}  // namespace drover
