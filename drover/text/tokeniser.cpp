#include "drover/text/tokeniser.hpp"

#include <fmt/format.h>
#include <unicode/ubrk.h>
#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "drover/core/error.hpp"

namespace drover {

namespace {

void check(UErrorCode status, const char* what) {
  if (U_FAILURE(status))
    throw Error(ErrorKind::internal, fmt::format("ICU cannot {}: {}", what, u_errorName(status)));
}

// The word break classes of UAX 29 that ASCII has.
enum class Class : std::uint8_t { space, mark, letter, digit, underscore, middle_number, middle };

constexpr std::array<Class, 128> ascii_classes = [] {
  std::array<Class, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    Class& k = classes[static_cast<std::size_t>(c)];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      k = Class::letter;
    else if (c >= '0' && c <= '9')
      k = Class::digit;
    else if (c == '_')
      k = Class::underscore;
    else if (c == ',' || c == ';')
      k = Class::middle_number;
    else if (c == '.' || c == '\'')
      k = Class::middle;
    else
      k = c <= ' ' || c == 127 ? Class::space : Class::mark;
  }
  return classes;
}();

bool joins_letters(Class k) {
  return k == Class::middle;
}
bool joins_digits(Class k) {
  return k == Class::middle_number || k == Class::middle;
}
bool in_word(Class k) {
  return k == Class::letter || k == Class::digit || k == Class::underscore;
}

// Rules WB5 to WB13b for ASCII: letters, digits and underscores stay together; . and ' join letters,
// . ' , and ; join digits.
void tokenise_ascii(std::string_view text, bool punctuation, std::vector<Token>& tokens) {
  const auto class_at = [&](std::size_t at) { return ascii_classes[static_cast<unsigned char>(text[at])]; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const Class first = class_at(at++);
    if (!in_word(first)) {
      if (punctuation && first != Class::space) tokens.push_back({begin, at});
      continue;
    }
    bool is_word = first != Class::underscore;
    for (Class last = first; at < text.size(); ++at) {
      Class next = class_at(at);
      if (!in_word(next)) {
        const bool may_join =
            (last == Class::letter && joins_letters(next)) || (last == Class::digit && joins_digits(next));
        if (!may_join || at + 1 == text.size() || class_at(at + 1) != last) break;
        next = class_at(++at);
      }
      is_word = is_word || next != Class::underscore;
      last = next;
    }
    if (is_word || punctuation) tokens.push_back({begin, at});
  }
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

}  // namespace

struct Tokeniser::Icu {
  UBreakIterator* words = nullptr;
  UText text = UTEXT_INITIALIZER;
  UCaseMap* cases = nullptr;

  ~Icu() {
    if (words != nullptr) ubrk_close(words);
    utext_close(&text);
    if (cases != nullptr) ucasemap_close(cases);
  }
};

Tokeniser::Tokeniser(const TokeniserOptions& options) : options_(options), icu_(std::make_unique<Icu>()) {}

Tokeniser::~Tokeniser() = default;

void Tokeniser::tokenise(std::string_view text, std::vector<Token>& tokens) {
  tokens.clear();
  if (options_.ascii_shortcut && is_ascii(text)) {
    tokenise_ascii(text, options_.punctuation, tokens);
    return;
  }
  UErrorCode status = U_ZERO_ERROR;
  if (icu_->words == nullptr) icu_->words = ubrk_open(UBRK_WORD, "", nullptr, 0, &status);
  check(status, "divide text into words");
  utext_openUTF8(&icu_->text, text.data(), static_cast<std::int64_t>(text.size()), &status);
  ubrk_setUText(icu_->words, &icu_->text, &status);
  check(status, "read a text");
  std::int32_t begin = ubrk_first(icu_->words);
  for (std::int32_t end = ubrk_next(icu_->words); end != UBRK_DONE; end = ubrk_next(icu_->words)) {
    const std::string_view piece =
        text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    // To ICU a run of underscores is a word.
    const bool is_word = ubrk_getRuleStatus(icu_->words) >= UBRK_WORD_NONE_LIMIT &&
                         piece.find_first_not_of('_') != std::string_view::npos;
    bool keep = is_word;
    if (!is_word && options_.punctuation) {
      UChar32 first = 0;
      U8_GET(reinterpret_cast<const std::uint8_t*>(text.data()), 0, begin,
             static_cast<std::int32_t>(text.size()), first);
      keep = first > ' ' && u_isUWhiteSpace(first) == 0 && u_iscntrl(first) == 0;
    }
    if (keep) tokens.push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
    begin = end;
  }
}

void Tokeniser::lower_case(std::string_view text, std::string& result) {
  if (is_ascii(text)) {
    result.assign(text);
    for (char& c : result)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return;
  }
  UErrorCode status = U_ZERO_ERROR;
  if (icu_->cases == nullptr) icu_->cases = ucasemap_open("", 0, &status);
  check(status, "change letters to lower case");
  result.resize(3 * text.size());  // no letter grows by more
  const std::int32_t size =
      ucasemap_utf8ToLower(icu_->cases, result.data(), static_cast<std::int32_t>(result.size()), text.data(),
                           static_cast<std::int32_t>(text.size()), &status);
  if (status == U_STRING_NOT_TERMINATED_WARNING) status = U_ZERO_ERROR;
  check(status, "change letters to lower case");
  result.resize(static_cast<std::size_t>(size));
}

std::size_t find_invalid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::size_t size = text.size();
  for (std::size_t at = 0; at < size;) {
    if (bytes[at] < 0x80) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    UChar32 point = 0;
    U8_NEXT(bytes, at, size, point);
    if (point < 0) return begin;
  }
  return std::string_view::npos;
}

}  // namespace drover
