// The tokeniser against hand-made cases, and its short way for ASCII against ICU.
#include "drover/text/tokeniser.hpp"

#include <gtest/gtest.h>

#include "drover/core/random.hpp"

namespace drover {
namespace {

std::vector<std::string> words_of(const std::string& text, TokeniserOptions options = {}) {
  Tokeniser tokeniser(options);
  std::vector<Token> tokens;
  tokeniser.tokenise(text, tokens);
  std::vector<std::string> words;
  for (const Token& token : tokens) words.push_back(text.substr(token.begin, token.end - token.begin));
  return words;
}

using Words = std::vector<std::string>;

TEST(Tokeniser, Words) {
  EXPECT_EQ(words_of(""), Words{});
  EXPECT_EQ(words_of(" \t\n ... !"), Words{});
  EXPECT_EQ(words_of("It isn't 3.14, e.g. \"well-made\"."),
            (Words{"It", "isn't", "3.14", "e.g", "well", "made"}));
  EXPECT_EQ(words_of("Größe – ça va ? Ёлка"), (Words{"Größe", "ça", "va", "Ёлка"}));
  EXPECT_EQ(words_of("l’été aujourd’hui"), (Words{"l’été", "aujourd’hui"}));
  EXPECT_FALSE(words_of("ภาษาไทยง่าย").empty());
}

TEST(Tokeniser, PunctuationOnRequest) {
  EXPECT_EQ(words_of("Hi, you!", {.punctuation = true}), (Words{"Hi", ",", "you", "!"}));
  EXPECT_EQ(words_of("„Hi“ – you…", {.punctuation = true}), (Words{"„", "Hi", "“", "–", "you", "…"}));
}

TEST(Tokeniser, OffsetsAreBytes) {
  Tokeniser tokeniser;
  std::vector<Token> tokens;
  tokeniser.tokenise("ä bc", tokens);
  EXPECT_EQ(tokens, (std::vector<Token>{{0, 2}, {3, 5}}));
}

TEST(Tokeniser, AsciiShortcutEqualsIcu) {
  // Few different characters, so that the rules about neighbours are met often.
  const std::string characters = "ab1_.':,;- \t\n\r\x01Z9\"#";
  RandomSequence random(1, Stream::generate);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text(random.below(12), ' ');
    for (char& c : text) c = characters[random.below(static_cast<std::uint32_t>(characters.size()))];
    for (const bool punctuation : {false, true})
      ASSERT_EQ(words_of(text, {punctuation, true}), words_of(text, {punctuation, false}))
          << "text: " << text;
  }
}

TEST(Tokeniser, LowerCase) {
  Tokeniser tokeniser;
  std::string result;
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"ABC xyz", "abc xyz"}, {"ÄÖÜ ẞ", "äöü ß"}, {"İ", "i̇"}, {"ΟΔΟΣ", "οδος"}, {"", ""}}) {
    tokeniser.lower_case(text, result);
    EXPECT_EQ(result, expected);
  }
}

TEST(Tokeniser, InvalidUtf8IsFound) {
  constexpr auto fine = std::string_view::npos;
  EXPECT_EQ(find_invalid_utf8(""), fine);
  EXPECT_EQ(find_invalid_utf8("aä€😀"), fine);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(find_invalid_utf8("gr\xfc\xdf"
                              "e"),
            2U);                                      // Latin-1
  EXPECT_EQ(find_invalid_utf8("a\xc3"), 1U);          // cut off
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0U);       // overlong
  EXPECT_EQ(find_invalid_utf8("x\xed\xa0\x80"), 1U);  // half a surrogate pair
}

}  // namespace
}  // namespace drover
