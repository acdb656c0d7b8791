// What holds for every view, in real Chromium: it can be painted on, read, used by keyboard and on a phone,
// comes back when the connection was lost, is the same in two tabs, and does not grow.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "drover/model/builders.hpp"
#include "tests/serve/live_browser.hpp"

namespace drover {
namespace {

using nlohmann::json;
using testing::LiveBrowser;

Model magnets(std::uint32_t side) {
  return ising(grid_edges(side, side, false), Draw::constant(0.42), Draw::constant(0), 1);
}

class LiveViews : public LiveBrowser {
 protected:
  void go(const std::string& view) {
    click(named(view));
    ASSERT_TRUE(browser_->wait_for(
        fmt::format("document.querySelector('#views [aria-current=page]').textContent === '{}'", view)));
  }
  void wait_for_frames(int count) {
    ASSERT_TRUE(browser_->wait_for(fmt::format("window.droverFrames > {}", count)));
  }
  /// The middle of the canvas of a plane, and its size.
  json plane(int which) {
    return browser_->run(fmt::format(
        "(() => {{ const b = document.querySelectorAll('.paintable')[{}].getBoundingClientRect(); return "
        "[b.x, b.y, b.width, b.height]; }})()",
        which));
  }
  /// Shuts every connection to the server, from within.
  void break_connections() {
    for (int socket = 3; socket < 1024; ++socket) {
      sockaddr_in own{}, other{};
      socklen_t size = sizeof own;
      if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0 || own.sin_family != AF_INET)
        continue;
      size = sizeof other;
      if (getpeername(socket, reinterpret_cast<sockaddr*>(&other), &size) != 0) continue;
      if (ntohs(own.sin_port) == server_->port()) shutdown(socket, SHUT_RDWR);
    }
  }
  const std::string held_ = "Number(document.getElementById('view').dataset.held)";
};

TEST_F(LiveViews, PaintingHoldsPixels) {
  serve(magnets(48), LiveOptions{.input = "magnets.uai"});
  wait_for_frames(3);
  EXPECT_EQ(browser_->run("document.querySelector('#views [aria-current=page]').textContent"), "Picture");
  const json box = plane(0);
  const double x = box[0], y = box[1], width = box[2], height = box[3];
  browser_->drag(x + 0.2 * width, y + 0.5 * height, x + 0.8 * width, y + 0.5 * height);
  ASSERT_TRUE(browser_->wait_for(held_ + " > 40"));
  // The pixels under the stroke are light and held: red above blue.
  const std::string colour =
      "Array.from(document.querySelectorAll('.paintable')[0].getContext('2d').getImageData(24, 24, 1, "
      "1).data)";
  EXPECT_TRUE(browser_->wait_for(colour + ".join() === '255,184,120,255'")) << browser_->run(colour);
  ASSERT_TRUE(browser_->wait_for("window.droverFrames > 15"));
  keep("serve-picture");
  click(named("Free"));
  browser_->drag(x + 0.2 * width, y + 0.5 * height, x + 0.5 * width, y + 0.5 * height);
  ASSERT_TRUE(browser_->wait_for(held_ + " < 60"));
  click(named("Free all"));
  EXPECT_TRUE(browser_->wait_for(held_ + " === 0"));
}

TEST_F(LiveViews, SlidersAndSamplersActOnThePicture) {
  serve(magnets(40), LiveOptions{.input = "magnets.uai"});
  wait_for_frames(3);
  const auto slide = [&](const char* label, double value) {
    browser_->run(
        fmt::format("(() => {{ const one = document.querySelector('[aria-label={}]'); one.value = {}; "
                    "one.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()",
                    label, value));
  };
  const auto fact = [](const std::string& name) {
    return fmt::format(
        "Array.from(document.querySelectorAll('.group dt')).find((d) => d.textContent === "
        "'{}').nextSibling.textContent",
        name);
  };
  slide("Field", 1.5);
  EXPECT_TRUE(browser_->wait_for("parseFloat(" + fact("Mean level") + ") > 95"))
      << browser_->run(fact("Mean level"));
  slide("Field", 0);
  slide("Temperature", 1);  // ten
  EXPECT_TRUE(browser_->wait_for("Math.abs(parseFloat(" + fact("Mean level") + ") - 50) < 5"));
  browser_->run(
      "(() => { const one = document.querySelector('[aria-label=Sampler]'); one.value = 'gibbs'; "
      "one.dispatchEvent(new Event('change')); })()");
  EXPECT_TRUE(browser_->wait_for(fact("Sampler") + ".includes('Gibbs')"));
  EXPECT_TRUE(browser_->wait_for("Math.abs(parseFloat(" + fact("Mean level") + ") - 50) < 5"));
  click(named("Pause"));
  EXPECT_TRUE(browser_->wait_for(fact("State") + " === 'paused'"));
  click(named("Go on"));
  EXPECT_TRUE(browser_->wait_for(fact("State") + " === 'sampling'"));
}

TEST_F(LiveViews, TheKeyboardPaints) {
  serve(magnets(30), LiveOptions{.input = "magnets.uai"});
  wait_for_frames(3);
  browser_->run("document.querySelector('.paintable').focus()");
  browser_->press("ArrowRight", "ArrowRight", 39);
  browser_->press(" ", "Space", 32, " ");
  ASSERT_TRUE(browser_->wait_for(held_ + " > 0"));
  EXPECT_TRUE(browser_->wait_for("document.getElementById('said').textContent.startsWith('Column')"));
  browser_->press("Delete", "Delete", 46);
  EXPECT_TRUE(browser_->wait_for(held_ + " === 0"));
}

TEST_F(LiveViews, EveryExampleOpens) {
  serve(live_example(), LiveOptions{});
  const int count = browser_->run("document.querySelectorAll('#examples option').length");
  EXPECT_GE(count, 5);
  for (int i = 0; i < count; ++i) {
    browser_->run(
        fmt::format("(() => {{ const one = document.getElementById('examples'); one.selectedIndex = {}; "
                    "window.wanted = one.value; one.dispatchEvent(new Event('change')); }})()",
                    i));
    ASSERT_TRUE(browser_->wait_for("document.title.startsWith(window.wanted)"));
    const std::string view = browser_->run("document.querySelector('#views button').textContent");
    if (view == "Picture")
      wait_for_frames(4);
    else
      EXPECT_TRUE(browser_->wait_for("document.querySelector('.bar').getAttribute('width') > 0")) << i;
    keep(fmt::format("example-{}", i));
    browser_->run("window.droverFrames = 0");
  }
}

TEST_F(LiveViews, ItComesBackWhenTheConnectionWasLost) {
  serve(magnets(32), LiveOptions{.input = "magnets.uai"});
  wait_for_frames(3);
  browser_->set_offline(true);
  ASSERT_TRUE(browser_->wait_for("!document.querySelector('aside .bad').hidden"));
  browser_->set_offline(false);
  browser_->run("window.droverFrames = 0");
  wait_for_frames(3);
  EXPECT_EQ(browser_->run("document.querySelector('aside .bad').hidden"), true);
  go("Run");
  click(named("Start"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.draws > 10"));
  browser_->run(
      "window.droverSnapshots = 0; window.lost = 0; new MutationObserver(() => { if "
      "(document.getElementById('view').classList.contains('lost')) window.lost = 1; "
      "}).observe(document.getElementById('view'), { attributes: true })");
  break_connections();  // what is emulated above does not touch a stream that flows
  ASSERT_TRUE(browser_->wait_for("window.lost === 1"));
  ASSERT_TRUE(browser_->wait_for(
      "window.droverSnapshots > 2 && !document.getElementById('view').classList.contains('lost')"));
  browser_->run("1");
  browser_->forget_complaints();  // that the network was gone
}

TEST_F(LiveViews, TwoTabsShareARunAndKeepTheirOwnEvidence) {
  open(live_example());
  browser_->new_tab(1000, 700);
  browser_->open(server_->address().substr(0, server_->address().find('?')));  // the cookie is enough
  ASSERT_TRUE(browser_->wait_for("window.droverTimes.length === 1"));
  click(row(3, 1));
  expect_bars(2, {observed(3, 1)});
  browser_->use_tab(0);
  expect_bars(1, {});
  go("Run");
  click(named("Start"));
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'sampling'"));
  browser_->use_tab(1);
  go("Run");
  ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'sampling'"));
  click(named("Stop"));
  browser_->use_tab(0);
  EXPECT_TRUE(browser_->wait_for("document.getElementById('view').dataset.phase === 'stopped'"));
}

/// Contrast by the rules of WCAG 2: of every text that is seen, against the ground it stands on.
constexpr const char* contrasts = R"((() => {
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = (text) => { const n = (text.match(/[\d.]+/g) || []).map(Number); return n.length > 3 && n[3] === 0 ? null : n.slice(0, 3); };
  const ground = (node) => { for (let n = node; n instanceof Element; n = n.parentElement) {
    const c = getComputedStyle(n), box = n.classList.contains('node') ? n.querySelector('.box') : null;
    const g = box ? parse(getComputedStyle(box).fill) : n instanceof SVGElement ? null : parse(c.backgroundColor);
    if (g) return g; } return [255, 255, 255]; };
  const found = [];
  for (const node of document.querySelectorAll('body *')) {
    const own = Array.from(node.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || node.closest('#said, title, option, script, noscript, [hidden], .excluded, :disabled, .uplot') || node.closest('.swatch:not(.free)')) continue;
    const box = node.getBoundingClientRect(), c = getComputedStyle(node);
    if (!box.width || !box.height || c.visibility === 'hidden') continue;
    const ink = parse(node instanceof SVGElement ? c.fill : c.color), under = ground(node);
    if (!ink) continue;
    const [a, b] = [light(ink), light(under)].sort((p, q) => q - p), ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(node.tagName + '.' + (node.className.baseVal ?? node.className) + ' "' + node.textContent.slice(0, 30) + '" ' + ratio.toFixed(2));
  }
  return found;
})())";

TEST_F(LiveViews, EveryViewCanBeReadInLightAndDarkAndOnAPhone) {
  serve(grid_ising(12, 12, false, 0.3, 0.1), LiveOptions{.input = "grid.uai"});
  for (const bool dark : {false, true})
    for (const int width : {1280, 390}) {
      browser_->set_dark(dark);
      browser_->resize(width, 800);
      for (const char* view : {"Network", "Run", "Picture"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", view, width, dark ? "dark" : "light"));
        browser_->run("window.droverTimes = []; window.droverFrames = 0");
        go(view);
        if (std::string(view) == "Network") {
          ASSERT_TRUE(browser_->wait_for("window.droverTimes.length > 0"));
          click(row(0, 1));
          ASSERT_TRUE(browser_->wait_for("document.getElementById('log-evidence')"));
        } else if (std::string(view) == "Run") {
          ASSERT_TRUE(browser_->wait_for("document.getElementById('view').dataset.methods === 'known'"));
          click("document.querySelector('.sampler .main')");
          ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.card tbody tr').length > 3"));
        } else {
          wait_for_frames(2);
        }
        EXPECT_EQ(browser_->run(contrasts), json::array());
        EXPECT_LE(browser_->run("document.documentElement.scrollWidth - innerWidth").get<int>(), 0)
            << "it scrolls sideways";
        // Whatever can be pressed has a name, and can be reached by keyboard.
        EXPECT_EQ(browser_->run("Array.from(document.querySelectorAll('button, input, select, a, "
                                "canvas')).filter((n) => !n.closest('[hidden], .uplot') && "
                                "!(n.textContent.trim() || n.getAttribute('aria-label') || (n.labels && "
                                "n.labels.length))).map((n) => n.outerHTML)"),
                  json::array());
        EXPECT_EQ(browser_->run("document.querySelectorAll('[tabindex=\"-1\"]').length"), 0);
        keep(fmt::format("page-{}-{}-{}", view, width, dark ? "dark" : "light"));
      }
    }
}

/// DROVER_PAGE_MINUTES=10 is the long form (tools/watch_page); here it is a matter of seconds.
TEST_F(LiveViews, APageThatIsLeftOpenDoesNotGrow) {
  const char* const minutes = std::getenv("DROVER_PAGE_MINUTES");
  const double seconds = minutes != nullptr ? 60 * std::atof(minutes) : 3;
  serve(magnets(24), LiveOptions{.input = "magnets.uai"});
  for (const char* view : {"Run", "Picture"}) {
    go(view);
    if (std::string(view) == "Run") click(named("Start"));
    const std::string count = std::string(view) == "Run" ? "window.droverSnapshots" : "window.droverFrames";
    ASSERT_TRUE(browser_->wait_for(count + " > 12"));
    if (std::string(view) == "Run") {  // the table of the slowest has all of its rows
      ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('.card tbody tr').length === 12"));
    }
    const auto [bytes, nodes] = browser_->memory();
    const double begun = browser_->run(count);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds)
      browser_->run("new Promise((done) => setTimeout(done, 500))");
    ASSERT_TRUE(browser_->wait_for(count + fmt::format(" > {}", begun + 12)));
    const auto [bytes_after, nodes_after] = browser_->memory();
    const double shown = browser_->run(count);
    fmt::print("{}: {:.0f} updates, script memory {:.2f} MB before, {:.2f} MB after; {} and {} nodes\n", view,
               shown - begun, bytes / 1e6, bytes_after / 1e6, nodes, nodes_after);
    // A table of the slowest variables that was replaced, some 160 nodes, may not be collected yet; a page
    // that grew would keep one of every update, 12 and more.
    EXPECT_LE(nodes_after, nodes + 500);
    EXPECT_LE(bytes_after, bytes + 1'500'000);
  }
}

}  // namespace
}  // namespace drover
