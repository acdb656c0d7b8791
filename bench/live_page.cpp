// The live page in real Chromium, which renders in software where there is no graphics card.
//
//   bench_live_page clicks MODEL ...   from a click to painted bars, of 100 clicks
//   bench_live_page picture [SIDE]     pictures a second of a grid, and what looking at it costs the sampler
//   bench_live_page frames [SIDE]      the same without a browser: what making the pictures costs
//   bench_live_page open [SIDE]        from the first request to the first picture, of a grid in memory
//   bench_live_page memory MINUTES     of a page that is left open, and of its server; so long for either view
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "drover/core/random.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_page.hpp"
#include "drover/serve/live_picture.hpp"
#include "tests/support/chromium.hpp"

namespace {

using namespace drover;
using nlohmann::json;
using testing::Chromium;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A model, its page, and a browser that looks at it.
class Session {
 public:
  Session(Model model, const std::string& name)
      : page_(std::move(model), LiveOptions{.input = name}, server_, control_),
        thread_([this] { server_.run(); }),
        browser(1400, 900, false) {
    opened = now();
    browser.open(server_.address());
  }
  ~Session() {
    control_.request_stop();
    server_.stop();
    thread_.join();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  RunControl control_;
  HttpServer server_{HttpOptions{}};
  LivePage page_;
  std::thread thread_;

 public:
  Chromium browser;
  double opened = 0;
};

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
}

void clicks(const std::string& path) {
  Session session(read_model(path), path);
  Chromium& browser = session.browser;
  browser.wait_for("window.droverTimes.length === 1");
  const int rows = browser.run("document.querySelectorAll('.row').length");
  RandomSequence random(1, Stream::generate);
  std::vector<double> server;
  browser.run("window.droverTimes = []; window.droverPainted = []");
  for (int click = 1; click <= 100; ++click) {
    const json place = browser.run(
        fmt::format("(() => {{ const b = document.querySelectorAll('.row')[{}].getBoundingClientRect(); "
                    "return [b.x + b.width "
                    "/ 2, b.y + b.height / 2]; }})()",
                    random.below(rows)));
    browser.click(place[0], place[1]);
    browser.wait_for(
        fmt::format("window.droverPainted.length >= {} || document.querySelector('.impossible')", click));
    if (browser.run("Boolean(document.querySelector('.impossible'))") == true) {
      browser.run(
          "Array.from(document.querySelectorAll('button')).find((b) => b.textContent === 'Undo').click()");
      browser.wait_for("!document.querySelector('.impossible')");
      browser.wait_for(fmt::format("window.droverPainted.length >= {}", click));
    }
    browser.run("new Promise((done) => setTimeout(done, 100))");  // a person looks
    // Evidence is taken back before it becomes impossible.
    if (click % 4 == 0) {
      browser.run(
          "Array.from(document.querySelectorAll('button')).find((b) => b.textContent === 'Clear').click()");
      browser.run("new Promise((done) => setTimeout(done, 300))");
      browser.run(fmt::format("window.droverTimes.length = {0}; window.droverPainted.length = {0}", click));
    }
  }
  const std::vector<double> times = browser.run("window.droverTimes"),
                            painted = browser.run("window.droverPainted");
  fmt::print(
      "{}: {} rows; click to painted bars, ms: median {:.1f}, 95th {:.1f}; to the frame after: {:.1f}, "
      "{:.1f}\n",
      path.substr(path.find_last_of('/') + 1), rows, percentile(times, 0.5), percentile(times, 0.95),
      percentile(painted, 0.5), percentile(painted, 0.95));
}

Model grid(std::uint32_t side) {
  return ising(grid_edges(side, side, false), Draw::constant(0.44), Draw::normal(0, 0.05), 1);
}

/// Time and sweeps of the next picture that is shown.
std::pair<double, double> shown(Chromium& browser) {
  const json said = browser.run(
      "new Promise((done) => { const last = window.droverShown; const look = () => window.droverShown !== "
      "last ? "
      "done(window.droverShown) : setTimeout(look, 1); look(); })");
  return {said[0].get<double>() / 1000, said[1]};
}

void picture(std::uint32_t side) {
  Session session(grid(side), "grid");
  Chromium& browser = session.browser;
  browser.wait_for("window.droverFrames > 5");
  double rates[2] = {0, 0}, frames = 0, seconds = 0;
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round)
    for (const bool watched : {true, false}) {
      if (!watched)
        browser.run("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })");
      const double before = browser.run("window.droverFrames");
      const auto [begin, first] =
          watched ? shown(browser)
                  : std::pair<double, double>(browser.run("window.droverShown")[0].get<double>() / 1000,
                                              browser.run("window.droverShown")[1]);
      std::this_thread::sleep_for(std::chrono::seconds(3));
      if (!watched) browser.run("delete document.hidden");
      const auto [end, last] = shown(browser);
      rates[watched ? 0 : 1] += (last - first) / (end - begin) / rounds;
      if (watched) {
        frames += browser.run("window.droverFrames").get<double>() - before;
        seconds += end - begin;
      }
    }
  fmt::print(
      "{0} x {0}: {1:.1f} pictures a second; sweeps a second watched {2:.1f}, not watched {3:.1f}: {4:.1f} % "
      "lost\n",
      side, frames / seconds, rates[0], rates[1], 100 * (1 - rates[0] / rates[1]));
}

/// The server's part of it: somebody who takes ten pictures a second and does nothing with them.
void frames(std::uint32_t side) {
  const Model model = grid(side);
  LivePicture picture(model, *picture_shape(model), 1, 1e9);
  std::uint64_t version = picture.frame(0, 60).version;
  double rates[2] = {0, 0};
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round)
    for (const bool watched : {true, false}) {
      const double begin = now();
      const std::uint64_t first = picture.sweeps();
      for (int turn = 0; turn < 30; ++turn) {
        if (watched) version = std::max(version, picture.frame(version, 1, turn % 3 == 0).version);
        while (now() - begin < 0.1 * (turn + 1)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      rates[watched ? 0 : 1] += static_cast<double>(picture.sweeps() - first) / (now() - begin) / rounds;
    }
  fmt::print(
      "{0} x {0}, frames alone: sweeps a second watched {1:.1f}, not watched {2:.1f}: {3:.1f} % lost\n", side,
      rates[0], rates[1], 100 * (1 - rates[0] / rates[1]));
}

void open(std::uint32_t side) {
  Session session(grid(side), "grid");
  session.browser.wait_for("window.droverFrames > 0");
  const double first = now() - session.opened;
  session.browser.run(
      "Array.from(document.querySelectorAll('button')).find((b) => b.textContent === 'Run').click()");
  session.browser.wait_for("document.querySelectorAll('.controls option').length > 5");
  fmt::print("{0} x {0}: first picture after {1:.2f} s, the methods of the run view after {2:.2f} s\n", side,
             first, now() - session.opened);
}

/// Resident memory of this process, which is the server's.
double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e6;
}

void memory(double minutes) {
  Session session(grid(64), "grid");
  Chromium& browser = session.browser;
  for (const char* view : {"Run", "Picture"}) {
    browser.wait_for("document.querySelector('#views button')");
    browser.run(fmt::format(
        "Array.from(document.querySelectorAll('button')).find((b) => b.textContent === '{}').click()", view));
    if (std::string(view) == "Run") browser.run("document.querySelector('.main').click()");
    std::this_thread::sleep_for(std::chrono::seconds(5));
    const double begin = now();
    constexpr int looks = 10;
    for (int look = 0; look <= looks; ++look) {
      const double next = minutes * look / looks;
      while (now() - begin < 60 * next) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const auto [bytes, nodes] = browser.memory();
      fmt::print("{} after {:.1f} min: script memory {:.2f} MB, {} nodes; server {:.0f} MB\n", view, next,
                 bytes / 1e6, nodes, resident_megabytes());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  const auto number = [&](double otherwise) { return count > 2 ? std::atof(words[2]) : otherwise; };
  if (what == "clicks")
    for (int i = 2; i < count; ++i) clicks(words[i]);
  else if (what == "picture")
    picture(static_cast<std::uint32_t>(number(1000)));
  else if (what == "frames")
    frames(static_cast<std::uint32_t>(number(1000)));
  else if (what == "open")
    open(static_cast<std::uint32_t>(number(1000)));
  else if (what == "memory")
    memory(number(10));
  else {  // what needs no file
    open(1000);
    picture(1000);
    frames(1000);
  }
  return 0;
}
