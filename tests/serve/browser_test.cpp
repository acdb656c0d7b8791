// The network view and the run view in real Chromium.
#include "tests/serve/live_browser.hpp"

#include "drover/core/figures.hpp"
#include "drover/model/builders.hpp"

namespace drover {
namespace {

using nlohmann::json;
using testing::LiveBrowser;

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
  click(named("Undo"));
  expect_bars(5, {observed(3, 1), observed(1, 0)});
  click(named("Clear"));
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
  EXPECT_TRUE(browser_->wait_for("document.getElementById('said').textContent.includes('1 observed')"));
  browser_->press("Tab", "Tab", 9);
  EXPECT_EQ(browser_->run("document.activeElement.dataset.variable"), "2");
  browser_->press(" ", "Space", 32, " ");
  expect_bars(3, {observed(1, 2), observed(2, 0)});
  EXPECT_TRUE(browser_->wait_for("document.activeElement.getAttribute('aria-label').includes('Observed')"));
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

TEST_F(LiveBrowser, CasesAreKeptAndCompared) {
  open(live_example());
  const std::string panel = "document.querySelectorAll('aside details')[5]";
  browser_->run(panel + ".open = true");
  click(row(3, 1));
  expect_bars(2, {observed(3, 1)});
  browser_->run(named("Keep this case") + ".click()");
  click(row(1, 0));
  expect_bars(3, {observed(3, 1), observed(1, 0)});
  browser_->run(named("Keep this case") + ".click()");
  click(named("Clear"));
  expect_bars(4, {});
  browser_->run(
      "document.querySelector('[data-variable=\"2\"] .head').dispatchEvent(new MouseEvent('click', { "
      "bubbles: true }))");
  const std::string cells =
      "Array.from(" + panel +
      ".querySelectorAll('tbody tr'), (row) => Array.from(row.querySelectorAll('td'), (cell) "
      "=> cell.textContent))";
  ASSERT_TRUE(browser_->wait_for(cells + ".length === 2"));
  // A column per case, and one of what is seen now.
  const std::vector<std::vector<Finding>> cases = {{observed(3, 1)}, {observed(3, 1), observed(1, 0)}, {}};
  const json shown = browser_->run(cells);
  for (Value k = 0; k < 2; ++k) {
    ASSERT_EQ(shown[k].size(), cases.size());
    for (std::size_t c = 0; c < cases.size(); ++c)
      EXPECT_NEAR(std::stod(shown[k][c].get<std::string>()),
                  100 * exact_->marginals(cases[c]).probabilities[2][k], 0.06)
          << k << " " << c;
  }
  browser_->run("document.querySelector('[aria-label=\"Forget Case 1\"]').click()");
  browser_->run(named("Keep this case") + ".click()");
  EXPECT_EQ(browser_->run("Array.from(" + panel + ".querySelectorAll('li .link'), (one) => one.textContent)"),
            json::parse(R"(["Case 2", "Case 3"])"));
  browser_->run(named("Case 2") + ".click()");
  expect_bars(5, cases[1]);
}

TEST_F(LiveBrowser, ALargeNetworkIsShownByNeighbourhoods) {
  Edges edges;
  edges.variables = 800;
  for (VariableId v = 1; v < 800; ++v) edges.add((v - 1) / 2, v);
  Model model = ising(edges, Draw::constant(0.4), Draw::normal(0, 0.5), 1);
  model_ = model;
  serve(model, LiveOptions{.input = "tree.uai"});
  const std::string count = "document.querySelectorAll('.node').length",
                    part = "document.querySelector('.part')";
  ASSERT_TRUE(browser_->wait_for(count + " === 120"));
  EXPECT_EQ(browser_->run(part + ".textContent"), "120 of 800 variables: find one to see what is around it");
  EXPECT_EQ(browser_->run("document.querySelector('[data-variable=\"799\"]')"), nullptr);
  const auto find = [&](const char* name) {
    browser_->run(
        fmt::format("(() => {{ const field = document.getElementById('find'); field.value = '{}'; "
                    "field.form.requestSubmit(); }})()",
                    name));
  };
  find("799");
  ASSERT_TRUE(browser_->wait_for("document.querySelector('[data-variable=\"799\"]')"));
  EXPECT_EQ(browser_->run(count), 120);
  // A click there moves the bars of its neighbours to the exact numbers.
  ExactNetwork exact(model, std::size_t{1} << 30);
  const int asked = browser_->run("window.droverTimes.length");
  click(row(799, 1));
  ASSERT_TRUE(browser_->wait_for(fmt::format("window.droverTimes.length > {}", asked)));
  const std::vector<Finding> found = {observed(799, 1)};
  const double p = exact.marginals(found).probabilities[399][1];
  find("399");  // what is out of sight is not drawn
  const std::string bar = row(399, 1) + ".querySelector('.bar').getAttribute('width') / " + row(399, 1) +
                          ".querySelector('.room').getAttribute('width')";
  ASSERT_TRUE(browser_->wait_for(bar + " > 0"));
  EXPECT_NEAR(browser_->run(bar).get<double>(), p, 1e-9);
}

TEST_F(LiveBrowser, TheNetworkIsZoomedAndMoved) {
  open(live_example());
  const std::string left = "document.querySelector('[data-variable=\"0\"]').getBoundingClientRect().",
                    width = left + "width";
  const double fitted = browser_->run(width);
  click("document.querySelector('[aria-label=\"Zoom in\"]')");
  EXPECT_NEAR(browser_->run(width).get<double>(), 1.3 * fitted, 0.02 * fitted);
  click("document.querySelector('[aria-label=\"Zoom out\"]')");
  click("document.querySelector('[aria-label=\"Zoom out\"]')");
  EXPECT_NEAR(browser_->run(width).get<double>(), fitted / 1.3, 0.02 * fitted);
  const double x = browser_->run(left + "x");
  const auto [corner_x, corner_y] = std::pair<double, double>{30, 700};  // nothing lies there
  browser_->drag(corner_x, corner_y, corner_x + 100, corner_y);
  EXPECT_NEAR(browser_->run(left + "x").get<double>(), x + 100, 2);
  click(named("Fit"));
  EXPECT_NEAR(browser_->run(width).get<double>(), fitted, 1e-6);
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
  click(named("Run"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.controls option').length > 3"));
  click(named("Start"));
  ASSERT_TRUE(browser_->wait_for(
      "window.droverSnapshots > 4 && Array.from(document.querySelectorAll('.plot'), (p) => "
      "Number(p.dataset.curves)).join() === '8,1,1'"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.card tbody tr').length === 5"));
  EXPECT_TRUE(browser_->wait_for(
      "document.querySelector('.verdict.good').textContent.startsWith('The chains agree')"));
  keep("serve-run");
  click(named("Pause"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'paused'"));
  click(named("Go on"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'sampling'"));
  click(named("Stop"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'stopped'"));
  click(named("Network"));
  expect_bars(2, {});
}

TEST_F(LiveBrowser, EvidenceMethodAndSeedChangeWithoutLeavingTheRun) {
  open(live_example());
  click(named("Run"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.methods === 'known'"));
  click(named("Start"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.draws > 100"));
  const auto fact = [](const std::string& name) {
    return fmt::format(
        "Array.from(document.querySelectorAll('.facts div')).find((d) => d.firstChild.textContent === "
        "'{}').lastChild.textContent",
        name);
  };
  const auto type = [&](const std::string& label, const std::string& value, const std::string& event) {
    browser_->run(
        fmt::format("(() => {{ const one = document.querySelector('[aria-label=\"{}\"]'); one.value = '{}'; "
                    "one.dispatchEvent(new Event('{}', {{ bubbles: true }})); }})()",
                    label, value, event));
  };
  type("Observe a variable", "lawn", "input");
  ASSERT_TRUE(browser_->wait_for("!document.querySelector('[aria-label=\"State\"]').hidden"));
  type("State", "1", "change");
  click(named("Observe"));
  EXPECT_TRUE(browser_->wait_for(fact("Evidence") + " === '1 observed'"));
  type("Method", "blocked-gibbs", "change");
  EXPECT_TRUE(browser_->wait_for(fact("Method") + " === 'blocked-gibbs'"));
  EXPECT_TRUE(browser_->wait_for(fact("Evidence") + " === '1 observed'"));
  type("Seed", "7", "change");
  // What is saved says so.
  EXPECT_TRUE(browser_->wait_for("Number(document.getElementById('view').dataset.draws) > 10"));
  const json figures = browser_->run(
      "new Promise((done) => { const look = () => fetch('/api/run/figures').then((r) => r.json()).then("
      "(said) => said.seed === 7 && said.draws > 100 ? done(said) : setTimeout(look, 50)); look(); })");
  EXPECT_EQ(figures["evidence"], json::parse("[[3, 1]]"));
  EXPECT_EQ(figures["method"], "blocked-gibbs");
  const std::string draws = browser_->run("fetch('/api/run/draws.csv').then((r) => r.text())");
  EXPECT_EQ(draws.substr(0, draws.find('\n')), "chain,draw,log_score,cloudy,rain,sprinkler,lawn,street");
  EXPECT_GT(std::count(draws.begin(), draws.end(), '\n'), 100);
  click(named("Network"));  // which knows of it
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('.node.seen').length === 1"));
  expect_bars(2, {observed(3, 1)});
}

TEST_F(LiveBrowser, TheRaceIsWatched) {
  open(grid_ising(5, 5, false, 0.3, 0.1));
  click(named("Run"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.methods === 'known'"));
  browser_->run("document.querySelector('[aria-label=Method]').value = 'race'");
  click(named("Start"));
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.race tbody tr').length > 2"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'done'"));
  EXPECT_EQ(browser_->run("document.querySelectorAll('.race tr.chosen').length"), 1);
  EXPECT_TRUE(browser_->wait_for("document.querySelector('.verdict').classList.contains('good')"));
  keep("serve-race");
}

TEST_F(LiveBrowser, WhereExactAnswersDoNotFitErrorBarsShrink) {
  model_ = live_example();
  exact_ = std::make_unique<ExactNetwork>(model_, std::size_t{1} << 30);
  serve(live_example(), LiveOptions{.input = "model.bif", .memory_limit_bytes = 64});
  const std::string error = "parseFloat(document.getElementById('largest-error').textContent.slice(2))";
  ASSERT_TRUE(browser_->wait_for("window.droverTimes.length === 1 && " + error + " > 0"));
  const double first = browser_->run(error);
  ASSERT_TRUE(browser_->wait_for(error + fmt::format(" < {}", std::min(0.5 * first, 1.5))));
  EXPECT_EQ(browser_->run("document.querySelectorAll('.excluded').length"),
            0);  // never met is not impossible
  click(row(3, 1));
  ASSERT_TRUE(browser_->wait_for(
      "document.querySelectorAll('.node.seen').length === 1 && window.droverTimes.length > 1 && " + error +
      " < 1.5"));
  const NetworkAnswer truth = exact_->marginals(std::vector<Finding>{observed(3, 1)});
  const json bars = browser_->run(
      "Array.from(document.querySelectorAll('.node'), (node) => Array.from(node.querySelectorAll('.row'), "
      "(row) => "
      "[Number(row.querySelector('.bar').getAttribute('width')) / 50, "
      "row.querySelector('.error').getAttribute('d')]))");
  for (VariableId v = 0; v < model_.variable_count(); ++v)
    for (std::size_t k = 0; k < bars[v].size(); ++k) {
      // The line on the bar: two standard errors to either side.
      const std::string line = bars[v][k][1];
      double low = 0, y = 0, high = 0;
      const bool drawn = std::sscanf(line.c_str(), "M%lf %lfH%lf", &low, &y, &high) == 3;
      EXPECT_EQ(drawn, v != 3) << v;
      const double p = bars[v][k][0];
      EXPECT_NEAR(p, truth.probabilities[v][k], drawn ? 2.5 * (high - low) / 50 + 0.02 : 1e-9)
          << v << " " << k;
    }
  EXPECT_TRUE(browser_->wait_for(
      "document.querySelector('aside .verdict.good').textContent.startsWith('The chains agree')"));
  keep("serve-estimates");
}

TEST_F(LiveBrowser, FiguresAreWrittenAsTheLibraryWritesThem) {
  open(live_example());
  std::vector<double> values = {
      0,          1,   1.00004, 1.01011,    999.99991, 1000.2,     76562835670821552.0, 1e-13,  3e-12, 3.7e-5,
      0.00012345, 0.1, 412.3,   123456.789, 9.996,     99999999.7, 12345678901.2,       1e-300, 1e300};
  for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  const double infinity = std::numeric_limits<double>::infinity();
  values.insert(values.end(), {infinity, -infinity, std::nan("")});
  std::string list;
  for (double value : values)
    list += std::isnan(value)   ? "NaN,"
            : std::isinf(value) ? (value > 0 ? "Infinity," : "-Infinity,")
                                : fmt::format("{},", value);
  const json said = browser_->run("import('/tools.js').then((t) => [" + list +
                                  "].map((v) => [t.rhatText(v), t.essText(v), t.errorText(v), t.logText(v), "
                                  "t.logText(v, 7)]))");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    EXPECT_EQ(said[i][2], error_text(value)) << value;
    EXPECT_EQ(said[i][3], log_text(value)) << value;
    EXPECT_EQ(said[i][4], log_text(value, 7)) << value;
    if (std::signbit(value) || (value > 1e20 && !std::isinf(value))) continue;  // are neither
    EXPECT_EQ(said[i][0], rhat_text(value)) << value;
    EXPECT_EQ(said[i][1], ess_text(value)) << value;
  }
}

TEST_F(LiveBrowser, ARunOfChainsThatStayApartIsToldInWords) {
  Model model;  // two states that no chain of single-site Gibbs leaves for the other
  model.cardinalities.assign(12, 2);
  for (VariableId v = 0; v + 1 < 12; ++v) model.spin_pairs.add(v, v + 1, 30);
  serve(std::move(model), LiveOptions{.input = "apart.uai"});
  click(named("Run"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.methods === 'known'"));
  click(named("Start"));
  const std::string figures =
      "Array.from(document.querySelectorAll('.facts dd, .card td.number'), (n) => n.textContent)";
  ASSERT_TRUE(browser_->wait_for(figures + ".includes('above 1000')")) << browser_->run(figures);
  const json shown = browser_->run(figures);
  for (const json& text : shown) EXPECT_LE(text.get<std::string>().size(), 20u) << text;
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
