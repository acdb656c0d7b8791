// The live page in real Chromium. DROVER_PICTURES=folder keeps pictures of it (docs/images).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "drover/serve/exact_network.hpp"
#include "drover/serve/live_page.hpp"
#include "tests/support/chromium.hpp"

namespace drover {
namespace {

using nlohmann::json;
using testing::Chromium;

class LiveBrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_chromium())
      GTEST_SKIP() << "chromium is not installed (Debian: apt-get install chromium)";
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
  void open(Model model, int width = 1300, int height = 850, bool dark = false) {
    model_ = model;
    exact_ = std::make_unique<ExactNetwork>(model_, std::size_t{1} << 30);
    server_ = std::make_unique<HttpServer>(HttpOptions{});
    page_ = std::make_unique<LivePage>(std::move(model), LiveOptions{"model.bif"}, *server_, control_);
    thread_ = std::thread([this] { server_->run(); });
    browser_ = std::make_unique<Chromium>(width, height, dark);
    browser_->open(server_->address());
    ASSERT_TRUE(browser_->wait_for("window.droverTimes.length === 1"));
    EXPECT_EQ(browser_->run("location.search"), "");  // the token has left the address
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
    const double shown =
        std::stod(browser_->run("document.getElementById('log-evidence').textContent").get<std::string>());
    EXPECT_NEAR(shown, truth.log_evidence, 1e-5 * (1 + std::abs(truth.log_evidence)));
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

TEST_F(LiveBrowser, ClicksMoveTheBarsToTheExactNumbers) {
  open(live_example());
  expect_bars(1, {});
  click(row(3, 1));  // the lawn is wet
  expect_bars(2, {observed(3, 1)});
  EXPECT_EQ(browser_->run("document.querySelectorAll('.old.moved').length > 3"), true);
  click(row(1, 0));  // and it did not rain
  expect_bars(3, {observed(3, 1), observed(1, 0)});
  EXPECT_EQ(browser_->run("document.querySelectorAll('.excluded').length > 0"), true);
  keep("serve-network");
  click(row(3, 1));  // forget the lawn
  expect_bars(4, {observed(1, 0)});
  click("Array.from(document.querySelectorAll('button')).find((b) => b.textContent === 'Undo')");
  expect_bars(5, {observed(3, 1), observed(1, 0)});
  click("Array.from(document.querySelectorAll('button')).find((b) => b.textContent === 'Clear')");
  expect_bars(6, {});
}

TEST_F(LiveBrowser, DraggingABarIsSoftEvidence) {
  open(live_example());
  const json box = browser_->run(
      "(() => { const b = " + row(4, 1) +
      ".querySelector('.room').getBoundingClientRect(); return [b.x, b.y + b.height / 2, b.width]; })()");
  const double x = box[0], y = box[1], width = box[2];
  browser_->drag(x + 0.1 * width, y, x + 0.8 * width, y);
  ASSERT_TRUE(browser_->wait_for("document.querySelector('.node.soft') && document.querySelector('.value')"));
  // The last answer belongs to the last place of the pointer.
  ASSERT_TRUE(browser_->wait_for("document.querySelector('.value').textContent === 'likelihoods 0.2 : 0.8'"));
  const std::size_t answers =
      browser_->run("new Promise((done) => setTimeout(() => done(droverTimes.length), 300))");
  Finding soft{4, {0.2, 0.8}};
  expect_bars(answers, {soft});
}

TEST_F(LiveBrowser, KeyboardObserves) {
  open(live_example());
  browser_->run("document.querySelector('[data-variable=\"1\"]').focus()");
  browser_->press("ArrowDown", "ArrowDown", 40);
  browser_->press("ArrowDown", "ArrowDown", 40);
  browser_->press("Enter", "Enter", 13, "\r");
  expect_bars(2, {observed(1, 2)});
  EXPECT_NE(
      browser_->run("document.getElementById('said').textContent").get<std::string>().find("1 observed"),
      std::string::npos);
  browser_->press("Tab", "Tab", 9);
  EXPECT_EQ(browser_->run("document.activeElement.dataset.variable"), "2");
  browser_->press(" ", "Space", 32, " ");
  expect_bars(3, {observed(1, 2), observed(2, 0)});
  EXPECT_NE(
      browser_->run("document.activeElement.getAttribute('aria-label')").get<std::string>().find("Observed"),
      std::string::npos);
}

TEST_F(LiveBrowser, ManyClicksAtOnceTheLastWins) {
  open(live_example());
  browser_->run(
      "(() => { const rows = Array.from(document.querySelectorAll('.row')); const fire = (row, type) => "
      "row.dispatchEvent(new PointerEvent(type, "
      "{ bubbles: true, button: 0, pointerId: 1, clientX: 5, clientY: 5 })); "
      "Element.prototype.setPointerCapture = () => {};"
      "for (let i = 0; i < 101; ++i) { const row = rows[i % 2]; fire(row, 'pointerdown'); fire(row, "
      "'pointerup'); } })()");
  // State 0 and 1 of the first variable in turn; the last was 0.
  ASSERT_TRUE(
      browser_->wait_for("document.querySelector('.value').textContent === 'no' && "
                         "document.querySelector('.figure').textContent === '100'"));
  const int questions = browser_->run(
      "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/api/marginals')).length");
  EXPECT_LE(questions, 4);  // the first, one or two on the way, the last
  expect_bars(1, {observed(0, 0)});
}

TEST_F(LiveBrowser, QuestionsOfThePanels) {
  open(live_example());
  click(row(3, 1));
  const std::string open_all =
      "for (const one of document.querySelectorAll('aside details')) one.open = true";
  browser_->run(open_all);
  for (const char* key : {"3", "1"}) {  // pick lawn and rain
    browser_->run(fmt::format("document.querySelector('[data-variable=\"{}\"]').focus()", key));
    browser_->press("p", "KeyP", 80, "p");
  }
  browser_->run(
      "document.querySelector('[data-variable=\"1\"] .head').dispatchEvent(new MouseEvent('click', { "
      "bubbles: true }))");
  ASSERT_TRUE(browser_->wait_for(
      "document.querySelectorAll('aside details')[2].querySelectorAll('tbody tr').length === 6"));
  const std::vector<Finding> wet = {observed(3, 1)};
  const std::vector<VariableId> picked = {3, 1};
  const std::vector<double> joint = exact_->joint(wet, picked);
  const std::string top = browser_->run(
      "document.querySelectorAll('aside details')[2].querySelector('tbody tr td:last-child').textContent");
  EXPECT_EQ(top, fmt::format("{:.3f}", 100 * *std::max_element(joint.begin(), joint.end())));
  ASSERT_TRUE(browser_->wait_for(
      "document.querySelectorAll('aside details')[3].querySelectorAll('tbody tr').length === 4"));
  const NetworkBest best = exact_->best(wet);
  EXPECT_EQ(
      browser_->run("document.querySelectorAll('aside details')[3].querySelector('tbody td').textContent"),
      model_.state_name(0, best.assignment[0]));
  ASSERT_TRUE(browser_->wait_for(
      "document.querySelectorAll('aside details')[4].querySelectorAll('tbody tr').length === 3"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('aside pre').length === 2"));
  EXPECT_EQ(browser_->run("document.querySelectorAll('aside pre')[0].textContent"),
            "drover marginals model.bif --observe lawn=wet");
  EXPECT_EQ(browser_->run("document.querySelectorAll('aside pre')[1].textContent"),
            "import drover as dv\nm = dv.read(\"model.bif\")\nr = m.marginals({\"lawn\": \"wet\"})");
  keep("serve-panels");
}

TEST_F(LiveBrowser, ImpossibleEvidenceIsSaid) {
  Model model = live_example();
  open(model);
  click(row(1, 0));  // no rain,
  click(row(2, 0));  // no sprinkler,
  ASSERT_TRUE(
      browser_->wait_for("document.querySelectorAll('.node.seen').length === 2 && "
                         "document.querySelectorAll('.excluded').length > 0"));
  click(row(3, 1));  // and yet the lawn is wet
  ASSERT_TRUE(browser_->wait_for("document.querySelector('aside .bad')"));
  click(row(3, 1));
  ASSERT_TRUE(browser_->wait_for("!document.querySelector('aside .bad')"));
  expect_bars(1, {observed(1, 0), observed(2, 0)});
}

TEST_F(LiveBrowser, HostileNamesAreText) {
  Model model = live_example();
  const std::string attack =
      "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>";
  for (std::string& name : model.variable_names) name = attack + name;
  for (auto& states : model.state_names)
    for (std::string& name : states) name = attack + name + "\xff";
  open(model, 1300, 850, true);
  click(row(3, 1));
  browser_->run(
      "for (const one of document.querySelectorAll('aside details')) one.open = true; "
      "document.querySelector('.head').dispatchEvent(new MouseEvent('click', { bubbles: true }))");
  expect_bars(2, {observed(3, 1)});
  EXPECT_EQ(browser_->run("document.images.length"), 0);
  EXPECT_EQ(browser_->run("document.scripts.length"), 1);
  EXPECT_NE(browser_->run("document.title"), "owned");
}

TEST_F(LiveBrowser, ARunIsWatched) {
  open(live_example());
  const auto tab = [](const char* text) {
    return fmt::format("Array.from(document.querySelectorAll('button')).find((b) => b.textContent === '{}')",
                       text);
  };
  click(tab("Run"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.controls option').length > 3"));
  click(tab("Start"));
  ASSERT_TRUE(browser_->wait_for(
      "window.droverSnapshots > 4 && document.querySelectorAll('.plot .curve').length >= 10"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.card tbody tr').length === 5"));
  keep("serve-run");
  click(tab("Pause"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'paused'"));
  click(tab("Go on"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'sampling'"));
  click(tab("Stop"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'stopped'"));
  click(tab("Network"));
  expect_bars(2, {});
}

TEST_F(LiveBrowser, DarkAndNarrow) {
  open(live_example(), 420, 800, true);
  EXPECT_EQ(browser_->run("getComputedStyle(document.body).backgroundColor"), "rgb(19, 21, 25)");
  EXPECT_EQ(browser_->run("document.documentElement.scrollWidth <= innerWidth"), true)
      << "the page scrolls sideways";
  click(row(3, 1));
  expect_bars(2, {observed(3, 1)});
  keep("serve-phone");
}

}  // namespace
}  // namespace drover
