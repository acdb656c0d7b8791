// The live page in real Chromium, which renders in software where there is no graphics card.
//
//   bench_live_page clicks MODEL ...   from a click to painted bars, of 100 clicks
//   bench_live_page picture [SIDE]     pictures a second of a grid, and what looking at it costs the sampler
//   bench_live_page frames [SIDE]      the same without a browser: what making and sending the pictures costs, counted
//   bench_live_page open [SIDE]        from the first request to the first picture, of a grid in memory
//   bench_live_page memory MINUTES     of a page that is left open, and of its server; so long for either view, or
//                   memory MINUTES VIEW  for the one that is named, Run or Picture
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_page.hpp"
#include "tests/serve/http_client.hpp"
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
  std::vector<double> lost;
  constexpr int rounds = 15;
  for (int round = 0; round < rounds; ++round) {
    double rate[2] = {0, 0};
    for (const bool watched : {true, false}) {
      if (!watched)
        browser.run("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })");
      const auto [begin, first] =
          watched ? shown(browser)
                  : std::pair<double, double>(browser.run("window.droverShown")[0].get<double>() / 1000,
                                              browser.run("window.droverShown")[1]);
      const double before = browser.run("window.droverFrames");
      std::this_thread::sleep_for(std::chrono::seconds(3));
      if (!watched) browser.run("delete document.hidden");
      const auto [end, last] = shown(browser);
      rate[watched ? 0 : 1] = (last - first) / (end - begin);
      rates[watched ? 0 : 1] += rate[watched ? 0 : 1] / rounds;
      if (watched) {
        frames += browser.run("window.droverFrames").get<double>() - before;
        seconds += end - begin;
      }
    }
    lost.push_back(100 * (1 - rate[0] / rate[1]));
  }
  fmt::print(
      "{0} x {0}: {1:.1f} pictures a second; sweeps a second watched {2:.1f}, not watched {3:.1f}: {4:.1f} % "
      "lost; of {5} pairs of 3 s the middle one {6:.1f} %, half of them {7:.1f} to {8:.1f} %\n",
      side, frames / seconds, rates[0], rates[1], 100 * (1 - rates[0] / rates[1]), rounds,
      percentile(lost, 0.5), percentile(lost, 0.25), percentile(lost, 0.75));
}

/// Processor seconds that threads of this process have had so far, by thread.
std::map<std::string, double> thread_seconds() {
  std::map<std::string, double> seconds;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) seconds[task.path().filename().string()] = 1e-9 * nanoseconds;
  }
  return seconds;
}

/// The server's part of it, counted: a client takes pictures over HTTP as the page does. The sampler loses no more than the time it makes pictures itself and the processor
/// time of the threads that send them.
void frames(std::uint32_t side) {
  parallel_for(0, 1000, [](int) { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
  RunControl control;
  HttpServer server{HttpOptions{}};
  LivePage page(grid(side), LiveOptions{.input = "grid"}, server, control);
  const auto before = thread_seconds();  // this thread and those of parallel loops
  std::thread serving([&] { server.run(); });
  server.wait_until_serving();
  const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", server.port()), address = server.address();
  testing::Socket client("127.0.0.1", server.port());  // stays connected, as a browser does
  client.send("GET /" + address.substr(address.find("?token=")) + " HTTP/1.1\r\n" + host + "\r\n");
  const testing::Reply entry = testing::parse_reply(client.receive_answer());
  const auto with_server = thread_seconds();
  const std::size_t begin = entry.head.find("Set-Cookie: ") + 12;
  const std::string known =
      host + "Cookie: " + entry.head.substr(begin, entry.head.find(';', begin) - begin) + "\r\n";
  std::string version = "0", mean = "0";
  int pictures = 0;
  // The pictures of a second, as many pixels of them as a page of 1400 shows.
  const auto take = [&] {
    client.send("GET /api/pictures?across=437&after=" + version + "&mean=" + mean + " HTTP/1.1\r\n" + known +
                "\r\n");
    while (!client.receive_line().empty()) continue;
    std::pair<double, double> last;
    for (std::string part = client.receive_chunk(); !part.empty(); part = client.receive_chunk()) {
      if (part.size() == 4) continue;
      const auto length =
          static_cast<unsigned char>(part.at(4)) + 256U * static_cast<unsigned char>(part.at(5));
      const json said = json::parse(part.substr(8, length));
      version = said["version"];
      mean = said["mean_version"];
      last = {said["frame_seconds"], said["sweeps"]};
      ++pictures;
    }
    return last;
  };
  const auto serving_seconds = [&] {
    double sum = 0;
    for (const auto& [thread, seconds] : thread_seconds())
      if (with_server.contains(thread) && !before.contains(thread)) sum += seconds;
    return sum;
  };
  const auto [first_seconds, first_sweeps] = take();
  const double start = now(), sent = serving_seconds();
  pictures = 0;
  std::pair<double, double> last;
  while (now() - start < 10) last = take();
  const double seconds = now() - start, made = last.first - first_seconds, sending = serving_seconds() - sent;
  fmt::print(
      "{0} x {0}: {1} pictures in {2:.1f} s beside {3:.0f} sweeps; making them took the sampler {4:.2f} % of "
      "the "
      "time ({5:.2f} ms each), sending them {6:.2f} % of one core: at most {7:.2f} % lost\n",
      side, pictures, seconds, last.second - first_sweeps, 100 * made / seconds, 1000 * made / pictures,
      100 * sending / seconds, 100 * (made + sending) / seconds);
  control.request_stop();
  server.stop();
  serving.join();
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

void memory(double minutes, const std::string& only) {
  Session session(grid(64), "grid");
  Chromium& browser = session.browser;
  for (const std::string view : {"Run", "Picture"}) {
    if (!only.empty() && view != only) continue;
    browser.wait_for("document.querySelector('#views button')");
    browser.run(fmt::format(
        "Array.from(document.querySelectorAll('button')).find((b) => b.textContent === '{}').click()", view));
    if (view == "Run") browser.run("document.querySelector('.main').click()");
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
    memory(number(10), count > 3 ? words[3] : "");
  else {  // what needs no file
    open(1000);
    picture(1000);
    frames(1000);
  }
  return 0;
}
