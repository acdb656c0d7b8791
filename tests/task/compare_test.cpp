// Two sets of rows, and draws, by one call each.
#include "drover/task/compare.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/random.hpp"
#include "drover/io/text_source.hpp"
#include "drover/report/compare_page.hpp"
#include "drover/report/diagnose_page.hpp"
#include "drover/task/diagnose.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "drover/task/inference.hpp"

namespace drover {
namespace {

DataTable compared_table(const std::string& text) {
  TextSource source(text, "t.csv");
  return parse_text_table(source, {.constant_columns = true});
}

/// Independent pairs of bits that agree with this probability, each fair.
DataTable pairs(std::size_t rows, double agree, std::uint32_t stream) {
  DataTable table;
  table.names = {"a", "b"};
  table.cardinalities = {2, 2};
  table.rows = rows;
  RandomSequence random(7, Stream::start, stream);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = static_cast<Value>(random.uniform() < 0.5);
    table.values.push_back(first);
    table.values.push_back(random.uniform() < agree ? first : 1 - first);
  }
  return table;
}

TEST(CompareTask, StatesAreMatchedByName) {
  const CompareResult result =
      compare(compared_table("sky,rain\nblue,0\ngrey,1\n"), compared_table("sky,rain\ngrey,1\ngrey,1\n"));
  EXPECT_DOUBLE_EQ(result.mean_difference_max, 0.5);
  // k = 1 for equal rows, exp(-1) for rows that differ in both: (1 + e^-1)/2 + 1 - (1 + e^-1).
  EXPECT_NEAR(result.squared_mmd, 0.5 - std::exp(-1.0) / 2, 1e-12);
}

TEST(CompareTask, TheVerdictTellsSourcesApart) {
  const CompareResult same = compare(pairs(400, 0.8, 0), pairs(400, 0.8, 1));
  // Fixed seeds; a p-value is at most 0.05 once in twenty.
  EXPECT_GT(same.p_value_mmd, 0.05);
  EXPECT_GT(same.p_value_pairs, 0.05);
  EXPECT_EQ(judge(same).verdict, Verdict::good) << judge(same).text;
  // Means agree, pairs do not: P(both 1) is 0.4 and 0.25, 0.025 the standard deviation of 400 rows.
  const CompareResult other = compare(pairs(400, 0.8, 0), pairs(400, 0.5, 1));
  EXPECT_DOUBLE_EQ(other.p_value_pairs, 1.0 / 200);
  EXPECT_EQ(judge(other).verdict, Verdict::bad);
  const std::string page = page_of(other, to_json(other).text());
  EXPECT_NE(page.find(fmt::format("{:.5f}", other.pair_difference_rms)), std::string::npos);
  EXPECT_NE(page.find(fmt::format("{:.3f}", std::log(other.squared_mmd))), std::string::npos);
  const DataTable one = pairs(100, 0.8, 0);
  EXPECT_EQ(compare(one, one).p_value_mmd, 1);
  // Sizes that differ are warned of, and warnings take the good word back.
  EXPECT_EQ(judge(compare(pairs(400, 0.8, 0), pairs(300, 0.8, 1))).verdict, Verdict::caution);
}

TEST(CompareTask, ColumnsInAnotherOrder) {
  const CompareResult result = compare(compared_table("a,b\n0,1\n1,1\n"), compared_table("b,a\n0,1\n1,1\n"));
  ASSERT_EQ(result.provenance.warnings.size(), 1U);
  EXPECT_NE(result.provenance.warnings[0].find("another order"), std::string::npos);
  EXPECT_THROW(compare(compared_table("a\n0\n1\n"), compared_table("a,b\n0,1\n1,1\n")), Error);
}

TEST(CompareTask, DrawsOfEveryFormatAreReadAlike) {
  // Three states: data like these would need a decision, draws do not.
  Model model;
  model.cardinalities = {3, 2};
  const double log_p[3] = {0.1, 0.7, -0.4};
  model.unaries.add(0, log_p);
  std::vector<DataTable> tables;
  for (const char* ending : {".npz", ".csv", ".csv.gz", ".nc"}) {
    const std::string path = ::testing::TempDir() + "drawn" + ending;
    DrawFileSink sink(path);
    Samples samples = sample(model, {.samples = 200}, sink);
    sink.finish(samples);
    tables.push_back(read_rows(path, {}));
  }
  for (const DataTable& table : tables) {
    EXPECT_EQ(table.rows, 200U);
    EXPECT_EQ(table.values, tables.front().values) << table.source;
    EXPECT_EQ(table.cardinalities, (std::vector<std::uint32_t>{3, 2})) << table.source;
    // Columns in another order, and one by itself, by name or number.
    const DataTable turned = read_rows(table.source, {.columns = {"1", "0"}});
    EXPECT_EQ(turned.cardinalities, (std::vector<std::uint32_t>{2, 3})) << table.source;
    for (std::size_t r = 0; r < 200; ++r) {
      ASSERT_EQ(turned.values[2 * r], table.values[2 * r + 1]) << table.source;
      ASSERT_EQ(turned.values[2 * r + 1], table.values[2 * r]) << table.source;
    }
    EXPECT_THROW(read_rows(table.source, {.columns = {"2"}}), OptionError) << table.source;
    const DataTable split =
        read_rows(table.source, {.binarise = Binarise::threshold, .threshold = 2, .columns = {"0"}});
    for (std::size_t r = 0; r < 200; ++r)
      ASSERT_EQ(split.values[r], table.values[2 * r] == 2 ? 1 : 0) << table.source;
  }
}

TEST(CompareTask, StatesOfDrawsAreMatchedByName) {
  // The model counts wet first, data in the order of the alphabet.
  Model model;
  model.cardinalities = {2};
  model.variable_names = {"lawn"};
  model.state_names = {{"wet", "dry"}};
  const double log_p[2] = {0, log_zero};
  model.unaries.add(0, log_p);
  const DataTable data = compared_table("lawn\nwet\nwet\nwet\n");
  for (const char* ending : {".npz", ".nc", ".csv"}) {
    const std::string path = ::testing::TempDir() + "named" + ending;
    DrawFileSink sink(path);
    Samples samples = sample(model, {.samples = 3}, sink);
    sink.finish(samples);
    const CompareResult result = compare(data, read_rows(path, {.constant_columns = true}));
    EXPECT_EQ(result.provenance.warnings.size(), 0U) << path;
    EXPECT_EQ(result.mean_difference_max, 0) << path;
  }
}

DrawFile draws_of(std::size_t draws, const std::function<Value(std::size_t draw, std::size_t chain)>& value) {
  DrawFile file;
  file.draws = draws;
  file.chains = 4;
  file.variable_names = {"x", "y"};
  std::vector<std::uint8_t> values;
  for (std::size_t t = 0; t < draws; ++t)
    for (std::size_t c = 0; c < 4; ++c) {
      values.push_back(static_cast<std::uint8_t>(value(t, c)));
      values.push_back(static_cast<std::uint8_t>(value(draws + t, c)));
    }
  file.values = values;
  return file;
}

TEST(DiagnoseTask, OneVerdictForAll) {
  RandomSequence random(3, Stream::start);
  const DiagnoseResult good =
      diagnose(draws_of(500, [&](auto, auto) { return random.uniform() < 0.5; }), "d");
  EXPECT_TRUE(good.converged);
  EXPECT_EQ(judge(good).verdict, Verdict::good) << judge(good).text;
  // Every chain is stuck in a place of its own.
  const DiagnoseResult stuck =
      diagnose(draws_of(500, [](auto t, std::size_t c) { return (c + (t == 3)) % 2; }));
  EXPECT_EQ(judge(stuck).verdict, Verdict::bad);
  const auto json = nlohmann::json::parse(to_json(stuck).text());
  EXPECT_EQ(json["verdict"], "bad");
  EXPECT_EQ(json["converged"], false);
  EXPECT_EQ(json["variables"].size(), 2U);
  EXPECT_NE(page_of(stuck, "{}").find("not converged"), std::string::npos);
  // Nothing changes: nothing to judge.
  EXPECT_EQ(judge(diagnose(draws_of(500, [](auto, auto) { return 1; }))).verdict, Verdict::caution);
}

TEST(DiagnoseTask, ManyShortChainsAreNotSaidToDisagree) {
  // A spin that keeps its state twice in three times: 60 chains of 40 draws, each from the stationary law.
  RandomSequence random(5, Stream::start);
  DrawFile file;
  file.draws = 40;
  file.chains = 60;
  file.variable_names = {"x"};
  std::vector<std::uint8_t> now(60), values;
  for (std::uint8_t& x : now) x = random.uniform() < 0.5;
  for (std::size_t t = 0; t < 40; ++t)
    for (std::uint8_t& x : now) {
      if (random.uniform() < 1.0 / 3) x = !x;
      values.push_back(x);
    }
  file.values = values;
  const DiagnoseResult result = diagnose(file);
  ASSERT_GT(result.diagnostics.rhat_max, 1.01);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(judge(result).verdict, Verdict::caution);
  EXPECT_NE(judge(result).text.find("with 40 draws each they are too short"), std::string::npos)
      << judge(result).text;
}

TEST(DiagnoseTask, PseudoSamplesAreNotJudgedAsChains) {
  RandomSequence random(3, Stream::start);
  DrawFile file = draws_of(500, [&](auto, auto) { return random.uniform() < 0.5; });
  file.metadata = "{\"command\": \"herd\"}";
  const DiagnoseResult result = diagnose(file);
  EXPECT_FALSE(result.random);
  EXPECT_EQ(judge(result).verdict, Verdict::caution);
}

TEST(DiagnoseTask, NumbersForPeople) {
  EXPECT_EQ(rhat_text(1.00124), "1.0012");
  EXPECT_EQ(rhat_text(7.6e16), "above 1000");
  EXPECT_EQ(rhat_text(not_known), "-");
  EXPECT_EQ(rhat_text(std::numeric_limits<double>::infinity()), "above 1000");
  EXPECT_EQ(ess_text(not_known), "-");
  EXPECT_EQ(ess_text(412.4), "412");
  EXPECT_EQ(error_text(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(error_text(4.4e-16), "0");
  EXPECT_EQ(error_text(0.01234), "0.012");
  EXPECT_EQ(log_text(-4.4e-16, 12), "0");
  EXPECT_EQ(log_text(-12.5), "-12.5");
  EXPECT_EQ(log_text(-std::numeric_limits<double>::infinity()), "minus infinity");
  EXPECT_EQ(log_text(not_known), "not known");
}

TEST(DiagnoseTask, ChainsThatNeverMoveFromPlacesOfTheirOwn) {
  const DiagnoseResult still = diagnose(draws_of(9, [](auto, std::size_t c) { return c % 2; }));
  EXPECT_EQ(judge(still).verdict, Verdict::bad);
  EXPECT_NE(judge(still).text.find("not converged: largest R-hat above 1000"), std::string::npos)
      << judge(still).text;
}

TEST(Compare, EndsInTheMidst) {
  const DataTable a = pairs(3000, 0.5, 1), b = pairs(3000, 0.5, 2);
  for (int last : {1, 2, 20, 150}) {
    int asked = 0;
    RunControl control;
    control.limit_threads(1);
    control.stop_when([&] { return ++asked >= last; });
    EXPECT_THROW(compare(a, b, control), Error) << last;
    EXPECT_LE(asked, last + 1);
  }
}

}  // namespace
}  // namespace drover
