#include "drover/io/data_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/row_reader.hpp"
#include "drover/io/text_source.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

template <>
struct ChoiceNames<Binarise> {  // a threshold is written as its number
  static constexpr std::array names = {std::pair{Binarise::mean, std::string_view("mean")},
                                       std::pair{Binarise::median, std::string_view("median")},
                                       std::pair{Binarise::none, std::string_view("none")}};
};

namespace {

constexpr std::size_t most_states = 256;

bool parse_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && code == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

constexpr std::uint32_t missing_cell = 0xFFFFFFFF;

/// A column as its distinct cells and, per row, which of them (or missing_cell).
struct Column {
  std::string name;
  std::vector<std::string> cells;
  std::vector<std::uint32_t> rows;
  Place missing_at{};  ///< the first one; its file is empty when nothing is missing
  std::string missing_text{};

  bool lacks_values() const { return !missing_at.file.empty(); }
  void note_missing(Place place, std::string_view text) {
    if (lacks_values()) return;
    missing_at = std::move(place);
    missing_text = text;
  }

  /// The cells as numbers; empty when one is not.
  std::vector<double> numbers() const {
    std::vector<double> result(cells.size());
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (!parse_number(cells[k], result[k])) return {};
    return result;
  }
};

struct Coded {
  std::vector<Value> value_of_cell;
  std::vector<std::string> state_names;
  Value missing = 0;
};

double threshold_of(const Column& column, std::span<const double> numbers, const DataOptions& options) {
  if (options.binarise == Binarise::threshold) return options.threshold;
  std::vector<double> all;
  for (std::uint32_t cell : column.rows)
    if (cell != missing_cell) all.push_back(numbers[cell]);
  if (options.binarise == Binarise::mean)
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  if (all.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(all.begin(), middle)) / 2;
}

Coded as_states(const std::string& file, const Column& column, const std::vector<std::size_t>& order) {
  if (column.cells.size() > most_states)
    fail_at({file}, fmt::format("column {} has {} different values; at most {} can be states of a variable",
                                column.name, column.cells.size(), most_states));
  Coded coded{std::vector<Value>(order.size()), {}};
  for (std::size_t k = 0; k < order.size(); ++k) {
    coded.value_of_cell[order[k]] = static_cast<Value>(k);
    coded.state_names.push_back(column.cells[order[k]]);
  }
  return coded;
}

Coded code_values(const std::string& file, const Column& column, const DataOptions& options) {
  std::vector<std::size_t> order(column.cells.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<double> numbers = column.numbers();
  if (numbers.empty()) {
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return column.cells[a] < column.cells[b]; });
    return as_states(file, column, order);
  }
  Coded coded{{}, {"0", "1"}};
  if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0 || x == 1; })) {
    for (double x : numbers) coded.value_of_cell.push_back(x == 1 ? 1 : 0);
    return coded;
  }
  if (!options.binarise)
    fail_at({file}, fmt::format("column {} has numbers other than 0 and 1; choose binarise: mean, median, a "
                                "number, or none (every number is a state)",
                                column.name));
  if (options.binarise == Binarise::none) {
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
    return as_states(file, column, order);
  }
  const double threshold = threshold_of(column, numbers, options);
  for (double x : numbers)
    coded.value_of_cell.push_back(
        (options.binarise == Binarise::median ? x > threshold : x >= threshold) ? 1 : 0);
  return coded;
}

Coded code(const std::string& file, const Column& column, const DataOptions& options) {
  Coded coded = code_values(file, column, options);
  if (!column.lacks_values()) return coded;
  if (options.missing == Missing::error)
    fail_at(column.missing_at,
            fmt::format("expected a value in column {}, found {}; choose missing: drop (leaves such rows "
                        "out) or state (missing is a state of its own)",
                        column.name,
                        column.missing_text.empty() ? "an empty cell" : printable(column.missing_text)));
  const auto named = std::ranges::find(coded.state_names, "missing");
  coded.missing = static_cast<Value>(named - coded.state_names.begin());
  if (named == coded.state_names.end()) coded.state_names.emplace_back("missing");
  return coded;
}

/// Without the rows that are dropped, and without the cells that occurred only there.
Column kept_part(const Column& column, const std::vector<bool>& dropped) {
  Column kept{column.name, {}, {}};
  std::vector<std::uint32_t> new_cell(column.cells.size(), missing_cell);
  for (std::size_t r = 0; r < column.rows.size(); ++r) {
    if (dropped[r]) continue;
    std::uint32_t& cell = new_cell[column.rows[r]];
    if (cell == missing_cell) {
      cell = static_cast<std::uint32_t>(kept.cells.size());
      kept.cells.push_back(column.cells[column.rows[r]]);
    }
    kept.rows.push_back(cell);
  }
  return kept;
}

/// The place of a column that is named, or numbered.
std::size_t find_column(const std::vector<std::string>& names, const std::string& word) {
  const auto named = std::ranges::find(names, word);
  if (named != names.end()) {
    if (std::find(named + 1, names.end(), word) != names.end())
      throw OptionError("columns", word, "the number of a column: several have this name");
    return static_cast<std::size_t>(named - names.begin());
  }
  std::size_t number = 0;
  const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (!word.empty() && problem == std::errc() && stop == word.data() + word.size() && number < names.size())
    return number;
  std::vector<const char*> candidates;
  for (const std::string& name : names) candidates.push_back(name.c_str());
  const std::string near = nearest_name(word, candidates.data(), candidates.size());
  throw OptionError("columns", word,
                    fmt::format("one of the {}, by name or number: there is no column {}{}",
                                counted(names.size(), "column"), word,
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

/// `column_at(c)` gives the columns one at a time, so that large tables are held once.
template <class ColumnAt>
DataTable assemble(const std::string& file, const std::vector<std::string>& names, std::size_t rows,
                   const DataOptions& options, const RunControl& control, ColumnAt column_at) {
  if (rows == 0 || names.empty()) fail_at({file}, "expected a table with at least one row and one column");
  const std::vector<std::size_t> chosen = chosen_columns(file, names, options.columns);
  DataTable table;
  table.source = file;
  std::vector<bool> dropped;
  if (options.missing == Missing::drop) {
    dropped.assign(rows, false);
    for (std::size_t c : chosen) {
      const Column& column = column_at(c);
      for (std::size_t r = 0; column.lacks_values() && r < rows; ++r)
        if (column.rows[r] == missing_cell) dropped[r] = true;
    }
    table.dropped = static_cast<std::size_t>(std::ranges::count(dropped, true));
    if (table.dropped == rows) fail_at({file}, "every row lacks a value, so none is left");
  }
  table.rows = rows - table.dropped;
  table.values.resize(table.rows * chosen.size());
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    fail_if_stopped(control, "reading the data");
    const Column& whole = column_at(chosen[v]);
    const Column& column = table.dropped > 0 ? kept_part(whole, dropped) : whole;
    const Coded coded = code(file, column, options);
    if (coded.state_names.size() < 2 && !options.constant_columns)
      fail_at({file}, fmt::format("column {} has the one value {} only; leave it out", column.name,
                                  printable(coded.state_names.front())));
    for (std::size_t r = 0; r < table.rows; ++r)
      table.values[r * chosen.size() + v] =
          column.rows[r] == missing_cell ? coded.missing : coded.value_of_cell[column.rows[r]];
    table.names.push_back(names[chosen[v]]);
    table.cardinalities.push_back(static_cast<std::uint32_t>(coded.state_names.size()));
    table.state_names.push_back(coded.state_names);
  }
  return table;
}

/// Numbers of one column, their distinct values as cells.
template <class NumberAt>
Column number_column(const std::string& file, const std::string& name, std::size_t rows, NumberAt number_at) {
  Column column{name, {}, {}};
  column.rows.reserve(rows);
  std::unordered_map<double, std::uint32_t> seen;
  for (std::size_t r = 0; r < rows; ++r) {
    const double number = number_at(r);
    if (std::isnan(number)) {
      column.note_missing({file}, fmt::format("NaN in row {} (from 0)", r));
      column.rows.push_back(missing_cell);
      continue;
    }
    const auto [at, is_new] = seen.try_emplace(number, static_cast<std::uint32_t>(column.cells.size()));
    if (is_new) column.cells.push_back(fmt::format("{}", number));
    column.rows.push_back(at->second);
  }
  return column;
}

std::vector<std::string> numbered_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < count; ++c) names.push_back("x" + std::to_string(c));
  return names;
}

/// A header has no numbers and no name twice unless there are numbers below it; in a table of texts, no name
/// comes again in its own column.
bool is_header(const std::vector<Cell>& first, const std::vector<Column>& columns) {
  double number = 0;
  for (const Cell& cell : first)
    if (parse_number(cell.text, number)) return false;
  bool repeats = false;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (!columns[c].cells.empty() && !columns[c].numbers().empty()) return true;
    repeats |= std::ranges::find(columns[c].cells, first[c].text) != columns[c].cells.end();
    for (std::size_t d = 0; d < c; ++d) repeats |= first[c].text == first[d].text;
  }
  return !repeats;
}

DataTable read_npz_table(const std::string& path, const DataOptions& options, const RunControl& control) {
  const DrawFile draws = read_draws(path, control);
  const std::size_t n = draws.variables(), rows = draws.draws * draws.chains;
  std::vector<std::string> names = draws.variable_names;
  // What has only numbers for names has none.
  bool numbered = true;
  for (std::size_t v = 0; v < n; ++v) numbered &= names[v] == std::to_string(v);
  if (numbered) names = numbered_names(n);
  return assemble(path, names, rows, options, control, [&](std::size_t c) {
    return number_column(path, names[c], rows, [&](std::size_t r) {
      const double number = std::visit(
          [&](const auto& values) { return static_cast<double>(values[r * n + c]); }, draws.values);
      if (std::isinf(number))
        fail_at({path}, fmt::format("row {} (from 0), column {}: expected a finite number", r, names[c]));
      return number;
    });
  });
}

void set_binarise(DataOptions& options, std::string_view text) {
  if (const auto named = choice_named<Binarise>(text)) {
    options.binarise = named;
    return;
  }
  if (!parse_number(text, options.threshold))
    throw OptionError("binarise", std::string(text), "mean, median, none or a number");
  options.binarise = Binarise::threshold;
}

std::string binarise_text(const DataOptions& options) {
  if (!options.binarise) return "";
  if (*options.binarise == Binarise::threshold) return fmt::format("{}", options.threshold);
  return std::string(choice_name(*options.binarise));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

std::vector<std::size_t> chosen_columns(const std::string& file, const std::vector<std::string>& names,
                                        const std::vector<std::string>& words) {
  std::vector<std::size_t> chosen;
  for (const std::string& word : words) {
    const std::size_t number = find_column(names, word);
    if (std::ranges::find(chosen, number) != chosen.end())
      throw OptionError("columns", word, "every column once");
    chosen.push_back(number);
  }
  if (words.empty()) {
    chosen.resize(names.size());
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t c : chosen) {
    const auto [before, is_new] = seen.try_emplace(names[c], c);
    if (!is_new)
      fail_at({file}, fmt::format("columns {} and {} (from 0) have the same name {}", before->second, c,
                                  printable(names[c])));
  }
  return chosen;
}

void describe(OptionList& list, DataOptions& options) {
  list.add_syntax("binarise", "AT",
                  "numbers other than 0 and 1 become 0 and 1 at mean, median or a number; none: every number "
                  "is a state",
                  {[&options](std::string_view text) { set_binarise(options, text); },
                   [&options] { return binarise_text(options); }},
                  "such numbers are refused");
  list.add_syntax("columns", "NAME,...", "only these columns of the data, by name or number",
                  {[&options](std::string_view text) { options.columns = split_list(text); },
                   [&options] { return fmt::format("{}", fmt::join(options.columns, ",")); }},
                  "all");
  list.add_choice("header", "WHETHER", "whether a text table has a header: auto, yes or no", options.header);
  list.add_choice("missing", "WHAT",
                  "what becomes of missing values (empty, NA, NaN, null, ?): error; drop leaves such rows "
                  "out; state makes missing a state of its own",
                  options.missing);
}

DataTable parse_text_table(TextSource& source, const DataOptions& options, const RunControl& control) {
  RowReader reader(source);
  std::vector<Cell> first, cells;
  if (!reader.next(first)) fail_at({source.name()}, "expected a table, found nothing");
  std::vector<Column> columns(first.size());
  std::vector<std::unordered_map<std::string, std::uint32_t>> seen(first.size());
  const auto add = [&](const std::vector<Cell>& row) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      Column& column = columns[c];
      if (row[c].missing) {
        column.note_missing(row[c].place, row[c].text);
        column.rows.push_back(missing_cell);
        continue;
      }
      const auto [at, is_new] =
          seen[c].try_emplace(row[c].text, static_cast<std::uint32_t>(column.cells.size()));
      if (is_new) column.cells.push_back(row[c].text);
      column.rows.push_back(at->second);
    }
  };
  while (reader.next(cells)) {
    if (cells.size() != first.size())
      source.fail(fmt::format("expected {} columns, found {}", first.size(), cells.size()));
    add(cells);
    if (columns.front().rows.size() % 4096 == 0) fail_if_stopped(control, "reading the data");
  }
  std::vector<std::string> names = numbered_names(first.size());
  if (options.header == Header::yes || (options.header == Header::automatic && is_header(first, columns))) {
    if (columns.front().rows.empty())
      fail_at({source.name()}, "expected rows of data below the header, found none");
    for (std::size_t c = 0; c < first.size(); ++c)
      if (!first[c].text.empty()) names[c] = first[c].text;
  } else {
    add(first);  // the order of rows means nothing to moments
  }
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].name = names[c];
  return assemble(source.name(), names, columns.front().rows.size(), options, control,
                  [&](std::size_t c) -> const Column& { return columns[c]; });
}

DataTable parse_idx_table(std::span<const std::uint8_t> bytes, const std::string& file,
                          const DataOptions& options, const RunControl& control) {
  const auto number_at = [&](std::size_t place) {
    if (place + 4 > bytes.size()) fail_at({file}, "the IDX header is truncated");
    return std::size_t{bytes[place]} << 24 | std::size_t{bytes[place + 1]} << 16 |
           std::size_t{bytes[place + 2]} << 8 | bytes[place + 3];
  };
  const std::size_t magic = number_at(0), dimensions = magic & 0xFF;
  if (magic >> 8 != 0x08 || dimensions == 0)
    fail_at({file},
            "expected an IDX file of unsigned bytes (it starts with 0 0 8 and the number of dimensions)");
  const std::size_t rows = number_at(4), data = 4 + 4 * dimensions;
  std::size_t columns = 1;
  for (std::size_t k = 1; k < dimensions; ++k) {
    columns *= number_at(4 + 4 * k);
    if (columns > bytes.size()) break;  // more than there can be; products cannot overflow
  }
  if (data > bytes.size() || rows == 0 || columns == 0 || (bytes.size() - data) / columns < rows ||
      bytes.size() - data != rows * columns)
    fail_at({file}, fmt::format("expected {} rows of {} bytes after the IDX header, found {} bytes", rows,
                                columns, bytes.size() - std::min(data, bytes.size())));
  const std::vector<std::string> names = numbered_names(columns);
  return assemble(file, names, rows, options, control, [&](std::size_t c) {
    return number_column(file, names[c], rows,
                         [&](std::size_t r) { return static_cast<double>(bytes[data + r * columns + c]); });
  });
}

DataTable read_data_table(const std::string& path, const DataOptions& options, const RunControl& control) {
  const std::string start = first_bytes(path, 4);
  if (start.substr(0, 2) == "PK") return read_npz_table(path, options, control);
  if (start.size() == 4 && start.substr(0, 3) == std::string("\0\0\x08", 3)) {
    const std::string bytes = read_whole_file(path, control);
    return parse_idx_table({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, path, options,
                           control);
  }
  TextSource source(path, control);
  return parse_text_table(source, options, control);
}

DataTable table_of_numbers(std::span<const double> numbers, const std::vector<std::string>& names,
                           const std::string& source, const DataOptions& options, const RunControl& control) {
  const std::size_t rows = names.empty() ? 0 : numbers.size() / names.size();
  return assemble(source, names, rows, options, control, [&](std::size_t c) {
    return number_column(source, names[c], rows,
                         [&](std::size_t r) { return numbers[r * names.size() + c]; });
  });
}

}  // namespace drover
