#include "drover/io/data_table.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/text_source.hpp"

namespace drover {

namespace {

constexpr std::size_t most_states = 256;

bool parse_number(std::string_view text, double& number) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && code == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

/// A column as its distinct cells and, per row, which of them.
struct Column {
  std::string name;
  std::vector<std::string> cells;
  std::vector<std::uint32_t> rows;

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
};

double threshold_of(const Column& column, std::span<const double> numbers, const std::string& rule) {
  if (rule == "mean") {
    double sum = 0;
    for (std::uint32_t cell : column.rows) sum += numbers[cell];
    return sum / static_cast<double>(column.rows.size());
  }
  if (rule == "median") {
    std::vector<double> all;
    for (std::uint32_t cell : column.rows) all.push_back(numbers[cell]);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    if (all.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(all.begin(), middle)) / 2;
  }
  double number = 0;
  if (!parse_number(rule, number))
    throw Error(ErrorKind::usage,
                fmt::format("--binarise {}: expected mean, median, none or a number", rule));
  return number;
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

Coded code(const std::string& file, const Column& column, const std::string& binarise) {
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
  if (binarise.empty())
    fail_at({file}, fmt::format("column {} has numbers other than 0 and 1; choose --binarise mean, median, a "
                                "number, or none (every number is a state)",
                                column.name));
  if (binarise == "none") {
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
    return as_states(file, column, order);
  }
  const double threshold = threshold_of(column, numbers, binarise);
  for (double x : numbers)
    coded.value_of_cell.push_back((binarise == "median" ? x > threshold : x >= threshold) ? 1 : 0);
  return coded;
}

/// Which columns are wanted: all, or those of the option.
std::vector<std::size_t> chosen_columns(const std::vector<std::string>& names, const std::string& text) {
  std::vector<std::size_t> chosen;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    const auto named = std::find(names.begin(), names.end(), word);
    std::size_t number = static_cast<std::size_t>(named - names.begin());
    if (named == names.end()) {
      const auto [stop, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (word.empty() || problem != std::errc() || stop != word.data() + word.size() ||
          number >= names.size())
        throw Error(ErrorKind::usage,
                    fmt::format("--columns: no column {} (there are {})", word, names.size()));
    }
    if (std::find(chosen.begin(), chosen.end(), number) != chosen.end())
      throw Error(ErrorKind::usage, fmt::format("--columns: {} is there twice", word));
    chosen.push_back(number);
  }
  if (text.empty()) {
    chosen.resize(names.size());
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  return chosen;
}

/// `column_at(c)` gives the columns one at a time, so that large tables are held once.
template <class ColumnAt>
DataTable assemble(const std::string& file, const std::vector<std::string>& names, std::size_t rows,
                   const DataOptions& options, ColumnAt column_at) {
  if (rows == 0 || names.empty()) fail_at({file}, "expected a table with at least one row and one column");
  const std::vector<std::size_t> chosen = chosen_columns(names, options.columns);
  DataTable table;
  table.rows = rows;
  table.values.resize(rows * chosen.size());
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    const Column column = column_at(chosen[v]);
    const Coded coded = code(file, column, options.binarise);
    if (coded.state_names.size() < 2 && !options.constant_columns)
      fail_at({file}, fmt::format("column {} has the one value {} only; leave it out with --columns",
                                  column.name, printable(column.cells.front())));
    for (std::size_t r = 0; r < rows; ++r)
      table.values[r * chosen.size() + v] = coded.value_of_cell[column.rows[r]];
    table.names.push_back(names[chosen[v]]);
    table.cardinalities.push_back(static_cast<std::uint32_t>(coded.state_names.size()));
    table.state_names.push_back(coded.state_names);
  }
  return table;
}

/// Numbers of one column, their distinct values as cells.
template <class NumberAt>
Column number_column(const std::string& name, std::size_t rows, NumberAt number_at) {
  Column column{name, {}, {}};
  column.rows.reserve(rows);
  std::unordered_map<double, std::uint32_t> seen;
  for (std::size_t r = 0; r < rows; ++r) {
    const double number = number_at(r);
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

/// One row of cells after the other.
class RowReader {
 public:
  explicit RowReader(TextSource& source) : source_(source) {
    const std::string_view text = source.beginning();
    const std::string_view line = text.substr(0, text.find('\n'));
    for (char c : {'\t', ',', ';'})
      if (separator_ == 0 && line.find(c) != std::string_view::npos) separator_ = c;
    if (separator_ == 0) separator_ = ',';
  }

  /// False at the end of the file; blank lines are passed over.
  bool next(std::vector<std::string>& cells) {
    while (source_.peek() == '\n' || source_.peek() == '\r') source_.get();
    if (source_.peek() < 0) return false;
    cells.clear();
    do cells.push_back(cell());
    while (more_);
    return true;
  }

 private:
  std::string cell() {
    std::string text;
    while (source_.peek() == ' ') source_.get();
    source_.mark();
    const bool quoted = source_.peek() == '"';
    if (quoted) {
      source_.get();
      for (int c = source_.get();; c = source_.get()) {
        if (c < 0) source_.fail("a quote that is not closed");
        if (c == '"' && source_.peek() != '"') break;
        if (c == '"') source_.get();
        text += static_cast<char>(c);
      }
    }
    int c = source_.get();
    for (; c >= 0 && c != separator_ && c != '\n'; c = source_.get()) {
      if (quoted && c != ' ' && c != '\r') source_.fail("expected a separator after the closing quote");
      if (!quoted) text += static_cast<char>(c);
    }
    while (!quoted && !text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
    more_ = c == separator_;
    if (text.empty()) source_.fail("expected a value, found an empty cell");
    return text;
  }

  TextSource& source_;
  int separator_ = 0;
  bool more_ = false;
};

/// A header has no numbers; below it some column has nothing but numbers, or, in a table of texts, no name
/// comes again in its own column.
bool is_header(const std::vector<std::string>& first, const std::vector<Column>& columns) {
  double number = 0;
  for (const std::string& cell : first)
    if (parse_number(cell, number)) return false;
  bool comes_again = false;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (!columns[c].cells.empty() && !columns[c].numbers().empty()) return true;
    comes_again |=
        std::find(columns[c].cells.begin(), columns[c].cells.end(), first[c]) != columns[c].cells.end();
  }
  return !comes_again && !columns.front().rows.empty();
}

struct CloseFile {
  void operator()(gzFile file) const { gzclose(file); }
};
using CompressedFile = std::unique_ptr<gzFile_s, CloseFile>;

CompressedFile open_file(const std::string& path) {
  errno = 0;
  CompressedFile file(gzopen(path.c_str(), "rb"));
  if (!file)
    throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return file;
}

std::vector<std::uint8_t> whole_file(const std::string& path) {
  const CompressedFile file = open_file(path);
  std::vector<std::uint8_t> bytes;
  constexpr unsigned chunk = 1U << 20;
  for (;;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + chunk);
    const int got = gzread(file.get(), bytes.data() + size, chunk);
    if (got < 0) fail_at({path}, "damaged gzip data");
    bytes.resize(size + static_cast<std::size_t>(got));
    if (got == 0) return bytes;
  }
}

DataTable read_npz_table(const std::string& path, const DataOptions& options) {
  const DrawFile draws = read_draws(path);
  const std::size_t n = draws.variables(), rows = draws.draws * draws.chains;
  std::vector<std::string> names = draws.variable_names;
  // What has only numbers for names has none.
  bool numbered = true;
  for (std::size_t v = 0; v < n; ++v) numbered &= names[v] == std::to_string(v);
  if (numbered) names = numbered_names(n);
  return assemble(path, names, rows, options, [&](std::size_t c) {
    return number_column(names[c], rows, [&](std::size_t r) {
      const double number = std::visit(
          [&](const auto& values) { return static_cast<double>(values[r * n + c]); }, draws.values);
      if (!std::isfinite(number)) fail_at({path}, fmt::format("row {}: expected a finite number", r));
      return number;
    });
  });
}

}  // namespace

DataTable parse_text_table(TextSource& source, const DataOptions& options) {
  if (options.header != "auto" && options.header != "yes" && options.header != "no")
    throw Error(ErrorKind::usage, fmt::format("--header {}: expected auto, yes or no", options.header));
  RowReader reader(source);
  std::vector<std::string> first, cells;
  if (!reader.next(first)) fail_at({source.name()}, "expected a table, found nothing");
  std::vector<Column> columns(first.size());
  std::vector<std::unordered_map<std::string, std::uint32_t>> seen(first.size());
  const auto add = [&](const std::vector<std::string>& row) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto [at, is_new] =
          seen[c].try_emplace(row[c], static_cast<std::uint32_t>(columns[c].cells.size()));
      if (is_new) columns[c].cells.push_back(row[c]);
      columns[c].rows.push_back(at->second);
    }
  };
  while (reader.next(cells)) {
    if (cells.size() != first.size())
      source.fail(fmt::format("expected {} columns, found {}", first.size(), cells.size()));
    add(cells);
  }
  std::vector<std::string> names = numbered_names(first.size());
  if (options.header == "yes" || (options.header == "auto" && is_header(first, columns)))
    names = first;
  else
    add(first);  // the order of rows means nothing to moments
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].name = names[c];
  return assemble(source.name(), names, columns.front().rows.size(), options,
                  [&](std::size_t c) { return std::move(columns[c]); });
}

DataTable parse_idx_table(std::span<const std::uint8_t> bytes, const std::string& file,
                          const DataOptions& options) {
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
  return assemble(file, names, rows, options, [&](std::size_t c) {
    return number_column(names[c], rows,
                         [&](std::size_t r) { return static_cast<double>(bytes[data + r * columns + c]); });
  });
}

std::string first_bytes(const std::string& path, std::size_t count) {
  const CompressedFile file = open_file(path);
  std::string bytes(count, '\0');
  const int got = gzread(file.get(), bytes.data(), static_cast<unsigned>(count));
  if (got < 0) throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}", path));
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

DataTable read_data_table(const std::string& path, const DataOptions& options) {
  const std::string start = first_bytes(path, 4);
  if (start.substr(0, 2) == "PK") return read_npz_table(path, options);
  if (start.size() == 4 && start.substr(0, 3) == std::string("\0\0\x08", 3))
    return parse_idx_table(whole_file(path), path, options);
  TextSource source(path);
  return parse_text_table(source, options);
}

}  // namespace drover
