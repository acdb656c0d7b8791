#include "drover/io/csv_cell.hpp"

#include <charconv>

namespace drover {

namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && problem == std::errc() && end == text.data() + text.size();
}

/// Apostrophes before such a text count too, so that every name comes back as it was.
bool would_be_run(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos && !is_number(text);
}

}  // namespace

std::string quoted_cell(std::string_view name) {
  std::string quoted = would_be_run(name) ? "\"'" : "\"";
  for (char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(std::string_view name) {
  std::string text = (would_be_run(name) ? "'" : "") + std::string(name);
  // A tab, and # at the start of a line, would be read as something else.
  if (!text.empty() && text.find_first_of(",\"\r\n\t#") == std::string::npos && !text.starts_with(' ') &&
      !text.ends_with(' '))
    return text;
  return quoted_cell(name);
}

std::string_view plain_name(std::string_view cell) {
  return cell.starts_with('\'') && would_be_run(cell) ? cell.substr(1) : cell;
}

}  // namespace drover
