// What the page contains, read back from its text without a browser.
#include "drover/report/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/report/assets.hpp"
#include "tests/report/example_pages.hpp"

namespace drover {
namespace {

using nlohmann::json;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t begin = text.find(open) + open.size();
  return text.substr(begin, text.find(close, begin) - begin);
}

std::string data_text(const std::string& page) {
  return between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
}

TEST(Report, EmbedsItsScripts) {
  const std::vector<std::string_view> scripts = {assets::echarts_js(),  assets::selftest_js(),
                                                 assets::draw_js(),     assets::marginals_js(),
                                                 assets::sections_js(), assets::report_js()};
  EXPECT_GT(assets::echarts_js().size(), 500'000u);
  for (std::string_view script : scripts) {
    EXPECT_EQ(script.find("</script"), std::string_view::npos);
    EXPECT_EQ(script.find("<!--"), std::string_view::npos);
  }
  const std::string page = render_report({});
  for (std::string_view script : scripts) EXPECT_NE(page.find(script), std::string::npos);
  for (const char* mark : {"{{title}}", "{{data}}", "{{report}}"})
    EXPECT_EQ(page.find(mark), std::string::npos);
}

TEST(Report, CarriesTheData) {
  ReportData data;
  data.title = "Marginals of a.uai";
  data.verdict = Verdict::caution;
  data.marginals = {{"a", {"no", "yes"}, {0.25, 0.75}, {0.01, 0.02}, 1.002, 512},
                    {"b", {}, {0.1, 0.2, 0.7}, {}, std::nan(""), std::nan("")},
                    {"c", {"no", "yes"}, {1, 0}, {}, std::numeric_limits<double>::infinity(), 4}};
  data.slowest = {{"a", 512}};
  data.autocorrelation = {1, 0.5, 0.25};
  const std::string text = data_text(render_report(data));
  json parsed = json::parse(text, nullptr, false);
  // Infinity travels as 1e999, which JSON.parse accepts and this strict reader does not.
  EXPECT_TRUE(parsed.is_discarded());
  std::string finite = text;
  finite.replace(finite.find("1e999"), 5, "99999");
  parsed = json::parse(finite);
  EXPECT_EQ(parsed["verdict"], "caution");
  const json& marginals = parsed["marginals"];
  EXPECT_EQ(marginals["total"], 3);
  EXPECT_EQ(marginals["names"], (json{"a", "b", "c"}));
  EXPECT_EQ(marginals["state_sets"], json::parse(R"([["no","yes"],["0","1","2"]])"));
  EXPECT_EQ(marginals["state_set"], (json{0, 1, 0}));
  EXPECT_EQ(marginals["probabilities"], (json{0.25, 0.75, 0.1, 0.2, 0.7, 1, 0}));
  EXPECT_EQ(marginals["mcse"], json::parse("[0.01,0.02,null,null,null,null,null]"));
  EXPECT_EQ(marginals["rhat"], json::parse("[1.002,null,99999]"));
  EXPECT_EQ(parsed["slowest"], json::parse(R"([["a",512]])"));
  EXPECT_EQ(parsed["autocorrelation"], (json{1, 0.5, 0.25}));
}

TEST(Report, ExactMarginalsHaveNoErrors) {
  const json data = json::parse(data_text(render_report(testing::clinic_page())));
  EXPECT_FALSE(data["marginals"].contains("mcse"));
  EXPECT_EQ(data["evidence"], json::parse(R"([["xray","yes"],["smoke","no"]])"));
}

TEST(Report, NamesCannotLeaveTheirScript) {
  const ReportData data = testing::hostile_page();
  const std::string page = render_report(data);
  const std::string plain = render_report({});
  for (const char* word : {"<script", "</script", "<!--", "<img"})
    EXPECT_EQ(count(page, word), count(plain, word)) << word;
  EXPECT_EQ(between(page, "<title>", "</title>").find('<'), std::string::npos);
  const std::string result = between(page, "id=\"result\">", "</script>");
  EXPECT_EQ(json::parse(result), json::parse(data.result_json));
}

TEST(Report, ThinsLongTracesAndKeepsTheLastPoint) {
  ReportData data;
  ReportTrace trace{"energy", {}, std::vector<std::vector<double>>(70), {}};
  for (int t = 0; t < 10'007; ++t) {
    trace.sweep.push_back(t);
    for (auto& series : trace.series) series.push_back(-t);
  }
  data.traces = {trace};
  const json drawn = json::parse(data_text(render_report(data)))["traces"][0];
  EXPECT_EQ(drawn["curves"], 70);
  EXPECT_EQ(drawn["series"].size(), report_max_curves);
  EXPECT_LE(drawn["sweep"].size(), report_max_trace_points);
  EXPECT_GE(drawn["sweep"].size(), 100u);
  EXPECT_EQ(drawn["sweep"].back(), 10'006);
  EXPECT_EQ(drawn["series"][63].size(), drawn["sweep"].size());
  EXPECT_EQ(drawn["series"][63].back(), -10'006);
  EXPECT_EQ(drawn["sweep"][1].get<int>() - drawn["sweep"][0].get<int>(), drawn["every"]);
}

TEST(Report, ImagesAreBytes) {
  ReportData data;
  data.images = {{"p", 3, 2, {0, 0.5, 1, std::nan(""), -1, 2}}, {"one", 1, 1, {1}}, {"two", 2, 1, {1, 0}}};
  const json images = json::parse(data_text(render_report(data)))["images"];
  EXPECT_EQ(images[0]["bytes"], "AH/+/wD+");  // 00 7f fe ff 00 fe
  EXPECT_EQ(images[1]["bytes"], "/g==");      // fe
  EXPECT_EQ(images[2]["bytes"], "/gA=");      // fe 00
  data.images = {{"big", 2001, 1000, std::vector<double>(2'001'000, 0.5)}};
  const json big = json::parse(data_text(render_report(data)))["images"][0];
  EXPECT_EQ(big["step"], 2);
  EXPECT_EQ(big["bytes"].get<std::string>().size(), (1001u * 500 + 2) / 3 * 4);
}

TEST(Report, RefusesWhatItCannotDraw) {
  ReportData data;
  data.figures = {{"f", "", "{not json"}};
  EXPECT_THROW(render_report(data), Error);
  data.figures.clear();
  data.images = {{"p", 3, 2, {0}}};
  EXPECT_THROW(render_report(data), Error);
}

TEST(Report, ManyVariablesAreCutAndQuick) {
  const ReportData data = testing::large_page();
  const std::clock_t begin = std::clock();  // of the processor, however busy the machine is
  const std::string page = render_report(data);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", static_cast<int>(1000 * seconds));
  EXPECT_LT(seconds, 10);  // 0.4 s; room for sanitizers
  const json marginals = json::parse(data_text(page))["marginals"];
  EXPECT_EQ(marginals["total"], report_max_variables + 1);
  EXPECT_EQ(marginals["names"].size(), report_max_variables);
  EXPECT_LT(page.size(), 12'000'000u);
}

TEST(Report, NetworkStandsInThePage) {
  ReportData data;
  data.network_svg = "<svg class=\"drover-network\"></svg>";
  EXPECT_EQ(count(render_report(data), "<div id=\"network\" hidden>" + data.network_svg + "</div>"), 1u);
}

TEST(Report, LargeResultsStayOutside) {
  ReportData data;
  data.result_json = '"' + std::string(report_max_result_bytes, 'a') + '"';
  const std::string page = render_report(data);
  EXPECT_LT(page.size(), 1'500'000u);
  EXPECT_EQ(json::parse(data_text(page))["result_embedded"], false);
}

}  // namespace
}  // namespace drover
