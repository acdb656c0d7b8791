// What each model reader understands, and with which words it refuses the rest.
#include <fmt/format.h>

#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

TEST(Uai, ReadsEveryArity) {
  const Model model =
      model_from("MARKOV 3 2 3 1 5  0 1 1 2 0 1 3 2 1 0 1 2\n 1 2  3 1 0 4  6 1 2 3 4 5 6 6 1 2 3 4 5 6 1 7",
                 ModelFormat::uai);
  EXPECT_EQ(model.kind, ModelKind::markov);
  EXPECT_EQ(model.cardinalities, (std::vector<std::uint32_t>{2, 3, 1}));
  EXPECT_EQ(model.log_constant, std::log(2.0));
  EXPECT_EQ(model.unaries.variables, (std::vector<VariableId>{1, 2}));
  EXPECT_EQ(model.unaries.log_values, (std::vector<double>{0, log_zero, std::log(4.0), std::log(7.0)}));
  ASSERT_EQ(model.tables.size(), 2U);
  EXPECT_EQ(model.tables.table_count(), 1U) << "equal tables are tied";
  EXPECT_EQ(model.tables.scopes, (std::vector<VariableId>{0, 1, 2, 1, 0}));
  // Table 1 is over (2, 1, 0): the last variable, 0, runs fastest.
  const Value assignment[3] = {1, 2, 0};
  EXPECT_NEAR(log_score(model, assignment), std::log(2.0 * 4 * 7 * 6 * 6), 1e-14);
}

TEST(Uai, LeavesOutZeroConstants) {
  const Model model = model_from("MARKOV 1 2 3 1 0 0 0 2 1 1 1 0 1 3", ModelFormat::uai);
  EXPECT_EQ(model.log_constant, std::log(3.0));
  ASSERT_EQ(model.warnings.size(), 1U);
}

TEST(Uai, BayesKeepsScopeOrder) {
  const std::string text = "BAYES\n2\n2 2\n2\n1 1\n2 1 0\n2 0.5 0.5\n4 0.9 0.1 0.2 0.8\n";
  const Model model = model_from(text, ModelFormat::uai);
  EXPECT_EQ(model.kind, ModelKind::bayes);
  EXPECT_EQ(model.tables.scopes, (std::vector<VariableId>{1, 0}));
  expect_error([] { model_from("BAYES 2 2 2 1 1 1 2 0.5 0.5", ModelFormat::uai); }, ErrorKind::bad_data,
               {"variable 0", "BAYES"});
  expect_error(
      [] { model_from("BAYES 3 2 2 2 3 2 1 0 2 2 1 2 0 2 4 1 1 1 1 4 1 1 1 1 4 1 1 1 1", ModelFormat::uai); },
      ErrorKind::bad_data, {"without cycles", "0 <- 1 <- 2 <- 0"});
  expect_error([] { model_from("BAYES 1 2 2 1 0 1 0 2 1 1 2 1 1", ModelFormat::uai); }, ErrorKind::bad_data,
               {"variable 0", "two"});
}

struct BadText {
  const char* text;
  const char* place;
  const char* words;
};

void expect_refused(ModelFormat format, std::initializer_list<BadText> cases) {
  for (const BadText& bad : cases) {
    SCOPED_TRACE(bad.text);
    for (std::size_t chunk : {std::size_t{64}, std::size_t{4096}})
      expect_error([&] { model_from(bad.text, format, chunk); }, ErrorKind::bad_data, {bad.place, bad.words});
  }
}

TEST(Uai, Refuses) {
  expect_refused(ModelFormat::uai,
                 {{"", "text:1:1: ", "expected MARKOV or BAYES, found the end of the file"},
                  {"  \n", "text:2:1: ", "expected MARKOV or BAYES"},
                  {"HELLO", "text:1:1: ", "found \"HELLO\""},
                  {"MARKOV", "text:1:7: ", "the number of variables"},
                  {"MARKOV\n99999999999", "text:2:1: ", "at most"},
                  {"MARKOV\n4000000000 2 2", "text:2:15: ", "found the end"},
                  {"MARKOV\n-1", "text:2:1: ", "found \"-1\""},
                  {"MARKOV\n2.5", "text:2:1: ", "found \"2.5\""},
                  {"MARKOV\n1\n0\n", "text:3:1: ", "at least 1 state"},
                  {"MARKOV\n1\n65536", "text:3:1: ", "at most 65535"},
                  {"MARKOV\n1\n2\n999999999999", "text:4:1: ", "the number of factors"},
                  {"MARKOV\n1\n2\n4000000000", "text:4:11: ", "found the end"},
                  {"MARKOV\n1\n2\n1\n2 0 0", "text:5:1: ", "at most 1"},
                  {"MARKOV\n2\n2 2\n1\n2 0 0\n", "text:5:5: ", "0 twice"},
                  {"MARKOV\n2\n2 2\n1\n2 0 2\n", "text:5:5: ", "a variable from 0 to 1"},
                  {"MARKOV\n1\n2\n1\n1 0\n3 1 1 1", "text:6:1: ", "2 entries for factor 0"},
                  {"MARKOV\n1\n2\n1\n1 0\n2 1 -1", "text:6:5: ", ">= 0"},
                  {"MARKOV\n1\n2\n1\n1 0\n2 1 nan", "text:6:5: ", "found \"nan\""},
                  {"MARKOV\n1\n2\n1\n1 0\n2 1 inf", "text:6:5: ", "finite"},
                  {"MARKOV\n1\n2\n1\n1 0\n2 1", "text:6:4: ", "found the end"},
                  {"MARKOV\n1\n2\n1\n1 0\n2 0 0.0", "text:6: ", "factor 0 (counted from 0)"},
                  {"MARKOV\n1\n2\n1\n1 0\n2 1 1 1", "text:6:7: ", "the end of the file"},
                  {"MARKOV 4 65535 65535 65535 65535 1 4 0 1 2 3 1", "text:1:", "fits in memory"}});
  // Counts that cannot be true must not cost memory: a table of 2^40 entries in a short file.
  std::string huge = "MARKOV 40";
  for (int v = 0; v < 40; ++v) huge += " 2";
  huge += " 1 40";
  for (int v = 0; v < 40; ++v) huge += fmt::format(" {}", v);
  expect_error([&] { model_from(huge + " 1099511627776 1 1", ModelFormat::uai); }, ErrorKind::bad_data,
               {"found the end"});
}

TEST(Uai, ReadsGates) {
  const Model model = model_from(
      "MARKOV 4 2 2 2 2 5\n1 0\nOR 3 0 1 2\nNOISY-OR 3 0 1 3 0.9 0.5 0\nBETWEEN 1 2 4 3 2 1 0\n2 0 3\n"
      "2 0.25 0.75\n4 1 2 3 4\n",
      ModelFormat::uai);
  EXPECT_EQ(model.factor_count(), 5U);
  ASSERT_EQ(model.gates.size(), 3U);
  EXPECT_EQ(model.gates.kinds[0], GateKind::or_gate);
  EXPECT_EQ(model.gates.child(0), 2U);
  EXPECT_EQ(model.gates.log_leak_off[1], std::log(0.9));
  EXPECT_EQ(model.gates.input_log_off(1)[0], std::log(0.5));
  EXPECT_EQ(model.gates.input_log_off(1)[1], log_zero);
  EXPECT_EQ(model.gates.low[2], 1U);
  EXPECT_EQ(model.gates.high[2], 2U);
  EXPECT_EQ(model.tables.size(), 1U);
}

TEST(Uai, RefusesBadGates) {
  const auto refuse = [](const std::string& gate, const std::string& words) {
    expect_error([&] { model_from("MARKOV 3 2 2 3 1\n" + gate + "\n", ModelFormat::uai); },
                 ErrorKind::bad_data, {"text:2:", words.c_str()});
  };
  refuse("XOR 2 0 1", "OR, AND");
  refuse("OR 1 0", "more variables");
  refuse("OR 2 0 7", "a variable from 0 to 2");
  refuse("AND 2 0 2", "2 states");
  refuse("OR 2 0 0", "0");
  refuse("EXACTLY 3 2 0 1", "ones");
  refuse("NOISY-OR 2 0 1 0.5 1.5", "probability");
  refuse("NOISY-OR 2 0 1 0.5 -1", "");
  expect_error([] { model_from("MARKOV 3 2 2 3 1\nAT-MOST\n", ModelFormat::uai); }, ErrorKind::bad_data,
               {"text:3:", "ones"});
}

TEST(Uai, GatesComeBackAndOtherFormatsGetTables) {
  TemporaryFolder folder;
  Model model;
  model.cardinalities.assign(5, 2);
  const VariableId three[3] = {4, 1, 0}, four[4] = {0, 1, 2, 3};
  const double off[3] = {std::log(0.1), log_zero, 0};
  const double unary[2] = {0, std::log(0.3)};
  model.unaries.add(0, unary);
  model.gates.add_or(three, 2);
  model.gates.add_and(three, 3);
  model.gates.add_noisy_or(three, 2, off, std::log(0.7));
  model.gates.add_noisy_or_on(three, off, std::log(0.3));
  model.gates.add_count(four, 0, 2);
  model.gates.add_count(four, 1, 4);
  model.gates.add_count(four, 2, 2);
  model.gates.add_count(four, 1, 2);
  write_model(model, folder.file("a.uai"));
  const Model back = read_model(folder.file("a.uai"));
  EXPECT_EQ(back.gates.kinds, model.gates.kinds);
  EXPECT_EQ(back.gates.scopes, model.gates.scopes);
  EXPECT_EQ(back.gates.scope_offsets, model.gates.scope_offsets);
  EXPECT_EQ(back.gates.log_off, model.gates.log_off);
  EXPECT_EQ(back.gates.log_leak_off, model.gates.log_leak_off);
  EXPECT_EQ(back.gates.low, model.gates.low);
  EXPECT_EQ(back.gates.high, model.gates.high);
  write_model(model, folder.file("a.fg"));
  const Model plain = read_model(folder.file("a.fg"));
  EXPECT_EQ(plain.gates.size(), 0U);
  std::vector<Value> x(5);
  for (std::size_t s = 0; s < 32; ++s) {
    for (std::size_t v = 0; v < 5; ++v) x[v] = static_cast<Value>(s >> v & 1);
    const double expected = log_score(model, x), ours = log_score(plain, x);
    if (expected == log_zero) {
      EXPECT_EQ(ours, log_zero);
    } else {
      EXPECT_NEAR(ours, expected, 1e-9);
    }
  }
  Model large;
  large.cardinalities.assign(40, 2);
  std::vector<VariableId> inputs;
  for (VariableId v = 0; v < 39; ++v) inputs.push_back(v);
  large.gates.add_or(inputs, 39);
  expect_error([&] { write_model(large, folder.file("b.fg")); }, ErrorKind::misfit, {"OR", "40"});
}

TEST(Fg, ReadsFirstVariableFastest) {
  const Model model = model_from(
      "# a comment\n3\n\n2\n4 1\n3 2\n5\n0 1\n1 2\n2 3\n# in between\n3 4\n5 6\n\n1\n1\n2\n2\n0 0.5\n1 "
      "0.25\n\n0\n\n\n1\n0 2\n",
      ModelFormat::fg);
  EXPECT_EQ(model.cardinalities, (std::vector<std::uint32_t>{1, 2, 1, 1, 3})) << "gaps have one state";
  EXPECT_EQ(model.log_constant, std::log(2.0));
  EXPECT_EQ(model.tables.scopes, (std::vector<VariableId>{4, 1}));
  const std::vector<double> expected = {std::log(1.0), std::log(4.0), std::log(2.0),
                                        log_zero,      std::log(3.0), std::log(6.0)};
  EXPECT_EQ(model.tables.log_values, expected);
}

TEST(Fg, Refuses) {
  expect_refused(ModelFormat::fg,
                 {{"", "text:1:1: ", "the number of factors"},
                  {"1\n", "text:2:1: ", "found the end"},
                  {"x", "text:1:1: ", "found \"x\""},
                  {"1\n2\n0 0\n", "text:3:3: ", "0 twice"},
                  {"1\n1\n4000000000\n2\n", "text:3:1: ", "a variable number below"},
                  {"1\n1\n40000000\n2\n2\n0 1\n1 1\n", "text: ", "variable 40000000"},
                  {"1\n1\n0\n0\n", "text:4:1: ", "at least 1 state"},
                  {"1\n1\n0\n70000\n", "text:4:1: ", "at most 65535"},
                  {"2\n1\n0\n2\n1\n0 1\n1\n0\n3\n", "text:9:1: ", "2 states for variable 0 as before"},
                  {"1\n1\n0\n2\n3\n", "text:5:1: ", "at most 2 entries"},
                  {"1\n1\n0\n2\n2\n0 1\n2 1\n", "text:7:1: ", "an index from 0 to 1"},
                  {"1\n1\n0\n2\n2\n0 1\n0 1\n", "text:7:1: ", "not been given before"},
                  {"1\n1\n0\n2\n1\n0 -3\n", "text:6:3: ", ">= 0"},
                  {"1\n1\n0\n2\n0\n", "text:5:1: ", "only zeros"},
                  {"1\n1\n0\n2\n1\n0 1\n7\n", "text:7:1: ", "the end of the file"},
                  {"1\n3\n0 1 2\n65535 65535 65535\n1\n0 1\n", "text:4:13: ", "in proportion"},
                  {"1\n4\n0 1 2 3\n65535 65535 65535 65535\n1\n0 1\n", "text:4:19: ", "2^48"}});
}

TEST(Coo, Reads) {
  const Model model = model_from(
      "# constant 2.5\n#variables 6\n# constant couplings, not a number\n0 1 0.5 # note\n 3  -1e-1\n\n2 2 "
      "4\n1 3 -2\n0 2 1",
      ModelFormat::coo);
  EXPECT_EQ(model.variable_count(), 6U);
  EXPECT_EQ(model.log_constant, 2.5);
  EXPECT_EQ(model.spin_pairs.first, (std::vector<VariableId>{0, 1, 0}));
  EXPECT_EQ(model.spin_pairs.second, (std::vector<VariableId>{1, 3, 2}));
  EXPECT_EQ(model.spin_pairs.couplings, (std::vector<double>{0.5, -2, 1}));
  EXPECT_EQ(model.unaries.variables, (std::vector<VariableId>{3, 2}));
  EXPECT_EQ(model.unaries.log_values, (std::vector<double>{0.1, -0.1, -4, 4}));
}

TEST(Coo, Refuses) {
  expect_refused(ModelFormat::coo, {{"", "text:1:1: ", "\"i j J\""},
                                    {"# only a comment\n", "text:2:1: ", "\"i j J\""},
                                    {"0\n", "text:1:2: ", "the end of the line"},
                                    {"a 1 2\n", "text:1:1: ", "a variable number"},
                                    {"0 b\n", "text:1:3: ", "found \"b\""},
                                    {"0 1.5 2\n", "text:1:7: ", "a variable number before the coupling"},
                                    {"0 -1 2\n", "text:1:6: ", "a variable number before the coupling"},
                                    {"0 1 nan\n", "text:1:5: ", "found \"nan\""},
                                    {"0 1 1e999\n", "text:1:5: ", "range"},
                                    {"0 1 2 3\n", "text:1:7: ", "the end of the line"},
                                    {"99999999999 1\n", "text:1:1: ", "at most"},
                                    {"4000000000 1\n", "text: ", "4000000000"},
                                    {"0 1 1\n2 1 1\n\n1 0 2\n", "text:4: ", "first in line 1"}});
}

// Room is made for the rest of a long file; where its pairs stand is known in runs of lines.
TEST(Coo, LongFiles) {
  constexpr std::uint32_t count = 9000;
  std::string text = "# variables 9001\n";
  for (std::uint32_t v = 0; v < count; ++v) text += fmt::format("{} {}\n", v, 0.001 * v);
  for (std::uint32_t v = 0; v < count; ++v)
    text += fmt::format("{}{} {} {}\n", v % 1000 == 7 ? "\n# more\n" : "", v, v + 1, 0.5 * v);
  const Model model = model_from(text, ModelFormat::coo);
  ASSERT_EQ(model.spin_pairs.size(), count);
  ASSERT_EQ(model.unaries.size(), count);
  for (std::uint32_t v = 0; v < count; ++v) {
    ASSERT_EQ(model.spin_pairs.first[v], v);
    ASSERT_EQ(model.spin_pairs.second[v], v + 1);
    ASSERT_EQ(model.spin_pairs.couplings[v], 0.5 * v);
    ASSERT_EQ(model.unaries.variables[v], v);
    ASSERT_EQ(model.unaries.values(v)[1], 0.001 * v);
  }
  // Pair 8006 stands behind 8 blank lines and comments, pair 8008 behind 9; 9 in all.
  const std::string last = fmt::format("text:{}: ", 1 + 2 * count + 18 + 1);
  for (const std::uint32_t v : {8006U, 8008U}) {
    const std::string twice = fmt::format("{}{} {} 1\n", text, v + 1, v);
    const std::string first = fmt::format("first in line {}", 1 + count + v + (v < 8007 ? 16 : 18) + 1);
    expect_refused(ModelFormat::coo, {{twice.c_str(), last.c_str(), first.c_str()}});
  }
}

TEST(Bif, ReadsDialects) {
  const Model model = model_from(R"(
network "Two words" { // comment
  property "version; 1" ; }
/* a ; longer } comment **/
variable "a b" { property x = 3; type discrete[2] { "true" "false" }; }
variable c { type discrete [ 3 ] { lo, 1.5-2, >=3 }; property y; }
variable d { type discrete [ 2 ] { 0, 1 }; }
probability ( "a b" ) { table 0.25 0.75; }
probability ( c | "a b" ) { default 0.2, 0.3, 0.5; (false) 1.0, 0, 0.0; }
probability(d|"a b"  c){table 1 2 3 4 5 6 7 8 9 10 11 12;}
)",
                                 ModelFormat::bif, 64);
  EXPECT_EQ(model.name, "Two words");
  EXPECT_EQ(model.variable_names, (std::vector<std::string>{"a b", "c", "d"}));
  EXPECT_EQ(model.state_names[1], (std::vector<std::string>{"lo", "1.5-2", ">=3"}));
  EXPECT_EQ(model.unaries.log_values, (std::vector<double>{std::log(0.25), std::log(0.75)}));
  ASSERT_EQ(model.tables.size(), 2U);
  EXPECT_EQ(model.tables.scopes, (std::vector<VariableId>{0, 1, 0, 1, 2}));
  const auto rows = model.tables.values(0);
  EXPECT_EQ(std::vector<double>(rows.begin(), rows.end()),
            (std::vector<double>{std::log(0.2), std::log(0.3), std::log(0.5), 0, log_zero, log_zero}));
  // `table` has the child slowest; ours has it fastest.
  const auto table = model.tables.values(1);
  for (std::size_t parents = 0; parents < 6; ++parents)
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ(table[parents * 2 + k], std::log(static_cast<double>(k * 6 + parents + 1)));
}

TEST(Bif, Refuses) {
  const std::string ab =
      "variable a { type discrete [ 2 ] { y, n }; }\nvariable b { type discrete [ 2 ] { y, n }; }\n";
  const std::string a = "probability ( a ) { table 1, 0; }\n";
  const auto refused = [](const std::string& text, const char* place, const char* words) {
    SCOPED_TRACE(text);
    expect_error([&] { model_from(text, ModelFormat::bif, 64); }, ErrorKind::bad_data, {place, words});
  };
  refused("", "text:1:1: ", "\"network\"");
  refused("hello", "text:1:1: ", "\"probability\"");
  refused("network x", "text:1:10: ", "\"{\"");
  refused("variable a { type discrete [ 2 ] { y }; }", "text:1:38: ", "2 states");
  refused("variable a { type discrete [ 2 ] { y, n, m }; }", "text:1:42: ", "2 states");
  refused("variable a { type discrete [ 2 ] { y, y }; }", "text:1:41: ", "distinct");
  refused("variable a { type discrete [ 0 ] { }; }", "text:1:30: ", "1 to 65535");
  refused("variable a { type discrete [ 99999999999 ] { }; }", "text:1:30: ", "1 to 65535");
  refused("variable a { type discrete [ \"\" ] { }; }", "text:1:30: ", "the number of states");
  refused("variable \"a\nb\" { }", "text:1:10: ", "found \"a?b\"");
  refused("variable a { }", "text:1:14: ", "type discrete");
  refused(ab + "variable a { type discrete [ 2 ] { y, n }; }\n", "text:3:10: ", "a new name");
  refused(ab + a, "text:2: ", "a probability block for variable b");
  refused(ab + a + a, "text:4: ", "a second");
  refused(ab + "probability ( z ) { }", "text:3:15: ", "declared");
  refused(ab + "probability ( a | z ) { }", "text:3:19: ", "declared");
  refused(ab + "probability ( a | a ) { }", "text:3:21: ", "twice");
  refused(ab + a + "probability ( b | a ) { (y) 0.5, 0.5; }", "text:4: ", "some missing");
  refused(ab + a + "probability ( b | a ) { (y) 0.5, 0.5; (y) 1, 0; }", "text:4:", "twice");
  refused(ab + a + "probability ( b | a ) { (x) 0.5, 0.5; }", "text:4:26: ", "a state of a");
  refused(ab + a + "probability ( b | a ) { (y) 0.5; }", "text:4:32: ", "2 probabilities");
  refused(ab + a + "probability ( b | a ) { (y) 0.5, 0.5, 0.5; }", "text:4:39: ", "after 2");
  refused(ab + a + "probability ( b | a ) { (y) 0.5, -0.5; }", "text:4:34: ", ">= 0");
  refused(ab + a + "probability ( b | a ) { (y) 0.5, nan; }", "text:4:34: ", "finite");
  refused(ab + a + "probability ( b ) { table 0, 0; }", "text:4: ", "only zeros");
  refused(ab + a + "probability ( b ) { table 1, 0; ", "text:4:33: ", "found the end");
  refused("/* no end", "text:1:1: ", "*/");
  refused("network \"no end", "text:1:9: ", "closing quote");
  std::string wide;
  for (int v = 0; v < 50; ++v) wide += fmt::format("variable v{} {{ type discrete [ 2 ] {{ y, n }}; }}\n", v);
  wide += "probability ( v0 |";
  for (int v = 1; v < 50; ++v) wide += fmt::format(" v{}", v);
  refused(wide + ") { default 1, 0; }", "text:51:", "2^48");
}

TEST(ModelFile, GuessesTheFormat) {
  const auto guess = [](const char* text) {
    TextSource source(text, "text");
    return guess_format(source);
  };
  EXPECT_EQ(guess("\n MARKOV\n"), ModelFormat::uai);
  EXPECT_EQ(guess("BAYES 3"), ModelFormat::uai);
  EXPECT_EQ(guess("network{"), ModelFormat::bif);
  EXPECT_EQ(guess("// a network\nnetwork x"), ModelFormat::bif);
  EXPECT_EQ(guess("# c\n 3 \n"), ModelFormat::fg);
  EXPECT_EQ(guess("# c\n3 4 1\n"), ModelFormat::coo);
  EXPECT_EQ(guess("3 4\n"), ModelFormat::coo);
  for (const char* text : {"", "\n#\n", "hello", "PK\3\4"})
    expect_error([&] { guess(text); }, ErrorKind::bad_data, {"text: ", "UAI"});
  TemporaryFolder folder;
  write_whole(folder.file("odd.name"), "0 1 0.5\n");
  EXPECT_EQ(read_model(folder.file("odd.name")).spin_pairs.size(), 1U);
  expect_error([&] { read_model(folder.file("none.uai")); }, ErrorKind::cannot_read, {"none.uai"});
}

TEST(ModelFile, ReadsTheModelsFolder) {
  const std::string folder = DROVER_SOURCE_DIR "/models/";
  const Model sprinkler = read_model(folder + "sprinkler.bif");
  const Graph graph = compile(sprinkler);
  const Enumeration exact = enumerate(graph);
  EXPECT_NEAR(exact.log_z, 0, 1e-12);
  EXPECT_NEAR(exact.marginals[1][0], 0.55 * 0.9 + 0.45 * 0.4, 1e-12);
  EXPECT_EQ(compile(read_model(folder + "grid-3x3.uai")).spin_pairs.size(), 12U);
  // Ten of the 32 states of the odd cycle have one frustrated edge, the fewest possible.
  EXPECT_NEAR(enumerate(compile(read_model(folder + "odd-cycle.uai"))).best_log_score, std::log(0.2), 1e-12);
  const Enumeration parity = enumerate(compile(read_model(folder + "xor.uai")));
  EXPECT_EQ(std::count(parity.probabilities.begin(), parity.probabilities.end(), 0.0), 24);
  EXPECT_EQ(enumerate(compile(read_model(folder + "triangle.coo"))).best.size(), 3U);
  const Enumeration colours = enumerate(compile(read_model(folder + "colours.fg")));
  EXPECT_EQ(std::count_if(colours.probabilities.begin(), colours.probabilities.end(),
                          [](double p) { return p > 0; }),
            21);
}

}  // namespace
}  // namespace drover
