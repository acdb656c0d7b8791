// Reads plain or gzip text in chunks, as tokens or characters, and knows the line and column of the last one.
//
// A file is never held whole: memory is one chunk. gzip is recognised by its content. Numbers are parsed by
// std::from_chars, so they do not depend on the locale. Every failure to understand is bad_data with file,
// line and column, what was expected and what was found; a file that cannot be opened is cannot_read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

class TextSource {
 public:
  static constexpr std::size_t default_chunk = std::size_t{1} << 18;

  /// Opens a file; "-" is the standard input. The control, which must outlive this, is asked from chunk to
  /// chunk; its end raises stopped.
  explicit TextSource(const std::string& path, const RunControl& control = no_control(),
                      std::size_t chunk = default_chunk);
  /// Reads from memory; the text must outlive the source. `name` stands for the file in messages.
  TextSource(std::string_view text, std::string name, std::size_t chunk = default_chunk);
  ~TextSource();
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  /// Moves to the next run of characters between white space; false at the end.
  bool next_token() {
    if (!skip_blanks(false)) return false;
    scan_token();
    return true;
  }
  /// The same, but false at the end of the line, which is not passed.
  bool next_token_on_line() {
    if (!skip_blanks(true)) return false;
    scan_token();
    return true;
  }
  std::string_view token() const { return token_; }

  /// The next token as a whole number of at most `limit`; `what` completes "expected ...".
  std::uint64_t count(const char* what, std::uint64_t limit = std::numeric_limits<std::uint64_t>::max());
  /// The next token as a finite number.
  double number(const char* what);
  /// The natural logarithm of the next token, a number >= 0; zero gives minus infinity (see parse_log).
  double log_number(const char* what);
  /// The same for the current token.
  std::uint64_t token_as_count(const char* what, std::uint64_t limit);
  double token_as_number(const char* what);
  double token_as_log(const char* what);

  /// Raises bad_data unless only white space is left.
  void expect_end();

  /// The next character or -1 at the end, without and with moving past it.
  int peek() {
    if (cursor_ == end_ && !refill(cursor_)) return -1;
    return static_cast<unsigned char>(*cursor_);
  }
  int get() {
    const int c = peek();
    if (c < 0) return c;
    ++cursor_;
    if (c == '\n') pass_newline();
    return c;
  }
  void skip_line() {
    for (int c = get(); c >= 0 && c != '\n';) c = get();
  }
  /// Makes the current position the one that failures report.
  void mark() {
    token_offset_ = base_ + static_cast<std::uint64_t>(cursor_ - buffer_.data());
    token_line_ = line_;
    token_line_start_ = line_start_;
  }

  /// The text at the start, as much as one chunk holds; to be called before anything is read.
  std::string_view beginning();

  const std::string& name() const { return name_; }
  Place place() const;
  std::uint64_t line() const { return token_line_; }
  /// How many characters have been read.
  std::uint64_t consumed() const { return base_ + static_cast<std::uint64_t>(cursor_ - buffer_.data()); }
  /// The size of the whole input as far as known, for reserving memory: no count in a file is believed
  /// beyond it.
  std::uint64_t size_hint() const { return size_hint_; }

  [[noreturn]] void fail(const std::string& message) const { fail_at(place(), message); }
  /// "expected <what>, found <token>" at the last token.
  [[noreturn]] void fail_expected(const std::string& what) const;

 private:
  struct Input;

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  bool skip_blanks(bool stay_on_line) {
    for (;;) {
      while (is_space(*cursor_)) {  // a zero byte beyond the end stops the loop
        if (*cursor_ == '\n') {
          if (stay_on_line) return end_token();
          ++cursor_;
          pass_newline();
        } else {
          ++cursor_;
        }
      }
      if (cursor_ < end_) return true;
      if (!refill(cursor_)) return end_token();
    }
  }
  void scan_token() {
    mark();
    const char* begin = cursor_;
    while (static_cast<unsigned char>(*cursor_) > ' ') ++cursor_;
    if (cursor_ == end_ || cursor_ == begin) [[unlikely]]
      begin = finish_token(begin);
    token_ = {begin, static_cast<std::size_t>(cursor_ - begin)};
  }
  bool end_token() {
    mark();
    token_ = {};
    return false;
  }
  void pass_newline() {
    ++line_;
    line_start_ = base_ + static_cast<std::uint64_t>(cursor_ - buffer_.data());
  }
  const char* finish_token(const char* begin);
  bool refill(const char* keep);

  std::string name_;
  StopCheck check_;
  std::unique_ptr<Input> input_;
  std::vector<char> buffer_;
  const char* cursor_ = nullptr;
  const char* end_ = nullptr;  ///< always followed by a zero byte
  bool exhausted_ = false;
  std::uint64_t base_ = 0;  ///< position in the input of the buffer's first byte
  std::uint64_t line_ = 1;
  std::uint64_t line_start_ = 0;
  std::string_view token_;
  std::uint64_t token_offset_ = 0;
  std::uint64_t token_line_ = 1;
  std::uint64_t token_line_start_ = 0;
  std::uint64_t size_hint_ = 0;
};

/// Text from a file as it may stand in a message: one line, not too long.
std::string printable(std::string_view text);

/// The natural logarithm of a number >= 0 written as text; false when it is not one. Numbers beyond the range
/// of double (1e-400) are read in extended precision, so that they do not turn into hard zeros.
bool parse_log(std::string_view text, double& logarithm);

}  // namespace drover
