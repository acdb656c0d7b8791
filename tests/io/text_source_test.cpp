#include "drover/io/text_source.hpp"

#include <zlib.h>

#include "drover/core/types.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

TEST(TextSource, TokensAcrossChunks) {
  std::string text;
  std::vector<std::string> words;
  for (int k = 0; k < 500; ++k) {
    words.push_back(std::string(1 + k % 13, static_cast<char>('a' + k % 26)));
    text += words.back() + (k % 7 == 0 ? "\r\n\n" : k % 3 == 0 ? " \t " : " ");
  }
  for (std::size_t chunk : {std::size_t{14}, std::size_t{17}, std::size_t{64}, std::size_t{100000}}) {
    TextSource source(text, "text", chunk);
    for (const std::string& word : words) {
      ASSERT_TRUE(source.next_token());
      ASSERT_EQ(source.token(), word);
    }
    EXPECT_FALSE(source.next_token());
    EXPECT_EQ(source.consumed(), text.size());
  }
}

TEST(TextSource, Places) {
  for (std::size_t chunk : {std::size_t{4}, std::size_t{100}}) {
    TextSource source("ab c\n\n  def\ngh", "f", chunk);
    const std::size_t expected[4][2] = {{1, 1}, {1, 4}, {3, 3}, {4, 1}};
    for (const auto& [line, column] : expected) {
      ASSERT_TRUE(source.next_token());
      EXPECT_EQ(source.place().line, line);
      EXPECT_EQ(source.place().column, column);
    }
    EXPECT_FALSE(source.next_token());
    EXPECT_EQ(source.place().line, 4U);
    EXPECT_EQ(source.place().column, 3U);
  }
}

TEST(TextSource, LinesAndComments) {
  TextSource source("1 2\n\n3", "f", 4);
  EXPECT_TRUE(source.next_token_on_line());
  EXPECT_TRUE(source.next_token_on_line());
  EXPECT_FALSE(source.next_token_on_line());
  source.skip_line();
  EXPECT_FALSE(source.next_token_on_line());
  EXPECT_TRUE(source.next_token());
  EXPECT_EQ(source.token(), "3");
  EXPECT_FALSE(source.next_token_on_line());
}

TEST(TextSource, Numbers) {
  const auto log_of = [](const char* text) {
    TextSource source(text, "f");
    return source.log_number("a number");
  };
  EXPECT_EQ(log_of("0"), log_zero);
  EXPECT_EQ(log_of("0.0"), log_zero);
  EXPECT_EQ(log_of("-0.0"), log_zero);
  EXPECT_EQ(log_of("0e-999"), log_zero);
  EXPECT_EQ(log_of("7"), std::log(7.0));
  EXPECT_EQ(log_of("+1.5E+2"), std::log(150.0));
  EXPECT_EQ(log_of(".5"), std::log(0.5));
  EXPECT_NEAR(log_of("1e-400"), -400 * std::log(10.0), 1e-12);
  EXPECT_NEAR(log_of("3e-310"), std::log(3.0) - 310 * std::log(10.0), 1e-12);
  EXPECT_NEAR(log_of("1e1300"), 1300 * std::log(10.0), 1e-12);
  for (const char* bad :
       {"", "x", "1x", "-1", "nan", "inf", "-inf", "1e99999", "1e-99999", "--1", "+-1", "0x10", "1,5"})
    expect_error([&] { log_of(bad); }, ErrorKind::bad_data, {"f:1:1: expected a number"});
  TextSource big("99999999999999999999999", "f");
  expect_error([&] { big.count("a count", 10); }, ErrorKind::bad_data,
               {"f:1:1: expected a count of at most 10"});
}

TEST(TextSource, RefusesBinaryAndEndlessWords) {
  TextSource zeros(std::string_view("a \0b", 4), "f");
  EXPECT_TRUE(zeros.next_token());
  expect_error([&] { zeros.next_token(); }, ErrorKind::bad_data,
               {"f:1:3: expected text, found the byte 0x00"});
  const std::string endless(1000, 'a');
  TextSource source(endless, "f", 100);
  expect_error([&] { source.next_token(); }, ErrorKind::bad_data, {"f:1:1:", "more than 100 characters"});
}

TEST(TextSource, GzipByContent) {
  TemporaryFolder folder;
  std::string text;
  for (int k = 0; k < 100000; ++k) text += std::to_string(k) + "\n";
  const std::string path = folder.file("numbers.txt");  // no .gz in the name
  gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  TextSource source(path);
  for (std::uint64_t k = 0; k < 100000; ++k) ASSERT_EQ(source.count("a number"), k);
  source.expect_end();

  const std::string whole = read_whole(path);
  write_whole(path, whole.substr(0, whole.size() / 2));
  expect_error(
      [&] {
        TextSource cut(path);
        while (cut.next_token()) {
        }
      },
      ErrorKind::bad_data, {"numbers.txt", "cut off (unexpected end of file)"});
  std::string garbled = whole;
  for (std::size_t k = 1000; k < 1100; ++k) garbled[k] = static_cast<char>(~garbled[k]);
  write_whole(path, garbled);
  expect_error(
      [&] {
        TextSource damaged(path);
        while (damaged.next_token()) {
        }
      },
      ErrorKind::bad_data, {"numbers.txt", "gzip"});
}

TEST(TextSource, UnreadableFiles) {
  TemporaryFolder folder;
  expect_error([&] { TextSource source(folder.file("none")); }, ErrorKind::cannot_read,
               {"none", "No such file"});
  expect_error([&] { TextSource source(folder.file("")); }, ErrorKind::cannot_read, {"directory"});
  write_whole(folder.file("empty"), "");
  TextSource empty(folder.file("empty"));
  EXPECT_FALSE(empty.next_token());
}

}  // namespace
}  // namespace drover
