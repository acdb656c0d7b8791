// Damaged files are bad_data, never a crash, a hang or silent nonsense; tables of others are understood.
#include <gtest/gtest.h>

#include <limits>

#include "drover/core/error.hpp"
#include "drover/io/csv_cell.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/text_source.hpp"
#include "tests/io_draws/temporary_folder.hpp"

namespace drover {
namespace {

using testing::TemporaryFolder;

DrawFile parse(const std::string& text) {
  TextSource source(text, "table.csv");
  return parse_draws_csv(source);
}

std::string message_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    return error.what();
  }
  return "accepted";
}

std::string small_file(const TemporaryFolder& folder, const std::string& name) {
  DrawFileHeader header;
  header.variable_names = {"a", "b", "c"};
  header.chains = 2;
  header.max_cardinality = 3;
  const auto writer = make_draw_writer(folder.file(name), header);
  for (std::size_t t = 0; t < 40; ++t)
    for (std::size_t c = 0; c < 2; ++c)
      writer->append(c, std::vector<Value>{Value(t % 2), Value(t % 3), Value(c)},
                     1.0 / static_cast<double>(t + 1));
  writer->finish();
  return folder.read(name);
}

DrawFile parse_npz(const std::string& bytes) {
  return parse_draws_npz({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, "bad.npz");
}

TEST(BadNpz, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = small_file(folder, "draws.npz");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse_npz(bytes.substr(0, size)), Error) << size;
}

TEST(BadNpz, EveryChangedByteIsRefusedOrHarmless) {
  const TemporaryFolder folder;
  const std::string bytes = small_file(folder, "draws.npz");
  const DrawFile original = read_draws(folder.file("draws.npz"));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      try {
        const DrawFile file = parse_npz(changed);
        // Names of entries, times and the like are not protected by a sum; the draws are.
        if (file.values.index() == 0 && file.chains == 2 && file.draws == 40) {
          EXPECT_EQ(file.values, original.values) << "byte " << i;
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_data);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(BadNpz, OtherFiles) {
  const TemporaryFolder folder;
  folder.write("empty.npz", "");
  folder.write("text.npz", "chain,draw\n0,0\n");
  for (const char* name : {"empty.npz", "text.npz"}) {
    try {
      read_draws(folder.file(name));
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      EXPECT_NE(std::string(error.what()).find("not a NumPy .npz archive"), std::string::npos);
    }
  }
}

TEST(BadNetcdf, IsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = small_file(folder, "draws.nc");
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, bytes.size() / 2}) {
    folder.write("bad.nc", bytes.substr(0, size));
    try {
      read_draws(folder.file("bad.nc"));
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    }
  }
}

TEST(BadGzip, IsRefused) {
  const TemporaryFolder folder;
  const std::string bytes = small_file(folder, "draws.csv.gz");
  folder.write("bad.csv.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_THROW(read_draws(folder.file("bad.csv.gz")), Error);
}

TEST(CsvColumns, OddNamesAndScores) {
  const TemporaryFolder folder;
  DrawFileHeader header;
  header.variable_names = {".chain", "two\nlines", "", "1"};
  header.max_cardinality = 2000;
  header.chains = 2;
  const auto writer = make_draw_writer(folder.file("draws.csv"), header);
  for (std::size_t t = 0; t < 10; ++t)
    for (std::size_t c = 0; c < 2; ++c) {
      std::vector<Value> x(4);
      for (std::size_t v = 0; v < 4; ++v) x[v] = Value(100 * t + 10 * c + v);
      writer->append(c, x, t == 3 ? -std::numeric_limits<double>::infinity() : 0.1 * static_cast<double>(t));
    }
  writer->finish();
  const DrawFile file = read_draws(folder.file("draws.csv"));
  EXPECT_EQ(file.variable_names, header.variable_names);
  ASSERT_EQ(file.draws, 10U);
  const auto& values = std::get<std::vector<std::uint16_t>>(file.values);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 100 * (i / 8) + 10 * (i / 4 % 2) + i % 4);
  EXPECT_EQ(file.log_scores[2 * 3], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(file.log_scores[2 * 7 + 1], 0.1 * 7);
}

// Names may come from strangers, and spreadsheets run cells that begin so.
TEST(CsvColumns, NamesAreNotFormulas) {
  EXPECT_EQ(csv_cell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  EXPECT_EQ(csv_cell("+1+2,3"), "\"'+1+2,3\"");
  EXPECT_EQ(csv_cell("\t=1"), "\"'\t=1\"");
  for (const char* harmless : {"rain", "-1.5", "+2", "1e-3", "rain=yes", "a-b", "'tis"})
    EXPECT_EQ(csv_cell(harmless), harmless);

  const TemporaryFolder folder;
  DrawFileHeader header;
  header.variable_names = {"=1+1", "'=1+1", "''=1+1", "@sum", "-x", "-1", "'-1",
                           "+",    "'",     "'tis",   "a b ", "#",  "\t="};
  header.max_cardinality = 2;
  header.chains = 1;
  const auto writer = make_draw_writer(folder.file("draws.csv"), header);
  writer->append(0, std::vector<Value>(header.variable_names.size(), 1), 0);
  writer->finish();
  EXPECT_EQ(read_draws(folder.file("draws.csv")).variable_names, header.variable_names);
}

TEST(CsvColumns, TablesOfOthers) {
  const DrawFile plain = parse("0.5,1\n-2,3e2\r\n\n# a comment\n7,8");
  EXPECT_EQ(plain.draws, 3U);
  EXPECT_EQ(plain.chains, 1U);
  EXPECT_EQ(plain.variable_names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(std::get<std::vector<double>>(plain.values), (std::vector<double>{0.5, 1, -2, 300, 7, 8}));
  // Chain after chain instead of draw after draw, chain numbers from 1, CmdStan's and posterior's columns.
  const DrawFile chains =
      parse("# stan\nlp__,x,.chain,.iteration\n-1,0,2,1\n-2,1,2,2\n-3, 4 ,1,1\n-4,5,1,2\n");
  EXPECT_EQ(chains.chains, 2U);
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(chains.values), (std::vector<std::uint8_t>{4, 0, 5, 1}));
  EXPECT_EQ(chains.log_scores, (std::vector<double>{-3, -1, -4, -2}));
}

TEST(CsvColumns, MistakesHaveTheirPlace) {
  EXPECT_EQ(message_of("a,b\n1,2\n3\n"), "table.csv:3:1: expected 2 columns, found 1");
  EXPECT_EQ(message_of("a,b\n1,2\n3,4,5\n"), "table.csv:3:5: expected 2 columns, found more");
  EXPECT_EQ(message_of("a,b\n1,two\n"), "table.csv:2:3: expected a number, found \"two\"");
  EXPECT_EQ(message_of("a,b\n1,\n"), "table.csv:2:3: expected a number, found \"\"");
  EXPECT_NE(message_of("a,\"b\n1,2\n").find("a quote that is not closed"), std::string::npos);
  EXPECT_NE(message_of("a,\"b\"c\n1,2\n").find("expected a comma"), std::string::npos);
  EXPECT_NE(message_of("").find("found nothing"), std::string::npos);
  EXPECT_NE(message_of("chain,draw\n0,0\n").find("expected a column for a variable"), std::string::npos);
  EXPECT_NE(message_of("chain,x\n0,1\n0,2\n1,5\n").find("chain 0 has 2 draws, chain 1 has 1"),
            std::string::npos);
  EXPECT_NE(message_of("chain,x\nnan,1\n").find("expected a chain number"), std::string::npos);
}

}  // namespace
}  // namespace drover
