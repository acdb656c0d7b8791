#include "drover/io/row_reader.hpp"

#include <algorithm>
#include <array>

#include "drover/io/draws_formats.hpp"

namespace drover {

/// What people and programs write where there is nothing to write.
bool means_missing(std::string_view text) {
  static constexpr std::array<std::string_view, 10> words = {"",    "?",   "NA",   "N/A",  "NaN",
                                                             "nan", "NAN", "-nan", "null", "NULL"};
  return std::ranges::find(words, text) != words.end();
}

namespace {

/// How many words between blanks a line has; blanks inside quotes are part of a word.
std::size_t count_words(std::string_view line) {
  std::size_t words = 0;
  bool inside = false, quoted = false;
  for (char c : line) {
    if (c == '"') quoted = !quoted;
    const bool blank = !quoted && (c == ' ' || c == '\r');
    words += !blank && !inside;
    inside = !blank;
  }
  return words;
}

/// What stands between cells. Blanks do when the first lines all have the same number of words, more than
/// one; a column of texts that hold blanks is seldom so.
char separator_of(std::string_view text) {
  constexpr std::size_t most_lines = 20;
  const std::string_view line = text.substr(0, text.find('\n'));
  for (char c : {'\t', ',', ';'})
    if (line.find(c) != std::string_view::npos) return c;
  const std::size_t words = count_words(line);
  bool is_whole = true;  // the last line of what was looked at may be cut off
  for (std::size_t k = 0; k < most_lines && !text.empty() && is_whole; ++k) {
    const std::size_t end = text.find('\n');
    is_whole = end != std::string_view::npos;
    const std::size_t here = count_words(text.substr(0, end));
    if (here != words && here > 0 && (is_whole || k == 0)) return ',';
    text.remove_prefix(is_whole ? end + 1 : text.size());
  }
  return words > 1 ? ' ' : ',';
}

}  // namespace

RowReader::RowReader(TextSource& source) : source_(source), separator_(separator_of(source.beginning())) {}

bool RowReader::next(std::vector<Cell>& cells) {
  bool is_remark = false;
  do {
    while (source_.peek() == '\n' || source_.peek() == '\r') source_.get();
    if (source_.peek() < 0) return false;
    const bool may_be_remark = source_.peek() == '#';  // it has no quotes
    cells.assign(1, cell());
    is_remark = may_be_remark && cells[0].text.starts_with(csv_draws_remark);
    while (more_ && !is_remark) cells.push_back(cell());
    while (more_) more_ = source_.peek() >= 0 && source_.get() != '\n';
  } while (is_remark);
  return true;
}

Cell RowReader::cell() {
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
  if (separator_ == ' ' && more_) {  // several blanks are one, and those at the end of a line are none
    while (source_.peek() == ' ' || source_.peek() == '\r') source_.get();
    more_ = source_.peek() >= 0 && source_.peek() != '\n';
    if (!more_) source_.get();
  }
  if (text.empty() || (!quoted && means_missing(text))) return {text, true, source_.place()};
  return {text};
}

}  // namespace drover
