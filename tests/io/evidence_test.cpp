#include "drover/io/evidence.hpp"

#include "drover/io/result_files.hpp"
#include "drover/model/builders.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

Model five_spins() {
  return ising(chain_edges(5), Draw::constant(1), Draw::constant(0), 1);
}

Evidence evidence_from(const char* text) {
  TextSource source(text, "text");
  return read_evidence(five_spins(), source);
}

TEST(Evidence, BothVariants) {
  struct Case {
    const char* text;
    std::vector<VariableId> variables;
    std::vector<Value> values;
  };
  const Case cases[] = {{"", {}, {}},
                        {"0", {}, {}},
                        {"0\n", {}, {}},
                        {"1\n0\n", {}, {}},
                        {"2 4 1 0 0", {4, 0}, {1, 0}},
                        {"2\n4 1\n0 0\n", {4, 0}, {1, 0}},
                        {"1 3 1", {3}, {1}},
                        {"1\n3 1\n", {3}, {1}},
                        {"1\n2 4 1 0 1\n", {4, 0}, {1, 1}},
                        {"1\n1 2 0\n", {2}, {0}},
                        {"1 1 2 0", {2}, {0}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const Evidence evidence = evidence_from(c.text);
    EXPECT_EQ(evidence.variables, c.variables);
    EXPECT_EQ(evidence.values, c.values);
  }
}

TEST(Evidence, Refuses) {
  const auto refused = [](const char* text, const char* place, const char* words) {
    SCOPED_TRACE(text);
    expect_error([&] { evidence_from(text); }, ErrorKind::bad_data, {place, words});
  };
  refused("x", "text:1:1: ", "a whole number");
  refused("2 1 0", "text:1: ", "2 observed variables");
  refused("1\n2 1 0\n", "text:2: ", "2 observed variables");
  refused("0 1", "text:1: ", "after 0 observed variables");
  refused("1 5 0", "text:1: ", "a variable from 0 to 4, found 5");
  refused("1\n3\n2", "text:3: ", "a value from 0 to 1 for variable 3, found 2");
  refused("2\n1 0 0\n1 1 1\n", "text:1: ", "2 samples");
  refused("2\n0\n1 1 1\n", "text:1: ", "2 samples");
  refused("99999999999999999999", "text:1:1: ", "whole number");
  refused("4000000000 1 1", "text:1: ", "4000000000 observed");
}

TEST(Evidence, Typed) {
  const Model model = read_model(DROVER_SOURCE_DIR "/models/sprinkler.bif");
  const Evidence evidence = parse_observations(model, " rain=heavy, 2 = on,lawn=0 ");
  EXPECT_EQ(evidence.variables, (std::vector<VariableId>{1, 2, 3}));
  EXPECT_EQ(evidence.values, (std::vector<Value>{2, 1, 0}));
  EXPECT_EQ(parse_observations(model, "  ").size(), 0U);
  EXPECT_EQ(parse_query(model, "street,0"), (std::vector<VariableId>{4, 0}));
  EXPECT_TRUE(parse_query(model, "").empty());
  expect_error([&] { parse_observations(model, "rian=heavy"); }, ErrorKind::usage,
               {"unknown variable \"rian\"", "\"rain\""});
  expect_error([&] { parse_observations(model, "rain=heavi"); }, ErrorKind::usage,
               {"\"heavi\"", "rain", "\"heavy\""});
  expect_error([&] { parse_observations(model, "rain=3"); }, ErrorKind::usage, {"3", "0 to 2"});
  expect_error([&] { parse_observations(model, "rain"); }, ErrorKind::usage, {"NAME=VALUE", "\"rain\""});
  expect_error([&] { parse_observations(model, "rain=light,"); }, ErrorKind::usage, {"NAME=VALUE"});
  expect_error([&] { parse_query(model, "5"); }, ErrorKind::usage, {"variable 5", "0 to 4"});
  expect_error([&] { parse_query(model, "stret"); }, ErrorKind::usage, {"\"street\""});
  expect_error([&] { parse_query(five_spins(), "a"); }, ErrorKind::usage, {"no names"});
  expect_error([&] { parse_query(five_spins(), "-1"); }, ErrorKind::usage, {"\"-1\""});
}

TEST(ResultFiles, RoundTrip) {
  TemporaryFolder folder;
  const std::vector<std::vector<double>> marginals = {{0.1, 0.9}, {1}, {1.0 / 3, 1e-300, 2.0 / 3}};
  Distributions rows;
  for (const auto& row : marginals) rows.push_back(row);
  write_mar(rows, folder.file("m.MAR"));
  EXPECT_EQ(read_whole(folder.file("m.MAR")).substr(0, 22), "MAR\n3 2 0.1 0.9 1 1 3 ");
  EXPECT_EQ(read_mar(folder.file("m.MAR")), marginals);
  write_pr(std::log(1000.0), folder.file("m.PR"));
  EXPECT_NEAR(read_pr(folder.file("m.PR")), std::log(1000.0), 1e-15);
  EXPECT_NEAR(std::stod(read_whole(folder.file("m.PR")).substr(3)), 3.0, 1e-15);
  const std::vector<Value> assignment = {0, 3, 65534};
  write_map(assignment, folder.file("m.MAP"));
  EXPECT_EQ(read_whole(folder.file("m.MAP")), "MAP\n3 0 3 65534\n");
  EXPECT_EQ(read_map(folder.file("m.MAP")), assignment);
}

TEST(ResultFiles, Refuse) {
  const auto mar = [](const char* text) {
    TextSource source(text, "text");
    read_mar(source);
  };
  const auto map = [](const char* text) {
    TextSource source(text, "text");
    read_map(source);
  };
  const auto pr = [](const char* text) {
    TextSource source(text, "text");
    read_pr(source);
  };
  expect_error([&] { mar("MAP 0"); }, ErrorKind::bad_data, {"text:1:1: expected MAR"});
  expect_error([&] { mar("MAR 4000000000 2"); }, ErrorKind::bad_data, {"text:1:17: expected a probability"});
  expect_error([&] { mar("MAR 1 0"); }, ErrorKind::bad_data, {"at least 1 state"});
  expect_error([&] { mar("MAR 1 2 -0.5 1.5"); }, ErrorKind::bad_data, {"text:1:9: "});
  expect_error([&] { mar("MAR 1 1 1 1"); }, ErrorKind::bad_data, {"the end of the file"});
  expect_error([&] { map("MAP 2 0"); }, ErrorKind::bad_data, {"found the end"});
  expect_error([&] { map("MAP 1 70000"); }, ErrorKind::bad_data, {"at most 65534"});
  expect_error([&] { pr("PR x"); }, ErrorKind::bad_data, {"found \"x\""});
  expect_error([&] { pr("PR"); }, ErrorKind::bad_data, {"found the end"});
}

}  // namespace
}  // namespace drover
