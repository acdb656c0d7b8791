#include "drover/io/coo.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "drover/io/number_text.hpp"
#include "drover/io/table_store.hpp"

namespace drover {

namespace {

// The two numbers of a pair as one key, smaller first.
std::uint64_t pair_key(VariableId i, VariableId j) {
  return (std::uint64_t{std::min(i, j)} << 32) | std::max(i, j);
}

// Positions of the pairs in the order of their keys.
std::vector<std::uint32_t> sorted_pairs(const Pairs& pairs) {
  std::vector<std::uint32_t> order(pairs.size());
  for (std::size_t f = 0; f < order.size(); ++f) order[f] = static_cast<std::uint32_t>(f);
  const auto key = [&](std::uint32_t f) { return pair_key(pairs.first[f], pairs.second[f]); };
  // Most files are sorted but for a few pairs, which merging likes.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return order;
}

bool strictly_increasing(const Pairs& pairs) {
  for (std::size_t f = 1; f < pairs.size(); ++f)
    if (pair_key(pairs.first[f - 1], pairs.second[f - 1]) >= pair_key(pairs.first[f], pairs.second[f]))
      return false;
  return true;
}

class CooReader {
 public:
  explicit CooReader(TextSource& source) : source_(source) {}

  Model run() {
    while (source_.next_token()) {
      if (source_.token().front() == '#') {
        read_comment();
        continue;
      }
      read_line();
    }
    if (lines_ == 0 && !declared_) source_.fail_expected("a line \"i j J\" or \"i h\"");
    const std::uint64_t variables = std::max(named_, declared_.value_or(0));
    if (variables > 0) check_highest_variable(source_, variables - 1, lines_);
    check_duplicates();
    model_.cardinalities.assign(variables, 2);
    return std::move(model_);
  }

 private:
  // Only "# constant c" and "# variables n" with a number and nothing more mean something.
  void read_comment() {
    std::string word(source_.token().substr(1));
    if (word.empty() && source_.next_token_on_line()) word = source_.token();
    double value = 0;
    bool whole = (word == "constant" || word == "variables") && source_.next_token_on_line();
    if (whole) {
      const std::string_view token = source_.token();
      const auto [stop, error] = std::from_chars(token.data(), token.data() + token.size(), value);
      whole = error == std::errc() && stop == token.data() + token.size();
    }
    if (whole) whole = !source_.next_token_on_line();
    source_.skip_line();
    if (!whole) return;
    if (word == "constant") {
      if (!std::isfinite(value)) source_.fail("expected a finite constant");
      model_.log_constant += value;
    } else {
      declared_ = as_variable(value, "a number of variables");
    }
  }

  std::uint64_t as_variable(double value, const char* what) const {
    if (!(value >= 0 && value < no_variable - 1 && value == std::floor(value)))
      source_.fail(fmt::format("expected {} from 0 to {}, found {}", what, no_variable - 2, value));
    return static_cast<std::uint64_t>(value);
  }

  VariableId name_variable(std::uint64_t v) {
    named_ = std::max(named_, v + 1);
    return static_cast<VariableId>(v);
  }

  bool next_word() { return source_.next_token_on_line() && source_.token().front() != '#'; }

  void read_line() {
    const auto line = static_cast<std::uint32_t>(source_.line());
    ++lines_;
    const VariableId i = name_variable(source_.token_as_count("a variable number", no_variable - 1));
    if (!next_word()) source_.fail("expected \"i j J\" or \"i h\", found the end of the line");
    // The second word is a field, or a variable when a third one follows.
    const double second = source_.token_as_number("a variable number or a field");
    if (next_word()) {
      const double value = source_.token_as_number("a coupling");
      const VariableId j = name_variable(as_variable(second, "a variable number before the coupling"));
      if (i == j) {
        add_field(i, value);
      } else {
        add_pair(i, j, value, line);
      }
      if (next_word()) source_.fail_expected("the end of the line");
    } else {
      add_field(i, second);
    }
    if (!source_.token().empty()) source_.skip_line();  // a comment
  }

  void add_pair(VariableId i, VariableId j, double coupling, std::uint32_t line) {
    SpinPairs& pairs = model_.spin_pairs;
    const auto pair = static_cast<std::uint32_t>(pairs.size());
    if (runs_.empty() || line - runs_.back().line != pair - runs_.back().pair) runs_.push_back({pair, line});
    pairs.add(i, j, coupling);
    // As many as the rest of the file holds when it goes on like this.
    if (pair == 0) first_pair_at_ = source_.consumed();
    if (pair + 1 != first_look || source_.size_hint() <= source_.consumed()) return;
    const std::uint64_t left = source_.size_hint() - source_.consumed();
    const std::uint64_t expected = pairs.size() + left * pair / (source_.consumed() - first_pair_at_);
    pairs.first.reserve(expected);
    pairs.second.reserve(expected);
    pairs.couplings.reserve(expected);
  }

  std::uint32_t line_of(std::uint32_t pair) const {
    const auto after = std::ranges::upper_bound(runs_, pair, {}, &Run::pair);
    return after[-1].line + (pair - after[-1].pair);
  }

  void add_field(VariableId i, double field) {
    Unaries& unaries = model_.unaries;
    if (unaries.size() == first_look && declared_) {
      const std::uint64_t believable = std::min(*declared_, source_.size_hint() / least_line);
      unaries.variables.reserve(believable);
      unaries.offsets.reserve(believable + 1);
      unaries.log_values.reserve(2 * believable);
    }
    const double values[2] = {-field, field};
    unaries.add(i, values);
  }

  void check_duplicates() const {
    const Pairs& pairs = model_.spin_pairs;
    if (strictly_increasing(pairs)) return;
    const auto order = sorted_pairs(pairs);
    for (std::size_t k = 1; k < order.size(); ++k) {
      const std::uint32_t a = order[k - 1], b = order[k];
      if (pair_key(pairs.first[a], pairs.second[a]) != pair_key(pairs.first[b], pairs.second[b])) continue;
      fail_at({source_.name(), line_of(b)},
              fmt::format("expected each pair once, found {} and {} again (first in line {})", pairs.first[b],
                          pairs.second[b], line_of(a)));
    }
  }

  /// After so many fields or pairs room is made for as many as there may be.
  static constexpr std::uint32_t first_look = 4096;
  static constexpr std::uint64_t least_line = 4;  ///< characters: "0 1"

  TextSource& source_;
  Model model_;
  std::uint64_t named_ = 0;
  std::optional<std::uint64_t> declared_;
  std::uint64_t lines_ = 0;
  /// Pairs in lines that follow each other, from the first of them on.
  struct Run {
    std::uint32_t pair, line;
  };
  std::vector<Run> runs_;
  std::uint64_t first_pair_at_ = 0;
};

// What is left of the model after everything is a coupling, a field or a constant.
class CooWriter {
 public:
  CooWriter(const Model& model, AtomicFile& file) : model_(model), file_(file) {}

  void run() {
    for (std::size_t v = 0; v < model_.variable_count(); ++v)
      if (model_.cardinalities[v] != 2)
        refuse(fmt::format("variable {} has {} states", model_.variable_name(static_cast<VariableId>(v)),
                           model_.cardinalities[v]));
    collect();
    if (!strictly_increasing(pairs_)) merge_pairs();
    std::string text = fmt::format(
        "# Ising model: log p(x) = sum of J s_i s_j + sum of h s_i + constant, s = 2x - 1, each pair once.\n"
        "# Lines: i j J (coupling) and i h (field); variables count from 0.\n"
        "# variables {}\n# constant {}\n",
        model_.variable_count(), std::string_view(NumberText(constant_)));
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      fmt::format_to(std::back_inserter(text), FMT_COMPILE("{} {}\n"), field_variables_[f],
                     std::string_view(NumberText(fields_[f])));
      if (text.size() > 65536) flush(text);
    }
    for (std::size_t f = 0; f < pairs_.size(); ++f) {
      fmt::format_to(std::back_inserter(text), FMT_COMPILE("{} {} {}\n"), pairs_.first[f], pairs_.second[f],
                     std::string_view(NumberText(pairs_.couplings[f])));
      if (text.size() > 65536) flush(text);
    }
    flush(text);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::misfit, fmt::format("cannot write {}: this format holds Ising models only, and {}",
                                               file_.name(), why));
  }
  void flush(std::string& text) {
    file_.write(text);
    text.clear();
  }
  void add_field(VariableId v, double field) {
    field_variables_.push_back(v);
    fields_.push_back(field);
  }

  void collect() {
    constant_ = model_.log_constant;
    for (std::size_t f = 0; f < model_.unaries.size(); ++f) {
      const VariableId v = model_.unaries.variables[f];
      const auto values = model_.unaries.values(f);
      check_positive({&v, 1}, values);
      if (values[0] == -values[1]) {
        add_field(v, values[1]);
      } else {
        add_field(v, (values[1] - values[0]) / 2);
        constant_ += (values[1] + values[0]) / 2;
      }
    }
    pairs_ = model_.spin_pairs;
    const auto& potts = model_.potts_pairs;
    for (std::size_t f = 0; f < potts.size(); ++f) {
      pairs_.add(potts.first[f], potts.second[f], potts.couplings[f] / 2);
      constant_ += potts.couplings[f] / 2;
    }
    extra_fields_.assign(model_.variable_count(), 0.0);
    for (const DenseLayer& layer : model_.dense_layers)
      for (std::uint32_t i = 0; i < layer.visible_count; ++i)
        for (std::uint32_t j = 0; j < layer.hidden_count; ++j) {
          const double weight = layer.weights[std::size_t{i} * layer.hidden_count + j];
          if (weight != 0) add_pair_table(layer.first_visible + i, layer.first_hidden + j, 0, 0, 0, weight);
        }
    for (std::size_t f = 0; f < model_.tables.size(); ++f) {
      const auto scope = model_.tables.scope(f);
      const auto t = model_.tables.values(f);
      check_positive(scope, t);
      if (scope.size() > 2)
        refuse(fmt::format("a factor has {} variables, {} among them", scope.size(),
                           model_.variable_name(scope[0])));
      if (scope.size() == 1) {
        extra_fields_[scope[0]] += (t[1] - t[0]) / 2;
        constant_ += (t[1] + t[0]) / 2;
      } else {
        add_pair_table(scope[0], scope[1], t[0], t[1], t[2], t[3]);
      }
    }
    for (std::size_t v = 0; v < extra_fields_.size(); ++v)
      if (extra_fields_[v] != 0) add_field(static_cast<VariableId>(v), extra_fields_[v]);
  }

  void check_positive(std::span<const VariableId> scope, std::span<const double> values) const {
    if (std::find(values.begin(), values.end(), log_zero) != values.end())
      refuse(fmt::format("the factor over {}{} has a zero", model_.variable_name(scope[0]),
                         scope.size() > 1 ? " and " + model_.variable_name(scope[1]) : std::string()));
  }

  // t(x_i, x_j) = constant + h_i s_i + h_j s_j + J s_i s_j
  void add_pair_table(VariableId i, VariableId j, double t00, double t01, double t10, double t11) {
    pairs_.add(i, j, ((t00 + t11) - (t01 + t10)) / 4);
    extra_fields_[i] += ((t10 + t11) - (t00 + t01)) / 4;
    extra_fields_[j] += ((t01 + t11) - (t00 + t10)) / 4;
    constant_ += ((t00 + t11) + (t01 + t10)) / 4;
  }

  // Pairs that several factors share become one; the others keep their order.
  void merge_pairs() {
    const auto order = sorted_pairs(pairs_);
    std::vector<bool> dropped(pairs_.size(), false);
    std::size_t first = 0;
    for (std::size_t k = 1; k < order.size(); ++k) {
      const std::uint32_t a = order[first], b = order[k];
      if (pair_key(pairs_.first[a], pairs_.second[a]) != pair_key(pairs_.first[b], pairs_.second[b])) {
        first = k;
        continue;
      }
      pairs_.couplings[a] += pairs_.couplings[b];
      dropped[b] = true;
    }
    Pairs kept;
    for (std::size_t f = 0; f < pairs_.size(); ++f)
      if (!dropped[f]) kept.add(pairs_.first[f], pairs_.second[f], pairs_.couplings[f]);
    pairs_ = std::move(kept);
  }

  const Model& model_;
  AtomicFile& file_;
  double constant_ = 0;
  Pairs pairs_;
  std::vector<VariableId> field_variables_;
  std::vector<double> fields_;
  std::vector<double> extra_fields_;  ///< from tables and dense layers, summed per variable
};

}  // namespace

Model read_coo(TextSource& source) {
  return CooReader(source).run();
}

void write_coo(const Model& model, AtomicFile& file) {
  CooWriter(model, file).run();
}

}  // namespace drover
