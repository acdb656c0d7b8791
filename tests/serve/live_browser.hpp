// A page in real Chromium. DROVER_PICTURES=folder keeps pictures of it (docs/images).
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "drover/serve/exact_network.hpp"
#include "drover/serve/live_page.hpp"
#include "tests/support/chromium.hpp"

namespace drover::testing {

using nlohmann::json;

class LiveBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_chromium()) GTEST_SKIP() << testing::no_chromium;
  }
  void TearDown() override {
    if (!server_) return;
    if (browser_) {
      browser_->run("1");  // whatever it still had to say
      EXPECT_EQ(browser_->complaints(), std::vector<std::string>{});
    }
    server_->stop();
    thread_.join();
  }
  /// A network, of which exact answers are known.
  void open(Model model, int width = 1300, int height = 850, bool dark = false) {
    model_ = model;
    exact_ = std::make_unique<ExactNetwork>(model_, std::size_t{1} << 30);
    serve(std::move(model), LiveOptions{.input = "model.bif"}, width, height, dark);
    ASSERT_TRUE(browser_->wait_for("window.droverTimes.length === 1"));
    EXPECT_EQ(browser_->run("location.search"), "");  // the token has left the address
  }
  /// Anything.
  void serve(Model model, const LiveOptions& options, int width = 1300, int height = 850, bool dark = false) {
    server_ = std::make_unique<HttpServer>(HttpOptions{});
    page_ = std::make_unique<LivePage>(std::move(model), options, *server_, control_);
    thread_ = std::thread([this] { server_->run(); });
    browser_ = std::make_unique<Chromium>(width, height, dark);
    browser_->open(server_->address());
    ASSERT_TRUE(browser_->wait_for("document.querySelector('#views button')"));
  }
  void keep(const std::string& name) {
    if (const char* folder = std::getenv("DROVER_PICTURES"))
      browser_->picture(std::filesystem::path(folder) / (name + ".png"));
  }
  /// The middle of the element that an expression names.
  std::pair<double, double> middle(const std::string& expression) {
    const json box =
        browser_->run("(() => { const b = (" + expression +
                      ").getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()");
    return {box[0], box[1]};
  }
  static std::string row(VariableId v, Value k) {
    return fmt::format("document.querySelector('[data-variable=\"{}\"]').querySelectorAll('.row')[{}]", v, k);
  }
  /// The button that says so.
  static std::string named(const std::string& text) {
    return fmt::format("Array.from(document.querySelectorAll('button')).find((b) => b.textContent === '{}')",
                       text);
  }
  void click(const std::string& expression) {
    const auto [x, y] = middle(expression);
    browser_->click(x, y);
  }
  /// Waits for the answer to the n-th question, then compares every bar and figure with the exact numbers.
  void expect_bars(std::size_t answers, const std::vector<Finding>& findings) {
    ASSERT_TRUE(browser_->wait_for(fmt::format("window.droverTimes.length >= {}", answers)));
    const NetworkAnswer truth = exact_->marginals(findings);
    const json bars = browser_->run(
        "Array.from(document.querySelectorAll('.node'), (node) => Array.from(node.querySelectorAll('.row'), "
        "(row) => "
        "[Number(row.querySelector('.bar').getAttribute('width')) / "
        "Number(row.querySelector('.room').getAttribute('width')), "
        "row.querySelector('.figure').textContent]))");
    ASSERT_EQ(bars.size(), model_.variable_count());
    for (VariableId v = 0; v < model_.variable_count(); ++v)
      for (std::size_t k = 0; k < bars[v].size(); ++k) {
        const double p = truth.probabilities[v][k];
        EXPECT_NEAR(bars[v][k][0].get<double>(), p == 0 ? 0 : std::max(p, 0.75 / 50), 1e-9) << v << " " << k;
        const std::string figure = p == 1            ? "100"
                                   : p == 0          ? "0"
                                   : 100 * p < 0.05  ? "<0.1"
                                   : 100 * p > 99.95 ? ">99.9"
                                                     : fmt::format("{:.1f}", 100 * p);
        EXPECT_EQ(bars[v][k][1], figure) << v << " " << k;
      }
    const std::string shown = "Number(document.getElementById('log-evidence').textContent)";
    EXPECT_TRUE(browser_->wait_for(fmt::format("Math.abs({} - {}) < {}", shown, truth.log_evidence,
                                               1e-5 * (1 + std::abs(truth.log_evidence)))))
        << browser_->run(shown) << " " << truth.log_evidence;
  }
  Finding observed(VariableId v, Value k) const {
    Finding finding{v, std::vector<double>(model_.cardinalities[v], 0.0)};
    finding.likelihood[k] = 1;
    return finding;
  }

  Model model_;
  RunControl control_;
  std::unique_ptr<ExactNetwork> exact_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<LivePage> page_;
  std::thread thread_;
  std::unique_ptr<Chromium> browser_;
};

}  // namespace drover::testing
