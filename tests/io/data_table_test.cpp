// Data tables and moments files.
#include "drover/io/data_table.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/moments.hpp"
#include "drover/io/text_source.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

DataTable parse(const std::string& text, const DataOptions& options = {}) {
  TextSource source(text, "t.csv");
  return parse_text_table(source, options);
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(DataTable, BinaryWithAndWithoutHeader) {
  const DataTable named = parse("a,b\n0,1\n1,1\n");
  EXPECT_EQ(named.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(named.values, (std::vector<Value>{0, 1, 1, 1}));
  const DataTable bare = parse("0\t1\r\n\n1\t1\r\n1\t0");
  EXPECT_EQ(bare.names, (std::vector<std::string>{"x0", "x1"}));
  EXPECT_EQ(bare.rows, 3U);
  EXPECT_EQ(parse("1;0\n0;0\n", {.header = Header::yes}).names, (std::vector<std::string>{"1", "0"}));
}

TEST(DataTable, TextsAreStates) {
  const DataTable table = parse("sex,\"a \"\"b\"\"\"\nM,no\nF,yes\nI,\"no\"\n");
  EXPECT_EQ(table.names[1], "a \"b\"");
  EXPECT_EQ(table.cardinalities, (std::vector<std::uint32_t>{3, 2}));
  EXPECT_EQ(table.state_names[0], (std::vector<std::string>{"F", "I", "M"}));
  EXPECT_EQ(table.values, (std::vector<Value>{2, 0, 0, 1, 1, 0}));
  // A first row that comes again is data.
  EXPECT_EQ(parse("red,up\nblue,down\nred,down\n").rows, 3U);
  EXPECT_EQ(parse("red,up\nblue,down\nred,up\n", {.header = Header::yes}).rows, 2U);
  EXPECT_EQ(parse("red,up\nblue,down\ngreen,down\n", {.header = Header::no}).rows, 3U);
}

// What `drover sample` writes behind the draws of a run that had warnings, whatever separates cells.
TEST(DataTable, ARemarkOfDroverIsNoRow) {
  const std::string remark = "# drover {\"command\":\"sample\",\"warnings\":[\"a \"]}\n";
  for (const std::string separator : {",", ";", "\t"}) {
    const std::string rows = "a" + separator + "b\n0" + separator + "1\n";
    const DataTable table = parse(rows + remark);
    EXPECT_EQ(table.values, (std::vector<Value>{0, 1})) << separator;
    EXPECT_EQ(parse(rows + remark + "1" + separator + "1\n").rows, 2U);
  }
  // In quotes it is somebody's text.
  EXPECT_EQ(parse("n\n\"# drover a\"\nx\nx\n", {.header = Header::yes}).rows, 3U);
}

TEST(DataTable, NumbersAreBinarisedOnRequest) {
  const std::string text = "a,b\n0,1\n2,1\n7,0\n";
  expect_part(error_of([&] { parse(text); }), "t.csv: column a has numbers other than 0 and 1");
  EXPECT_EQ(parse(text, {.binarise = Binarise::mean}).values, (std::vector<Value>{0, 1, 0, 1, 1, 0}));
  EXPECT_EQ(parse(text, {.binarise = Binarise::median}).values, (std::vector<Value>{0, 1, 0, 1, 1, 0}));
  EXPECT_EQ(parse(text, {.binarise = Binarise::threshold, .threshold = 2}).values,
            (std::vector<Value>{0, 1, 1, 1, 1, 0}));
  const DataTable states = parse(text, {.binarise = Binarise::none});
  EXPECT_EQ(states.cardinalities, (std::vector<std::uint32_t>{3, 2}));
  EXPECT_EQ(states.values, (std::vector<Value>{0, 1, 1, 1, 2, 0}));
  EXPECT_EQ(parse(text, {.binarise = Binarise::none, .columns = {"1"}}).values,
            (std::vector<Value>{1, 1, 0}));
  EXPECT_EQ(parse("a,b\n1,0\n3,1\n", {.binarise = Binarise::mean, .columns = {"b", "a"}}).values,
            (std::vector<Value>{0, 0, 1, 1}));
  expect_part(error_of([&] { parse(text, {.columns = {"c"}}); }), "no column c");
  DataOptions options;
  OptionList list;
  describe(list, options);
  list.find("binarise")->set("2");
  EXPECT_EQ(options.binarise, Binarise::threshold);
  EXPECT_EQ(options.threshold, 2);
  EXPECT_EQ(list.find("binarise")->text(), "2");
  list.find("columns")->set("b,a");
  EXPECT_EQ(options.columns, (std::vector<std::string>{"b", "a"}));
  EXPECT_THROW(list.find("binarise")->set("middle"), OptionError);
}

TEST(DataTable, ErrorsNameThePlace) {
  expect_part(error_of([] { parse("a,b\n0,1\n0\n"); }), "t.csv:3:");
  expect_part(error_of([] { parse("a,b\n0,1\n0,\n"); }), "t.csv:3:3: expected a value in column b");
  expect_part(error_of([] { parse("a,b\n\"x,1\n"); }), "quote");
  expect_part(error_of([] { parse(""); }), "t.csv: expected a table");
  expect_part(error_of([] { parse("a,b\n"); }), "t.csv: expected rows of data below the header");
  expect_part(error_of([] { parse("a,b\n", {.constant_columns = true}); }), "below the header");
  EXPECT_EQ(parse("a,b\n", {.header = Header::no, .constant_columns = true}).rows, 1U);
  expect_part(error_of([] { parse("a\nx\nx\n", {.header = Header::yes}); }), "one value");
  expect_part(error_of([] { read_data_table("/nonexistent.csv"); }), "/nonexistent.csv");
}

TEST(DataTable, MissingValuesAreAnErrorDroppedOrAState) {
  const std::string text = "a,b,c\n0,NaN,x\n1,1,?\n1,0,y\n0,1,x\n0,0,\"?\"\n";
  expect_part(error_of([&] { parse(text); }), "t.csv:2:3: expected a value in column b, found NaN");
  expect_part(error_of([&] { parse(text, {.columns = {"c"}}); }), "t.csv:3:5");
  // What is not missing in a chosen column is no concern.
  EXPECT_EQ(parse(text, {.columns = {"a"}}).rows, 5U);

  const DataTable dropped = parse(text, {.missing = Missing::drop});
  EXPECT_EQ(dropped.rows, 3U);
  EXPECT_EQ(dropped.dropped, 2U);
  EXPECT_EQ(dropped.values, (std::vector<Value>{1, 0, 2, 0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(parse(text, {.columns = {"a", "b"}, .missing = Missing::drop}).rows, 4U);

  const DataTable kept = parse(text, {.missing = Missing::state});
  EXPECT_EQ(kept.cardinalities, (std::vector<std::uint32_t>{2, 3, 4}));
  EXPECT_EQ(kept.state_names[1], (std::vector<std::string>{"0", "1", "missing"}));
  EXPECT_EQ(kept.values[1], 2);
  EXPECT_EQ(kept.state_names[2], (std::vector<std::string>{"?", "x", "y", "missing"}));

  // Means and medians are those of the values there are; a state that only dropped rows had is none.
  EXPECT_EQ(parse("a\n1\nNA\n3\n8\n", {.binarise = Binarise::mean, .missing = Missing::drop}).values,
            (std::vector<Value>{0, 0, 1}));
  EXPECT_EQ(parse("a,b\nx,\ny,1\nz,0\n", {.missing = Missing::drop}).cardinalities[0], 2U);
  expect_part(error_of([] { parse("a,b\nNA,1\n1,NA\n", {.missing = Missing::drop}); }), "every row");
}

TEST(DataTable, ByteOrderMarkIsNoPartOfTheFirstName) {
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "a,b\n0,1\n1,1\n")
                .names[0],
            "a");
  expect_part(error_of([] {
                parse(
                    "\xEF\xBB\xBF"
                    ",b\n,1\n");
              }),
              "t.csv:2:1");
  expect_part(error_of([] {
                parse(
                    "\xEF\xBB\xBF"
                    "1,0\n\"x\"y,1\n");
              }),
              "t.csv:2:1");
}

TEST(DataTable, NamesMustDiffer) {
  expect_part(error_of([] { parse("a,b,a\n0,1,1\n1,1,0\n"); }),
              "columns 0 and 2 (from 0) have the same name a");
  EXPECT_EQ(parse("a,b,a\n0,1,1\n1,0,0\n", {.columns = {"b", "2"}}).values, (std::vector<Value>{1, 1, 0, 0}));
  expect_part(error_of([] { parse("a,b,a\n0,1,1\n1,0,0\n", {.columns = {"a"}}); }), "several have this name");
  // Two equal texts in the first row of a table of texts are data.
  EXPECT_EQ(parse("red,red\nblue,green\ngreen,blue\n").rows, 3U);
  // A column without a name gets one.
  EXPECT_EQ(parse(",b\n0,1\n1,0\n").names, (std::vector<std::string>{"x0", "b"}));
}

TEST(DataTable, BlanksSeparate) {
  const DataTable table = parse("a b  c\n0 1  1\n 1 1 0 \n1 0 1");
  EXPECT_EQ(table.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(table.values, (std::vector<Value>{0, 1, 1, 1, 1, 0, 1, 0, 1}));
  EXPECT_EQ(parse("1 0\r\n0 1\r\n").values, (std::vector<Value>{0, 1, 1, 0}));
  EXPECT_EQ(parse("\"a b\" c\n0 1\n1 0\n").names, (std::vector<std::string>{"a b", "c"}));
  // Texts with blanks in a single column stay whole.
  EXPECT_EQ(parse("city\nNew York\nParis\nNew York\n").state_names[0],
            (std::vector<std::string>{"New York", "Paris"}));
  EXPECT_EQ(parse("New York\nParis\nNew York\n", {.header = Header::no}).variables(), 1U);
}

TEST(DataTable, ReadingCanBeStopped) {
  RunControl control;
  control.request_stop();
  TextSource source("a,b\n0,1\n1,0\n", "t.csv");
  EXPECT_THROW(parse_text_table(source, {}, control), Error);
}

TEST(DataTable, Idx) {
  const std::vector<std::uint8_t> bytes = {0, 0, 8, 3, 0, 0, 0,   2, 0,   0, 0,
                                           1, 0, 0, 0, 3, 0, 200, 7, 255, 0, 9};
  const DataTable table = parse_idx_table(bytes, "i", {.binarise = Binarise::threshold, .threshold = 128});
  EXPECT_EQ(table.rows, 2U);
  EXPECT_EQ(table.names, (std::vector<std::string>{"x0", "x1", "x2"}));
  EXPECT_EQ(table.values, (std::vector<Value>{0, 1, 0, 1, 0, 0}));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse_idx_table(std::span(bytes).first(size), "i",
                                 {.binarise = Binarise::threshold, .threshold = 128}),
                 Error)
        << size;
  std::vector<std::uint8_t> huge = bytes;
  for (std::size_t k : {4, 8, 12}) huge[k] = 255;
  EXPECT_THROW(parse_idx_table(huge, "i", {.binarise = Binarise::threshold, .threshold = 128}), Error);
}

TEST(DataTable, FilesAreKnownByContent) {
  testing::TemporaryFolder folder;
  const std::string text = "a,b\n0,1\n1,1\n";
  gzFile file = gzopen(folder.file("t.gz").c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(read_data_table(folder.file("t.gz")).values, parse(text).values);
  DrawFileHeader header;
  header.variable_names = {"u", "v"};
  auto writer = make_draw_writer(folder.file("d.npz"), header);
  writer->append(0, std::vector<Value>{0, 1}, 0);
  writer->append(0, std::vector<Value>{1, 1}, 0);
  writer->finish();
  const DataTable table = read_data_table(folder.file("d.npz"));
  EXPECT_EQ(table.names, (std::vector<std::string>{"u", "v"}));
  EXPECT_EQ(table.values, (std::vector<Value>{0, 1, 1, 1}));
}

TEST(DataTable, SharedDataSets) {
  const std::string data = std::string(DROVER_SOURCE_DIR) + "/../shared/data/";
  if (!std::filesystem::exists(data + "abalone/abalone.csv")) GTEST_SKIP() << "no shared data";
  const DataTable abalone = read_data_table(data + "abalone/abalone.csv", {.binarise = Binarise::mean});
  EXPECT_EQ(abalone.rows, 4177U);
  EXPECT_EQ(abalone.cardinalities[0], 3U);
  const DataTable digits = read_data_table(data + "usps/usps11000-images-idx3-ubyte.gz",
                                           {.binarise = Binarise::threshold, .threshold = 128});
  EXPECT_EQ(digits.rows, 11000U);
  EXPECT_EQ(digits.variables(), 256U);
}

Moments parse_text(const std::string& text) {
  TextSource source(text, "m.txt");
  return parse_moments(source);
}

TEST(MomentsFile, SinglesPairsTriplesAndStates) {
  const Moments moments =
      parse_text("moments # for a test\n2 2 3\n\n1 0 0.2\n0 0.5 # half\n1 .25\n2=2 1 0=0 0.125\n");
  ASSERT_EQ(moments.set.size(), 4U);
  EXPECT_EQ(moments.values, (std::vector<double>{0.5, 0.25, 0.2, 0.125}));
  EXPECT_EQ(feature_text(moments.set, 2, {}), "0=1 1=1");
  EXPECT_EQ(feature_text(moments.set, 3, {}), "0=0 1=1 2=2");
  EXPECT_EQ(parse_text("moments\n2 2\n0 .5\n1 .5\n0 1 .3\n").set.complete_order, 2U);
}

TEST(MomentsFile, ErrorsNameThePlace) {
  const auto message = [](const std::string& text) { return error_of([&] { parse_text(text); }); };
  expect_part(message("moment\n"), "m.txt:1:1: expected the word moments");
  expect_part(message("moments\n2 1\n"), "m.txt:2:3: expected at least 2 states");
  expect_part(message("moments\n2 2\n0 2 0.5\n"), "m.txt:3");
  expect_part(message("moments\n2 3\n1 0.5\n"), "1=STATE");
  expect_part(message("moments\n2 3\n1=3 0.5\n"), "a state below 3");
  expect_part(message("moments\n2 2\n0 1.5\n"), "probability");
  expect_part(message("moments\n2 2\n0 nan\n"), "probability");
  expect_part(message("moments\n2 2\n0 0 .5\n"), "twice");
  expect_part(message("moments\n2 2\n0 1 .5\n1 0 .5\n"), "given before");
  expect_part(message("moments\n2 2\n"), "at least one moment");
  expect_part(message("moments\n"), "numbers of states");
}

}  // namespace
}  // namespace drover
