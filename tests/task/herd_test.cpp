// Herding by one call: what it says of data and of moments, and when it does not say that all is well.
#include "drover/task/herd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/moments.hpp"
#include "drover/io/text_source.hpp"
#include "drover/numeric/hold_out.hpp"
#include "drover/report/herd_page.hpp"

namespace drover {
namespace {

DataTable herded_table(const std::string& text) {
  TextSource source(text, "t.csv");
  return parse_text_table(source);
}

const std::string small = "a,b,c\n1,1,0\n1,1,0\n0,0,1\n1,0,1\n0,1,0\n0,0,0\n1,1,1\n0,0,1\n";

/// Rows of one of two clusters: ones with probability .9 in one, .1 in the other.
DataTable clusters(std::size_t columns, std::size_t rows) {
  DataTable table;
  RandomSequence random(5, Stream::start);
  for (std::size_t v = 0; v < columns; ++v) table.names.push_back("c" + std::to_string(v));
  table.cardinalities.assign(columns, 2);
  table.state_names.assign(columns, {"0", "1"});
  table.rows = rows;
  for (std::size_t r = 0; r < rows; ++r) {
    const double rate = random.uniform() < 0.5 ? 0.9 : 0.1;
    for (std::size_t v = 0; v < columns; ++v) table.values.push_back(random.uniform() < rate);
  }
  return table;
}

TEST(HerdTask, AnswersInTheDatasOwnNames) {
  const DataTable table = herded_table(small);
  const HerdResult result =
      herd(table, {.samples = 4000, .queries = {{{"a", "1"}, {"c", "0"}}, {{"b", "1"}}}});
  EXPECT_EQ(result.samples, 4000U);
  EXPECT_EQ(result.features, 6U);
  EXPECT_EQ(result.rows, 8U);
  ASSERT_EQ(result.values.size(), 12000U);
  // Singles and pairs fix both: P(a=1, c=0) = 4/8 - 2/8.
  EXPECT_DOUBLE_EQ(result.expectations[0].in_data, 0.25);
  EXPECT_NEAR(result.expectations[0].probability, 0.25, 2 * result.moment_error_max + 1e-12);
  EXPECT_NEAR(result.expectations[1].probability, 0.5, result.moment_error_max + 1e-12);
  // The figures are those of the pseudo-samples.
  double ones = 0, together = 0;
  for (std::size_t t = 0; t < 4000; ++t) {
    ones += result.values[3 * t + 1];
    together += result.values[3 * t] == 1 && result.values[3 * t + 2] == 0;
  }
  EXPECT_DOUBLE_EQ(result.expectations[1].probability, ones / 4000);
  EXPECT_DOUBLE_EQ(result.expectations[0].probability, together / 4000);
  EXPECT_NEAR(result.worst.front().reached - result.worst.front().asked, 0, result.moment_error_max + 1e-12);
  EXPECT_NEAR(std::abs(result.worst.front().reached - result.worst.front().asked), result.moment_error_max,
              1e-12);
  EXPECT_EQ(judge(result).verdict, Verdict::good);
  EXPECT_FALSE(result.provenance.because.empty());
}

TEST(HerdTask, StatesWhatItRanWith) {
  const auto json = nlohmann::json::parse(
      to_json(herd(herded_table(small), {.samples = 100, .classify = "c", .seed = 3, .input = "small"}))
          .text());
  EXPECT_EQ(json["command"], "herd");
  EXPECT_EQ(json["model"], "small");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["settings"]["samples"], 100);
  EXPECT_EQ(json["settings"]["order"], 2);
  EXPECT_EQ(json["settings"]["test-rows"], 2);
  EXPECT_EQ(json["verdict"], "good");
}

TEST(HerdTask, ALargeGapToTheDataIsNoGoodVerdict) {
  const DataTable table = clusters(10, 1000);
  // Singles alone say nothing of the two clusters: P(k) is far from that of the data.
  const HerdResult result = herd(table, {.samples = 5000, .order = 1});
  EXPECT_GT(result.count_gap, 0.3);
  EXPECT_LT(result.count_noise, 0.1);
  EXPECT_EQ(judge(result).verdict, Verdict::caution);
  const std::string json = to_json(result).text();
  const std::string page = page_of(result, json);
  EXPECT_EQ(nlohmann::json::parse(json)["verdict"], "caution");
  EXPECT_NE(page.find("total variation"), std::string::npos);
}

TEST(HerdTask, AGapBeyondChanceIsNoGoodVerdictHoweverFewTheRows) {
  // Beyond a tenth and beyond twice what chance explains; the two are not added up, which would call gaps of an
  // eighth good for being of few rows.
  int cautious = 0, between = 0;
  for (std::size_t rows = 250; rows <= 600; rows += 50) {
    const HerdResult result = herd(clusters(10, rows), {.samples = 20000});
    const bool far = result.count_gap > std::max(0.1, 2 * result.count_noise);
    EXPECT_EQ(judge(result).verdict, far ? Verdict::caution : Verdict::good)
        << rows << " rows: " << result.count_gap << ", by chance " << result.count_noise;
    cautious += far ? 1 : 0;
    between += far && result.count_gap < 0.1 + 2 * result.count_noise ? 1 : 0;
  }
  EXPECT_GT(between, 0);
  EXPECT_LT(cautious, 8);
}

TEST(HerdTask, JointsThatPairsDoNotTellAreNoGoodVerdict) {
  // Any two of the three are independent, and two of them fix the third.
  DataTable table;
  table.names = {"a", "b", "sum"};
  table.cardinalities.assign(3, 3);
  table.state_names.assign(3, {"0", "1", "2"});
  for (Value r = 0; r < 900; ++r)
    for (Value x : {r % 3, r / 3 % 3, (r + r / 3) % 3}) table.values.push_back(static_cast<Value>(x));
  table.rows = 900;
  const HerdResult result = herd(table, {.samples = 9000});
  EXPECT_EQ(result.joint_variables, (std::vector<std::string>{"a", "b", "sum"}));
  EXPECT_GT(result.joint_gap, 0.3);
  EXPECT_LT(result.joint_noise, 0.1);
  EXPECT_EQ(judge(result).verdict, Verdict::caution) << judge(result).text;
  // Triples tell.
  const HerdResult triples = herd(table, {.samples = 9000, .order = 3});
  EXPECT_LT(triples.joint_gap, 0.01);
  EXPECT_EQ(judge(triples).verdict, Verdict::good) << judge(triples).text;
}

TEST(HerdTask, DrawsFilesCarryTheWarningsOfTheRun) {
  const std::string path = ::testing::TempDir() + "herd_warnings.npz";
  StateFileSink sink(path);
  const HerdResult result = herd(clusters(10, 1000), {.samples = 5000, .order = 1}, sink);
  sink.finish(result);
  const auto metadata = nlohmann::json::parse(read_draws(path).metadata);
  ASSERT_EQ(metadata["warnings"].size(), 1U);
  EXPECT_NE(std::string(metadata["warnings"][0]).find("total variation"), std::string::npos);
}

TEST(HerdTask, SpinsAreTheDefaultAndNearerToClusters) {
  const DataTable table = clusters(10, 2000);
  const HerdResult usual = herd(table, {.samples = 20000});
  EXPECT_EQ(nlohmann::json::parse(to_json(usual).text())["settings"]["coding"], "spins");
  const HerdResult ones = herd(table, {.samples = 20000, .coding = FeatureCoding::ones});
  const HerdResult cells = herd(table, {.samples = 20000, .coding = FeatureCoding::cells});
  // The same moments, and other figures: products of ones are .36 to .42 away, the others .08 to .16.
  EXPECT_LT(usual.count_gap, 0.2);
  EXPECT_LT(cells.count_gap, 0.2);
  EXPECT_GT(ones.count_gap, 0.3);
  EXPECT_EQ(judge(ones).verdict, Verdict::caution);
}

TEST(HerdTask, TestRowsAreKeptApart) {
  const DataTable table = clusters(6, 200);
  const HerdResult result = herd(table, {.samples = 4000, .classify = "c2", .test_rows = 50});
  ASSERT_TRUE(result.classification);
  EXPECT_EQ(result.classification->test_rows, 50U);
  EXPECT_EQ(result.rows, 150U);
  // A column is that of its cluster nine times in ten, and five others tell the cluster: an error of about
  // 0.1; four standard deviations of 50 rows are 0.17. Half the rows are of the more frequent class.
  EXPECT_LT(result.classification->error, 0.1 + 0.17);
  EXPECT_GT(result.classification->majority_error, 0.5 - 0.28);
  const HoldOut parts = hold_out(200, 50, 1);
  std::vector<bool> seen(200, false);
  for (const auto* part : {&parts.kept, &parts.apart})
    for (std::uint32_t row : *part) {
      ASSERT_LT(row, 200U);
      EXPECT_FALSE(seen[row]);
      seen[row] = true;
    }
  EXPECT_EQ(parts.apart.size(), 50U);
  EXPECT_NE(hold_out(200, 50, 2).apart, parts.apart);
}

TEST(HerdTask, ContradictoryMomentsAreNamed) {
  TextSource source("moments\n2 2\n0 0.3\n1 0.5\n0 1 0.5\n", "m");
  const HerdResult result = herd(parse_moments(source), {.samples = 5000});
  ASSERT_FALSE(result.contradictions.empty());
  EXPECT_NEAR(result.contradictions[0].excess, 0.2, 1e-12);
  EXPECT_FALSE(result.growing.empty());
  EXPECT_EQ(judge(result).verdict, Verdict::bad);
}

TEST(HerdTask, OptionsThatDoNotFitAreNamed) {
  const DataTable table = herded_table(small);
  const auto refused = [&](const HerdOptions& options, const char* name) {
    try {
      herd(table, options);
      ADD_FAILURE() << name;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.name(), name);
    }
  };
  refused({.features = {{"a", "b", "c", "a"}}}, "features");
  refused({.classify = "a,b"}, "classify");
  refused({.classify = "a", .test_rows = 8}, "test-rows");
  refused({.test_rows = 2}, "test-rows");
  EXPECT_THROW(herd(table, {.queries = {{{"d", "1"}}}}), Error);
  TextSource source("moments\n2 2\n0 0.3\n", "m");
  EXPECT_THROW(herd(parse_moments(source), {.order = 2}), OptionError);
}

TEST(HerdTask, ARunThatIsStoppedHasWhatItHasOrNothing) {
  const DataTable table = clusters(10, 100);
  RunControl stopped;
  stopped.request_stop();
  EXPECT_THROW(herd(table, {}, stopped), Error);
  RunControl timed;
  timed.limit_time(3);
  const HerdResult result = herd(table, {.samples = 1'000'000'000'000}, timed);
  EXPECT_GT(result.samples, 0U);
  EXPECT_EQ(judge(result).verdict, Verdict::caution);
}

}  // namespace
}  // namespace drover
