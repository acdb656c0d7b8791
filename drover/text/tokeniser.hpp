// Words of a text: Unicode word boundaries (UAX 29, by ICU), as byte ranges of the UTF-8 text.
//
// A word holds at least one letter, digit, kana or ideograph; what stands between words (spaces, punctuation,
// symbols) is left out, or with `punctuation` every such character but white space is a token of its own.
// Languages written without spaces (Thai, Chinese, Japanese) are divided by ICU's dictionaries. Text of plain
// ASCII takes a short way through the same rules.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

/// A token is text.substr(begin, end - begin).
struct Token {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Token&) const = default;
};

struct TokeniserOptions {
  bool punctuation = false;    ///< punctuation and symbols are tokens too
  bool ascii_shortcut = true;  ///< off: ICU for every text (the same tokens, slower)
};

/// Keeps ICU's state between texts; one per thread.
class Tokeniser {
 public:
  explicit Tokeniser(const TokeniserOptions& options = {});
  ~Tokeniser();
  Tokeniser(const Tokeniser&) = delete;
  Tokeniser& operator=(const Tokeniser&) = delete;

  /// The tokens of one text, in order. The text must be valid UTF-8 (find_invalid_utf8) and below 2 GB.
  void tokenise(std::string_view text, std::vector<Token>& tokens);

  /// `text` in lower case by Unicode's rules, language-neutral, into `result`.
  void lower_case(std::string_view text, std::string& result);

 private:
  struct Icu;
  TokeniserOptions options_;
  std::unique_ptr<Icu> icu_;
};

/// Where the first byte stands that is not UTF-8; npos when all is well.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace drover
