#include "drover/io/text_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "drover/core/types.hpp"
#include "drover/io/unpack_limit.hpp"

namespace drover {

std::string printable(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, 40)) result += c < ' ' || c > '~' ? '?' : c;
  if (text.size() > 40) result += "...";
  return result;
}

namespace {

// Some programs begin UTF-8 text with U+FEFF; it is no part of the text. Its length, 0 when it is not there.
std::size_t byte_order_mark(const char* begin, const char* end) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return std::string_view(begin, static_cast<std::size_t>(end - begin)).starts_with(mark) ? mark.size() : 0;
}

}  // namespace

// Where bytes come from: a file (plain or gzip; zlib tells them apart by the first bytes) or memory.
struct TextSource::Input {
  gzFile file = nullptr;
  std::string_view memory;
  std::uint64_t unpacked = 0;  ///< read from the file so far

  ~Input() {
    if (file != nullptr) gzclose(file);
  }
};

TextSource::TextSource(const std::string& path, const RunControl& control, std::size_t chunk)
    : name_(path == "-" ? "standard input" : path),
      check_(control, name_, "was read"),
      input_(std::make_unique<Input>()),
      buffer_(chunk + 1) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", name_, why));
  };
  const int descriptor = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(std::strerror(errno));
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  if (known && S_ISDIR(status.st_mode)) {
    close(descriptor);
    refuse("it is a directory");
  }
  input_->file = gzdopen(descriptor, "rb");
  if (input_->file == nullptr) {
    close(descriptor);
    refuse("out of memory");
  }
  gzbuffer(input_->file, static_cast<unsigned>(std::min<std::size_t>(chunk, default_chunk)));
  if (known && S_ISREG(status.st_mode)) size_hint_ = static_cast<std::uint64_t>(status.st_size);
  cursor_ = end_ = buffer_.data();
  refill(cursor_);
  line_start_ = byte_order_mark(cursor_, end_);
  cursor_ += line_start_;
  if (gzdirect(input_->file) == 0) size_hint_ *= 4;  // a usual ratio of compressed text
}

TextSource::TextSource(std::string_view text, std::string name, std::size_t chunk)
    : name_(std::move(name)),
      check_(no_control(), name_, "was read"),
      input_(std::make_unique<Input>()),
      buffer_(chunk + 1),
      size_hint_(text.size()) {
  input_->memory = text;
  cursor_ = end_ = buffer_.data();
  refill(cursor_);
  line_start_ = byte_order_mark(cursor_, end_);
  cursor_ += line_start_;
}

TextSource::~TextSource() = default;

// Reads on behind what is kept; false when the input is at its end.
bool TextSource::refill(const char* keep) {
  if (exhausted_) return false;
  check_.ask();
  const auto kept = static_cast<std::size_t>(end_ - keep);
  const std::size_t room = buffer_.size() - 1 - kept;
  if (room == 0) fail(fmt::format("expected a word or number, found more than {} characters", kept));
  base_ += static_cast<std::uint64_t>(keep - buffer_.data());
  std::memmove(buffer_.data(), keep, kept);
  cursor_ = buffer_.data() + (cursor_ - keep);
  std::size_t added = 0;
  if (input_->file != nullptr) {
    const int got = gzread(input_->file, buffer_.data() + kept, static_cast<unsigned>(room));
    int code = Z_OK;
    const char* message = gzerror(input_->file, &code);
    if (code == Z_ERRNO)
      throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
    if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) fail_damaged(name_, message);
    added = static_cast<std::size_t>(got);
    input_->unpacked += added;
    if (input_->unpacked > unpacked_text.always_allowed && gzdirect(input_->file) == 0)
      check_unpacked(name_, static_cast<std::uint64_t>(gzoffset(input_->file)), input_->unpacked);
  } else {
    added = std::min(room, input_->memory.size());
    std::memcpy(buffer_.data() + kept, input_->memory.data(), added);
    input_->memory.remove_prefix(added);
  }
  exhausted_ = added == 0;
  end_ = buffer_.data() + kept + added;
  buffer_[kept + added] = '\0';
  return !exhausted_;
}

// The token reaches the end of the chunk, or starts with a control character.
const char* TextSource::finish_token(const char* begin) {
  bool more = true;
  while (more && cursor_ == end_) {
    const std::ptrdiff_t length = cursor_ - begin;
    more = refill(begin);  // may move the text
    begin = cursor_ - length;
    while (static_cast<unsigned char>(*cursor_) > ' ') ++cursor_;
  }
  if (cursor_ == begin)
    fail(fmt::format("expected text, found the byte {:#04x}", static_cast<unsigned char>(*cursor_)));
  return begin;
}

std::string_view TextSource::beginning() {
  while (static_cast<std::size_t>(end_ - cursor_) < buffer_.size() - 1 && refill(cursor_)) {
  }
  return {cursor_, static_cast<std::size_t>(end_ - cursor_)};
}

Place TextSource::place() const {
  return {name_, token_line_, token_offset_ - token_line_start_ + 1};
}

void TextSource::fail_expected(const std::string& what) const {
  if (token_.empty()) fail(fmt::format("expected {}, found the end of the file", what));
  fail(fmt::format("expected {}, found \"{}\"", what, printable(token_)));
}

void TextSource::expect_end() {
  if (next_token()) fail_expected("the end of the file");
}

std::uint64_t TextSource::count(const char* what, std::uint64_t limit) {
  next_token();
  return token_as_count(what, limit);
}

double TextSource::number(const char* what) {
  next_token();
  return token_as_number(what);
}

double TextSource::log_number(const char* what) {
  next_token();
  return token_as_log(what);
}

std::uint64_t TextSource::token_as_count(const char* what, std::uint64_t limit) {
  std::uint64_t value = 0;
  const char* end = token_.data() + token_.size();
  const auto [stop, error] = std::from_chars(token_.data(), end, value);
  if (token_.empty() || stop != end || error == std::errc::invalid_argument) fail_expected(what);
  if (error != std::errc() || value > limit) fail_expected(fmt::format("{} of at most {}", what, limit));
  return value;
}

double TextSource::token_as_number(const char* what) {
  const char* begin = token_.data();
  const char* end = begin + token_.size();
  if (token_.size() - 1 <
      15) {  // digits alone, so few that a double holds them: numbers of variables, mostly
    std::uint64_t whole = 0;
    const char* digit = begin;
    for (; digit != end && *digit >= '0' && *digit <= '9'; ++digit)
      whole = 10 * whole + static_cast<std::uint64_t>(*digit - '0');
    if (digit == end) return static_cast<double>(whole);
  }
  if (token_.size() > 1 && *begin == '+' && begin[1] != '-') ++begin;
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (token_.empty() || stop != end || error == std::errc::invalid_argument) fail_expected(what);
  if (error != std::errc() || !std::isfinite(value))
    fail_expected(fmt::format("{} within the range of numbers", what));
  return value;
}

double TextSource::token_as_log(const char* what) {
  double value = 0;
  if (!parse_log(token_, value)) fail_expected(fmt::format("{} (a finite number >= 0)", what));
  return value;
}

bool parse_log(std::string_view text, double& logarithm) {
  static const std::array<double, 10> digit_logs = [] {
    std::array<double, 10> logs{};
    for (int d = 0; d < 10; ++d) logs[static_cast<std::size_t>(d)] = std::log(static_cast<double>(d));
    return logs;
  }();
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (text.size() == 1 && *begin >= '0' && *begin <= '9') {
    logarithm = digit_logs[static_cast<std::size_t>(*begin - '0')];
    return true;
  }
  if (text.size() > 1 && *begin == '+' && begin[1] != '-') ++begin;
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || stop != end || error == std::errc::invalid_argument) return false;
  if (!std::isfinite(value) || value < 0) return false;
  if (error == std::errc() && (value == 0 || value >= std::numeric_limits<double>::min())) {
    logarithm = value == 0 ? log_zero : std::log(value);
    return true;
  }
  // Beyond the range of double, where underflow would turn into a hard zero.
  long double extended = 0;
  if (std::from_chars(begin, end, extended).ec != std::errc() || !(extended > 0)) return false;
  logarithm = static_cast<double>(std::log(extended));
  return true;
}

}  // namespace drover
