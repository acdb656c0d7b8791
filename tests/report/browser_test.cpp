// The page in headless Chromium: it loads without an error, and every chart shows something. The page tells
// about itself when opened with #selftest (web/selftest.js). DROVER_REPORT_PAGES=folder keeps the pages.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/report/report.hpp"
#include "tests/report/example_pages.hpp"

namespace drover {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_chromium() {
  return std::system("command -v chromium >/dev/null 2>&1") == 0;
}

struct Visit {
  std::string dom;      ///< the document after its scripts ran
  std::string console;  ///< what the browser's console said
  json report;          ///< what the page said about itself
};

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_chromium()) GTEST_SKIP() << "chromium is not installed (Debian: apt-get install chromium)";
    std::string name = (fs::temp_directory_path() / "drover-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  Visit visit(const std::string& name, const ReportData& data, const std::string& size = "1200,900") {
    const char* keep = std::getenv("DROVER_REPORT_PAGES");
    const fs::path file = (keep ? fs::path(keep) : folder_) / (name + ".html");
    std::ofstream(file, std::ios::binary) << render_report(data);
    // /dev/null for input: the browser must not wait for a terminal.
    const std::string command =
        "timeout 90 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
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

  /// Every canvas shows at least `pixels` pixels, and the named charts are there.
  static void expect_charts(const Visit& visit, const std::multiset<std::string>& charts, int pixels = 500) {
    std::multiset<std::string> found;
    for (const json& canvas : visit.report["canvases"]) {
      found.insert(canvas["chart"]);
      EXPECT_GT(canvas["pixels"], canvas["chart"] == "image" ? 5 : pixels) << canvas["chart"];
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
  EXPECT_NE(seen.dom.find("1 to 25 of 2,500"), std::string::npos);
}

TEST_F(Browser, ExactNetworkShowsOnlyWhatItHas) {
  const Visit seen = visit("clinic", testing::clinic_page());
  expect_charts(seen, {"marginals"});
  EXPECT_NE(seen.dom.find("Observed state"), std::string::npos);
  EXPECT_EQ(seen.dom.find("<h2>How far to trust"), std::string::npos);
}

TEST_F(Browser, HostileNamesAreText) {
  const ReportData data = testing::hostile_page();
  const Visit seen = visit("hostile", data);
  expect_charts(
      seen, {"marginals", "energy", "R-hat", "autocorrelation", "slowest", "image", data.figures[0].title});
  EXPECT_EQ(seen.report["title"].get<std::string>().substr(0, 9), "</script>");
  EXPECT_EQ(seen.report["scripts"], 5);  // those of web/report.html
  EXPECT_EQ(seen.report["images"], 0);
  EXPECT_NE(seen.dom.find("<h1>&lt;/script&gt;"), std::string::npos);
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
