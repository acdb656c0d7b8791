// The page in headless Chromium: it loads without an error, and every chart shows something. The page tells
// about itself when opened with #selftest (web/selftest.js). DROVER_REPORT_PAGES=folder keeps the pages.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/report/report.hpp"
#include "tests/report/example_pages.hpp"
#include "tests/support/chromium.hpp"

namespace drover {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Visit {
  std::string dom;      ///< the document after its scripts ran
  std::string console;  ///< what the browser's console said
  json report;          ///< what the page said about itself
};

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_chromium()) GTEST_SKIP() << testing::no_chromium;
    std::string name = (fs::temp_directory_path() / "drover-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  /// `actions` is a script that plays the reader once the page is there.
  Visit visit(const std::string& name, const ReportData& data, const std::string& size = "1200,900",
              const std::string& actions = "") {
    const char* keep = std::getenv("DROVER_REPORT_PAGES");
    const fs::path file = (keep ? fs::path(keep) : folder_) / (name + ".html");
    std::ofstream(file, std::ios::binary)
        << render_report(data) << (actions.empty() ? "" : "<script>" + actions + "</script>");
    // /dev/null for input: the browser must not wait for a terminal.
    const std::string command =
        "timeout 90 " + testing::chromium_command() +
        " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
        "--disable-background-networking --disable-component-update --disable-sync --no-first-run "
        "--enable-logging=stderr --virtual-time-budget=5000 --window-size=" +
        size + " --user-data-dir='" + (folder_ / "profile").string() + "' --dump-dom 'file://" +
        fs::absolute(file).string() + "#selftest' >'" + (folder_ / "dom").string() + "' 2>'" +
        (folder_ / "log").string() + "' </dev/null";
    Visit result;
    EXPECT_EQ(std::system(command.c_str()), 0) << read(folder_ / "log");
    result.dom = read(folder_ / "dom");
    std::ifstream log(folder_ / "log");
    for (std::string line; std::getline(log, line);)
      if (line.find("CONSOLE") != std::string::npos) result.console += line + '\n';
    const std::string open = "<pre id=\"selftest\" hidden=\"\">";
    const std::size_t begin = result.dom.find(open);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the page did not finish:\n" << result.console;
      return result;
    }
    const std::size_t end = result.dom.find("</pre>", begin);
    std::string text = result.dom.substr(begin + open.size(), end - begin - open.size());
    for (const auto& [code, letter] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
      for (std::size_t at = 0; (at = text.find(code, at)) != std::string::npos; ++at)
        text.replace(at, std::string(code).size(), letter);
    result.report = json::parse(text);
    EXPECT_EQ(result.report["errors"], json::array());
    EXPECT_EQ(result.console, "");
    EXPECT_EQ(result.report["wide"], false) << "the page scrolls sideways";
    return result;
  }

  /// Every canvas shows coloured pixels (a thin line in a chart has more than 200), and the named charts are
  /// there.
  static void expect_charts(const Visit& visit, const std::multiset<std::string>& charts) {
    std::multiset<std::string> found;
    for (const json& canvas : visit.report["canvases"]) {
      found.insert(canvas["chart"]);
      EXPECT_GE(canvas["pixels"], canvas["chart"] == "image" ? 5 : 200) << canvas["chart"];
    }
    EXPECT_EQ(found, charts);
  }

  fs::path folder_;
};

TEST_F(Browser, GridShowsAllCharts) {
  const ReportData data = testing::grid_page();
  const Visit seen = visit("grid", data);
  expect_charts(seen,
                {"marginals", "energy", data.traces[1].name, "autocorrelation", "slowest", "image", "image"});
  EXPECT_NE(seen.dom.find("2,500 variables"), std::string::npos);
  EXPECT_NE(seen.dom.find("1 to 15 of 2,500"), std::string::npos);
}

TEST_F(Browser, ExactNetworkShowsOnlyWhatItHas) {
  const Visit seen = visit("clinic", testing::clinic_page());
  expect_charts(seen, {"marginals"});
  EXPECT_NE(seen.dom.find("Observed state"), std::string::npos);
  EXPECT_EQ(seen.dom.find("<h2>How far to trust"), std::string::npos);
}

TEST_F(Browser, HostileNamesAreText) {
  const ReportData data = testing::hostile_page();
  const Visit seen = visit("hostile", data, "1200,900", R"(
    for (const entry of charts) entry.chart.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: 1 });
  )");
  expect_charts(
      seen, {"marginals", "energy", "R-hat", "autocorrelation", "slowest", "image", data.figures[0].title});
  EXPECT_EQ(seen.report["title"].get<std::string>().substr(0, 9), "</script>");
  EXPECT_EQ(seen.report["scripts"], 9);  // those of web/report.html and the one above
  EXPECT_EQ(seen.report["images"], 0);
  EXPECT_NE(seen.dom.find("&lt;img src=x onerror=\"document.title='owned'\"&gt;1</b>"),
            std::string::npos);  // a tooltip
  EXPECT_NE(seen.dom.find("<h1>&lt;/script&gt;"), std::string::npos);
}

/// The text of a table cell: row and column of the marginals, from 0.
std::string cell(const json& said, std::size_t row, std::size_t column) {
  return said["rows"][row][column];
}

TEST_F(Browser, TableSortsSearchesPagesAndSaves) {
  const ReportData data = testing::grid_page();
  const Visit seen = visit("actions", data, "1200,900", R"(
    const say = {};
    const table = document.querySelector("[aria-label='Marginals as a table'] table");
    const read = () => ({
      rows: Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, (cell) => cell.textContent)),
      sort: Array.from(table.tHead.rows[0].cells, (cell) => cell.getAttribute("aria-sort")),
      count: document.querySelector(".count").textContent,
      chart: charts[0].chart.getOption().xAxis[0].data,
    });
    const press = (title) => Array.from(document.querySelectorAll("button")).find((b) => b.textContent.startsWith(title)).click();
    const type = (word) => { const box = document.querySelector("input"); box.value = word; box.dispatchEvent(new Event("input")); };
    press("R-hat"); say.falling = read();
    press("R-hat"); say.rising = read();
    press("ESS"); say.slow = read();
    press("#"); press("Next"); say.second = read();
    type("X7,1"); say.found = read();
    type("nothing like this"); say.none = read();
    URL.createObjectURL = (blob) => { say.type = blob.type; say.size = blob.size; return "blob:none"; };
    HTMLAnchorElement.prototype.click = function () { say.file = this.download; };
    press("Download");
    const note = document.createElement("pre"); note.id = "said"; note.hidden = true; note.textContent = JSON.stringify(say);
    document.body.append(note);
  )");
  const std::string open = "<pre id=\"said\" hidden=\"\">";
  const std::size_t begin = seen.dom.find(open);
  ASSERT_NE(begin, std::string::npos);
  const json said =
      json::parse(seen.dom.substr(begin + open.size(), seen.dom.find("</pre>", begin) - begin - open.size()));
  const auto by_rhat = [](const auto& a, const auto& b) { return a.rhat < b.rhat; };
  const auto [least, most] = std::minmax_element(data.marginals.begin(), data.marginals.end(), by_rhat);
  EXPECT_EQ(cell(said["falling"], 0, 1), most->variable);
  EXPECT_EQ(said["falling"]["chart"][0], most->variable);
  EXPECT_EQ(said["falling"]["sort"][6], "descending");
  EXPECT_EQ(cell(said["rising"], 0, 6), fmt::format("{:.3f}", least->rhat));
  EXPECT_EQ(cell(said["slow"], 0, 1), data.slowest[0].first);
  EXPECT_EQ(cell(said["second"], 0, 1), "x0,15");
  EXPECT_EQ(said["second"]["rows"].size(), 15u);
  EXPECT_EQ(said["found"]["count"],
            "11 of 2,500 variables");  // x7,1 and x7,10 .. x7,19
  EXPECT_EQ(cell(said["found"], 0, 1), "x7,1");
  EXPECT_EQ(said["none"]["rows"].size(), 0u);
  EXPECT_EQ(said["type"], "application/json");
  EXPECT_EQ(said["size"], data.result_json.size());
  EXPECT_EQ(said["file"], "marginals-of-grid-50x50-uai.json");
}

TEST_F(Browser, PhoneWidthDoesNotScrollSideways) {
  visit("phone", testing::hostile_page(), "500,900");
}

TEST_F(Browser, LargeModelIsPaged) {
  const Visit seen = visit("large", testing::large_page());
  expect_charts(seen, {"marginals", "image"});
  EXPECT_NE(seen.dom.find("the first 100,000 of 100,001 variables"), std::string::npos);
}

TEST_F(Browser, EmptyPageLoads) {
  expect_charts(visit("empty", {}), {});
}

}  // namespace
}  // namespace drover
