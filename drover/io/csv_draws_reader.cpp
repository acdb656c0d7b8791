// Reads draws from comma-separated values: drover's own, or any table of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "drover/io/csv_cell.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/text_source.hpp"

namespace drover {

namespace {

/// One cell after the other, quotes undone.
class Cells {
 public:
  explicit Cells(TextSource& source) : source_(source) {}

  /// Skips blank lines and comments; false at the end of the file.
  bool start_row() {
    for (int c = source_.peek(); c >= 0; c = source_.peek()) {
      if (c == '#')
        read_comment();
      else if (c == '\n' || c == '\r')
        source_.get();
      else
        return true;
    }
    return false;
  }

  /// Reads a cell and what ends it; false when it was the last of its row.
  bool next() {
    text_.clear();
    quoted_ = false;
    while (source_.peek() == ' ' || source_.peek() == '\t') source_.get();
    source_.mark();
    if (source_.peek() == '"') read_quoted();
    for (int c = source_.get();; c = source_.get()) {
      if (c == ',') return true;
      if (c == '\n' || c < 0) break;
      if (c == '\r' && (source_.peek() == '\n' || source_.peek() < 0)) continue;
      if (quoted_ && c != ' ' && c != '\t') source_.fail("expected a comma after the closing quote");
      if (!quoted_) text_ += static_cast<char>(c);
    }
    return false;
  }

  const std::string& text() const { return text_; }
  /// What drover said behind the table; empty when nothing.
  const std::string& metadata() const { return metadata_; }
  bool quoted() const { return quoted_; }

 private:
  void read_comment() {
    std::string line;
    for (int c = source_.get(); c >= 0 && c != '\n'; c = source_.get()) line += static_cast<char>(c);
    if (line.starts_with(csv_draws_remark)) metadata_ = line.substr(csv_draws_remark.size());
  }
  void read_quoted() {
    quoted_ = true;
    source_.get();
    for (int c = source_.get();; c = source_.get()) {
      if (c < 0) source_.fail("a quote that is not closed");
      if (c == '"') {
        if (source_.peek() != '"') return;
        source_.get();
      }
      text_ += static_cast<char>(c);
    }
  }

  TextSource& source_;
  std::string text_, metadata_;
  bool quoted_ = false;
};

enum class Role { variable, chain, log_score, ignored };

Role role_of(const std::string& name) {
  if (name == "chain" || name == ".chain") return Role::chain;
  if (name == "log_score" || name == "lp__") return Role::log_score;
  if (name == "draw" || name == ".draw" || name == ".iteration") return Role::ignored;
  return Role::variable;
}

/// The table as it stands in the file.
struct Table {
  std::vector<std::string> names;  ///< of the variables
  std::vector<Role> roles;         ///< of the columns
  std::vector<double> chain_of_row;
  std::vector<double> log_scores;
  std::vector<double> values;  ///< (row, variable)
  std::size_t rows = 0;
  /// The names of a variable's states and their numbers, in the order they are met; empty: plain numbers.
  std::vector<std::map<std::string, double, std::less<>>> states;

  void add(Role role, double number) {
    if (role == Role::variable) values.push_back(number);
    if (role == Role::chain) chain_of_row.push_back(number);
    if (role == Role::log_score) log_scores.push_back(number);
  }

  /// Whether the next variable is one whose states have names; in the first row its cell says so.
  bool has_names(bool quoted) const {
    return rows == 0 ? quoted : !states[values.size() % states.size()].empty();
  }
  void add_state(std::string_view name) {
    auto& names = states[values.size() % states.size()];
    values.push_back(names.emplace(name, static_cast<double>(names.size())).first->second);
  }
};

bool is_number(std::string_view text, double& number) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Beyond the range of double is still a number.
  if (code == std::errc::result_out_of_range) number = std::numeric_limits<double>::quiet_NaN();
  return !text.empty() && code != std::errc::invalid_argument && end == text.data() + text.size();
}

/// The states of each variable in their order, as the metadata tell them; none where they do not.
std::vector<std::vector<std::string>> told_states(const nlohmann::json& metadata, std::size_t variables) {
  std::vector<std::vector<std::string>> told(variables);
  if (!metadata.is_object() || !metadata.contains("state_names")) return told;
  try {
    auto names = metadata["state_names"].get<std::vector<std::vector<std::string>>>();
    if (names.size() == variables) told = std::move(names);
  } catch (const nlohmann::json::exception&) {  // somebody else's
  }
  return told;
}

/// States by name get the numbers that the metadata tell, or else, whichever came first, those of the alphabet; the
/// file keeps the names. Where all names are numbers and nothing is told, somebody put numbers in quotes.
void number_states(Table& table, const std::string& metadata, DrawFile& file) {
  const std::size_t n = table.states.size();
  nlohmann::json json = nlohmann::json::parse(metadata, nullptr, false);
  std::vector<std::vector<std::string>> names = told_states(json, n);
  for (std::size_t v = 0; v < n; ++v) {
    const auto number_of = [&](const std::string& name) {
      return std::ranges::find(names[v], name) - names[v].begin();
    };
    const bool told = !names[v].empty() && std::ranges::all_of(table.states[v], [&](const auto& state) {
      return number_of(state.first) < std::ssize(names[v]);
    });
    if (!told) names[v].clear();
    const bool numbers = std::ranges::all_of(table.states[v], [](const auto& state) {
      double number = 0;
      return is_number(state.first, number);
    });
    std::vector<double> place(table.states[v].size());
    for (const auto& [name, met] : table.states[v]) {
      double& at = place[static_cast<std::size_t>(met)];
      at = static_cast<double>(told ? number_of(name) : std::ssize(names[v]));
      if (told) continue;
      if (numbers)
        is_number(name, at);
      else
        names[v].push_back(name);
    }
    for (std::size_t row = 0; row < table.rows && !place.empty(); ++row)
      table.values[row * n + v] = place[static_cast<std::size_t>(table.values[row * n + v])];
  }
  if (!json.is_object()) json = nlohmann::json::object();
  json.erase("state_names");
  if (std::ranges::any_of(names, [](const auto& of_variable) { return !of_variable.empty(); }))
    json["state_names"] = names;
  if (!json.empty()) file.metadata = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_first_row(Cells& cells, Table& table) {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  bool all_numbers = true, chain_seen = false, log_score_seen = false;
  for (bool more = true; more;) {
    more = cells.next();
    double number = 0;
    all_numbers &= !cells.quoted() && is_number(cells.text(), number);
    texts.push_back(cells.text());
    numbers.push_back(number);
  }
  for (std::size_t column = 0; column < texts.size(); ++column) {
    // Only the first column of a role has it: a variable, too, may be called "chain".
    Role role = all_numbers ? Role::variable : role_of(texts[column]);
    if (role == Role::chain && std::exchange(chain_seen, true)) role = Role::variable;
    if (role == Role::log_score && std::exchange(log_score_seen, true)) role = Role::variable;
    table.roles.push_back(role);
    if (table.roles.back() == Role::variable)
      table.names.push_back(all_numbers ? std::to_string(column) : std::string(plain_name(texts[column])));
    if (all_numbers) table.add(Role::variable, numbers[column]);
  }
  if (all_numbers) table.rows = 1;
  table.states.resize(table.names.size());
}

void read_row(Cells& cells, TextSource& source, Table& table) {
  std::size_t column = 0;
  for (bool more = true; more; ++column) {
    more = cells.next();
    double number = 0;
    if (column >= table.roles.size())
      source.fail(fmt::format("expected {} columns, found more", table.roles.size()));
    // The first row decides whether a column has names of states, which stand in quotes.
    if (table.roles[column] == Role::variable && table.has_names(cells.quoted())) {
      if (!cells.quoted())
        source.fail(
            fmt::format("expected the name of a state in quotes, found \"{}\"", printable(cells.text())));
      table.add_state(plain_name(cells.text()));
      continue;
    }
    if (!is_number(cells.text(), number))
      source.fail(fmt::format("expected a number, found \"{}\"", printable(cells.text())));
    table.add(table.roles[column], number);
  }
  if (column < table.roles.size())
    source.fail(fmt::format("expected {} columns, found {}", table.roles.size(), column));
  ++table.rows;
}

}  // namespace

DrawFile parse_draws_csv(TextSource& source) {
  Cells cells(source);
  Table table;
  if (!cells.start_row()) fail_at({source.name()}, "expected a table of draws, found nothing");
  read_first_row(cells, table);
  // A model without variables still has draws and log scores.
  if (table.names.empty() && std::count(table.roles.begin(), table.roles.end(), Role::log_score) == 0)
    fail_at({source.name(), 1}, "expected a column for a variable");
  while (cells.start_row()) read_row(cells, source, table);

  // Rows of one chain keep their order; the order of chains is that of their numbers.
  if (table.chain_of_row.empty()) table.chain_of_row.assign(table.rows, 0.0);
  std::map<double, std::vector<std::size_t>> rows_of_chain;
  for (std::size_t row = 0; row < table.rows; ++row) {
    if (table.chain_of_row[row] != table.chain_of_row[row])
      fail_at({source.name()}, fmt::format("row {}: expected a chain number", row + 1));
    rows_of_chain[table.chain_of_row[row]].push_back(row);
  }
  DrawFile file;
  number_states(table, cells.metadata(), file);
  file.variable_names = std::move(table.names);
  file.chains = rows_of_chain.size();
  file.draws = rows_of_chain.empty() ? 0 : rows_of_chain.begin()->second.size();
  for (const auto& [chain, rows] : rows_of_chain)
    if (rows.size() != file.draws)
      fail_at({source.name()}, fmt::format("chain {} has {} draws, chain {} has {}",
                                           rows_of_chain.begin()->first, file.draws, chain, rows.size()));
  std::vector<double> values;
  values.reserve(table.values.size());
  for (std::size_t t = 0; t < file.draws; ++t) {
    for (const auto& [chain, rows] : rows_of_chain) {
      const auto begin = table.values.begin() + static_cast<std::ptrdiff_t>(rows[t] * file.variables());
      values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(file.variables()));
      if (!table.log_scores.empty()) file.log_scores.push_back(table.log_scores[rows[t]]);
    }
  }
  set_values(file, std::move(values));
  return file;
}

}  // namespace drover
