// Every line of the promise on top of http_server.hpp, spoken to over a bare socket.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/http_server.hpp"
#include "drover/serve/live_page.hpp"
#include "tests/serve/http_client.hpp"
#include "tests/serve/served_command.hpp"
#include "tests/support/temporary_folder.hpp"

namespace drover {
namespace {

using testing::exchange;
using testing::Reply;
using testing::Socket;

class Serve : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void TearDown() override { end(); }

  void start(HttpOptions options, const LiveOptions& live = {}, Model model = live_example()) {
    end();
    server_ = std::make_unique<HttpServer>(options);
    page_ = std::make_unique<LivePage>(std::move(model), live, *server_, control_);
    thread_ = std::thread([this] { server_->run(); });
    port_ = server_->port();
    host_ = fmt::format("Host: 127.0.0.1:{}\r\n", port_);
    origin_ = fmt::format("Origin: http://127.0.0.1:{}\r\n", port_);
  }
  void end() {
    if (!server_) return;
    server_->stop();
    thread_.join();
    page_.reset();
    server_.reset();
  }
  std::string token() const {
    const std::string address = server_->address();
    return address.substr(address.find("token=") + 6);
  }
  /// The header line that a browser sends once it has been let in.
  std::string let_in() {
    const Reply reply = exchange(port_, "GET /?token=" + token(), host_);
    const std::size_t begin = reply.head.find("Set-Cookie: ") + 12;
    return "Cookie: other=1; " + reply.head.substr(begin, reply.head.find(';', begin) - begin) + "\r\n";
  }
  const std::string json_ = "Content-Type: application/json\r\n";

  RunControl control_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<LivePage> page_;
  std::thread thread_;
  std::uint16_t port_ = 0;
  std::string host_, origin_;
};

TEST_F(Serve, ListensOnLoopbackOnly) {
  EXPECT_TRUE(Socket("127.0.0.1", port_).connected());
  EXPECT_FALSE(Socket("127.0.0.2", port_).connected());
}

TEST_F(Serve, TheTokenIsGoodOnceAndBecomesACookie) {
  const std::string first = token();
  EXPECT_EQ(first.size(), 64u);  // 256 bits
  for (char c : first) EXPECT_TRUE(std::isxdigit(static_cast<unsigned char>(c)));
  EXPECT_EQ(exchange(port_, "GET /?token=" + std::string(64, '0'), host_).status, 403);
  EXPECT_EQ(exchange(port_, "GET /?token=", host_).status, 403);
  const Reply reply = exchange(port_, "GET /?token=" + first, host_);
  EXPECT_EQ(reply.status, 303);
  EXPECT_TRUE(reply.says("Location: /\r\n"));
  EXPECT_TRUE(reply.says("; HttpOnly; SameSite=Strict; Path=/"));
  EXPECT_EQ(exchange(port_, "GET /?token=" + first, host_).status, 403);
  EXPECT_NE(token(), first);
}

TEST_F(Serve, WhoHasBeenLetInMayLoadTheAddressAgain) {
  const std::string first = token(), cookie = let_in(), second = token();
  EXPECT_EQ(exchange(port_, "GET /?token=" + first, host_ + cookie).status, 303);
  EXPECT_EQ(token(), second);  // which is still good for another browser
}

TEST_F(Serve, OnlyPagesOfThisMachineMayFrameItAndOnlyWhenTold) {
  EXPECT_TRUE(exchange(port_, "GET /", host_ + let_in()).says("frame-ancestors 'none'"));
  EXPECT_TRUE(exchange(port_, "GET /", host_ + let_in()).says("X-Frame-Options: DENY"));
  start({.framed_by_loopback = true});
  const Reply reply = exchange(port_, "GET /", host_ + let_in());
  EXPECT_TRUE(reply.says("frame-ancestors http://localhost:* http://127.0.0.1:*"));
  EXPECT_FALSE(reply.says("X-Frame-Options"));
}

TEST_F(Serve, NothingWithoutTheCookie) {
  for (const char* path : {"/", "/main.js", "/api/model", "/api/network", "/nothing"})
    EXPECT_EQ(exchange(port_, std::string("GET ") + path, host_).status, 403) << path;
  EXPECT_EQ(exchange(port_, "POST /api/best", host_ + origin_ + json_, "{}").status, 403);
  const std::string wrong = fmt::format("Cookie: drover-{}={}\r\n", port_, std::string(64, 'a'));
  EXPECT_EQ(exchange(port_, "GET /api/model", host_ + wrong).status, 403);
  EXPECT_EQ(exchange(port_, "GET /api/model", host_ + let_in()).status, 200);
}

TEST_F(Serve, KnowsItsOwnNamesOnly) {
  const std::string cookie = let_in();
  for (const std::string& host :
       {std::string("evil.example"), fmt::format("evil.example:{}", port_), std::string("127.0.0.1"),
        fmt::format("127.0.0.1.evil.example:{}", port_), fmt::format("127.0.0.1:{}", port_ ^ 1)}) {
    EXPECT_EQ(exchange(port_, "GET /api/model", "Host: " + host + "\r\n" + cookie).status, 421) << host;
    EXPECT_EQ(exchange(port_, "GET /?token=" + token(), "Host: " + host + "\r\n").status, 421) << host;
  }
  EXPECT_EQ(exchange(port_, "GET /api/model", cookie).status, 421);
  EXPECT_EQ(exchange(port_, "GET /api/model", fmt::format("Host: localhost:{}\r\n", port_) + cookie).status,
            200);
}

TEST_F(Serve, ChangesOnlyByItsOwnPageAndInJson) {
  const std::string known = host_ + let_in();
  EXPECT_EQ(exchange(port_, "POST /api/best", known + origin_ + json_, "{}").status, 200);
  EXPECT_EQ(exchange(port_, "POST /api/best", known + json_, "{}").status, 403);
  EXPECT_EQ(exchange(port_, "POST /api/best", known + json_ + "Origin: null\r\n", "{}").status, 403);
  EXPECT_EQ(exchange(port_, "POST /api/best", known + json_ + "Origin: http://evil.example\r\n", "{}").status,
            403);
  EXPECT_EQ(exchange(port_, "POST /api/best", known + origin_ + "Content-Type: text/plain\r\n", "{}").status,
            415);
  EXPECT_EQ(exchange(port_, "POST /api/best", known + origin_, "{}").status, 415);
  EXPECT_EQ(exchange(port_, "GET /api/best", known).status, 404);
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"})
    EXPECT_GE(exchange(port_, std::string(method) + " /api/best", known + origin_ + json_).status, 400)
        << method;
}

TEST_F(Serve, EveryAnswerCarriesThePolicyAndNoneOpensTheDoor) {
  const std::string known = host_ + let_in();
  const std::vector<Reply> replies = {
      exchange(port_, "GET /", known),
      exchange(port_, "GET /main.js", known),
      exchange(port_, "GET /api/model", known),
      exchange(port_, "GET /nothing", known),
      exchange(port_, "GET /", host_),
      exchange(port_, "GET /", "Host: evil.example\r\nOrigin: http://evil.example\r\n"),
      exchange(port_, "POST /api/marginals", known + origin_ + json_, "nonsense")};
  for (const Reply& reply : replies) {
    EXPECT_TRUE(
        reply.says("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';"))
        << reply.head;
    EXPECT_TRUE(reply.says("frame-ancestors 'none'"));
    EXPECT_FALSE(reply.says("unsafe"));
    EXPECT_TRUE(reply.says("X-Content-Type-Options: nosniff"));
    EXPECT_TRUE(reply.says("Referrer-Policy: no-referrer"));
    EXPECT_TRUE(reply.says("Cache-Control: no-store"));
    EXPECT_FALSE(reply.says("Access-Control"));
  }
  EXPECT_EQ(replies[6].status, 422);
  for (const char* word : {"http://", "https://", "//cdn"})  // no outside address, ever
    EXPECT_EQ(replies[0].body.find(word), std::string::npos);
}

TEST_F(Serve, NoPathComesFromTheBrowser) {
  const std::string known = host_ + let_in();
  for (const char* path : {"/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
                           "/live.css/../../x", "/etc/passwd"})
    EXPECT_EQ(exchange(port_, std::string("GET ") + path, known).status, 404) << path;
  EXPECT_EQ(exchange(port_, "POST /api/open", known + origin_ + json_, R"({"example":"/etc/passwd"})").status,
            422);
}

TEST_F(Serve, BodiesHaveALimit) {
  const std::string known = host_ + let_in() + origin_ + json_;
  const std::string most = "{\"a\":\"" + std::string((1 << 20) - 8, 'x') + "\"}";
  ASSERT_EQ(most.size(), std::size_t{1} << 20);
  EXPECT_EQ(exchange(port_, "POST /api/best", known, most).status, 200);
  EXPECT_EQ(exchange(port_, "POST /api/best", known, most + ' ').status, 413);
}

TEST_F(Serve, ConnectionsHaveALimitAndIdleOnesEnd) {
  start({.most_connections = 2});
  const Socket first("127.0.0.1", port_), second("127.0.0.1", port_);
  EXPECT_EQ(exchange(port_, "GET /", host_).status, 403);  // once one of the idle ones has been closed
}

/// Each holds a connection for as long as it listens; the next one is served when one of them has gone.
TEST_F(Serve, SixtyFourConnectionsAreServedAndTheNextWaits) {
  const std::string known = host_ + let_in();
  std::vector<std::unique_ptr<Socket>> streams;
  for (int k = 0; k < 64; ++k) {
    streams.push_back(std::make_unique<Socket>("127.0.0.1", port_));
    streams.back()->send("GET /api/run/events HTTP/1.1\r\n" + known + "\r\n");
    ASSERT_EQ(streams.back()->receive_line(), "HTTP/1.1 200 OK") << k;
  }
  Socket next("127.0.0.1", port_);
  next.send("GET /api/model HTTP/1.1\r\n" + known + "Connection: close\r\n\r\n");
  EXPECT_FALSE(next.has_answer(0.7));
  streams.pop_back();
  EXPECT_TRUE(next.has_answer(60));
  EXPECT_EQ(next.receive_line(), "HTTP/1.1 200 OK");
}

/// Where exact answers fit, and where they do not.
TEST_F(Serve, RequestsHaveAMemoryLimit) {
  for (const std::size_t limit : {std::size_t{1} << 30, std::size_t{1}}) {
    Model model;
    model.cardinalities.assign(4, 100);
    for (VariableId v = 0; v < 4; ++v) model.unaries.add(v, std::vector<double>(100, 0.0));
    model.tables.add(std::vector<VariableId>{0, 1}, std::vector<double>(10'000, 0.0));
    start({}, LiveOptions{.input = "model", .memory_limit_bytes = limit}, model);
    const std::string known = host_ + let_in() + origin_ + json_;
    const Reply reply = exchange(port_, "POST /api/joint", known, R"({"variables":[0,1,2,3]})");
    EXPECT_EQ(reply.status, 422);
    EXPECT_NE(reply.body.find("more than 4096 entries"), std::string::npos) << reply.body;
    EXPECT_EQ(exchange(port_, "POST /api/joint", known, R"({"variables":[2]})").status, 200);
  }
  // A tree that would not fit is not tried.
  start({}, LiveOptions{.input = "grid", .memory_limit_bytes = 1 << 20}, grid_ising(18, 18, true, 0.1, 0));
  const std::string known = host_ + let_in() + origin_ + json_;
  Reply reply;
  do reply = exchange(port_, "POST /api/marginals", known, "{}");
  while (reply.body.find("still being planned") != std::string::npos);
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("the memory limit is 1.0 MB"), std::string::npos) << reply.body.substr(0, 300);
}

TEST_F(Serve, RequestsHaveATimeLimit) {
  LiveOptions live;
  live.seconds_per_request = 1e-9;
  start({}, live);
  const Reply reply = exchange(port_, "POST /api/best", host_ + let_in() + origin_ + json_, "{}");
  EXPECT_EQ(reply.status, 422);
  EXPECT_NE(reply.body.find("time limit"), std::string::npos) << reply.body;
}

TEST_F(Serve, WrongRequestsAreAnsweredInWords) {
  const std::string known = host_ + let_in() + origin_ + json_;
  for (const char* body :
       {"[]", "{\"findings\":3}", "{\"findings\":[[0]]}", "{\"findings\":[[0,[1]]]}",
        "{\"findings\":[[99,[1,0]]]}", "{\"findings\":[[0,[0,0]]]}", "{\"findings\":[[0,[-1,1]]]}",
        "{\"findings\":[[0,[\"a\",1]]]}", "{\"variables\":[77]}", "{\"variables\":\"all\"}"}) {
    const Reply reply = exchange(port_, "POST /api/marginals", known, body);
    EXPECT_EQ(reply.status, 422) << body;
    EXPECT_EQ(reply.body.substr(0, 10), "{\"error\":\"") << reply.body;
  }
  EXPECT_EQ(exchange(port_, "POST /api/information", known, "{}").status, 422);
  EXPECT_EQ(exchange(port_, "POST /api/joint", known, "{}").status, 422);
  EXPECT_EQ(exchange(port_, "POST /api/joint", known, "{\"variables\":[1,1]}").status, 422);
}

TEST_F(Serve, OnAllInterfacesItGoesByTheMachinesOwnNamesAndThoseAdded) {
  start({.host = "0.0.0.0", .names = {"drover.example"}});
  const std::string address = server_->address();
  EXPECT_EQ(address.find("0.0.0.0"), std::string::npos) << address;   // no browser could go there
  const std::string own = address.substr(7, address.find("/?") - 7);  // host and port
  const Reply reply = exchange(port_, "GET /?token=" + token(), "Host: " + own + "\r\n");
  ASSERT_EQ(reply.status, 303) << own;
  const std::size_t begin = reply.head.find("Set-Cookie: ") + 12;
  const std::string cookie =
      "Cookie: " + reply.head.substr(begin, reply.head.find(';', begin) - begin) + "\r\n";
  for (const std::string& host : {own, fmt::format("127.0.0.1:{}", port_), fmt::format("localhost:{}", port_),
                                  fmt::format("drover.example:{}", port_)}) {
    const std::string known = "Host: " + host + "\r\n" + cookie;
    EXPECT_EQ(exchange(port_, "GET /api/model", known).status, 200) << host;
    EXPECT_EQ(
        exchange(port_, "POST /api/best", known + json_ + "Origin: http://" + host + "\r\n", "{}").status,
        200);
    EXPECT_EQ(
        exchange(port_, "POST /api/best", known + json_ + "Origin: http://evil.example\r\n", "{}").status,
        403);
    EXPECT_EQ(exchange(port_, "GET /api/model", "Host: " + host + "\r\n").status, 403)
        << "without the cookie";
  }
  for (const std::string& host : {fmt::format("0.0.0.0:{}", port_), fmt::format("evil.example:{}", port_)})
    EXPECT_EQ(exchange(port_, "GET /api/model", "Host: " + host + "\r\n" + cookie).status, 421) << host;
}

TEST_F(Serve, VariablesAreFoundByTheirNames) {
  const std::string known = host_ + let_in();
  const auto found = [&](const std::string& text) {
    std::vector<std::string> names;
    const auto said = nlohmann::json::parse(exchange(port_, "GET /api/find?text=" + text, known).body);
    for (const auto& one : said["found"]) names.push_back(one["name"]);
    return names;
  };
  EXPECT_EQ(found("LAWN"), std::vector<std::string>{"lawn"});
  EXPECT_EQ(found("rain"), std::vector<std::string>{"rain"});
  EXPECT_EQ(found("s").front().front(), 's');  // what begins with it comes first
  EXPECT_EQ(found("nothing"), std::vector<std::string>{});
  EXPECT_EQ(found(""), std::vector<std::string>{});
}

TEST_F(Serve, PicturesAreBytesAndTakeChangesInJson) {
  start({}, LiveOptions{.input = "grid"}, grid_ising(12, 10, false, 0.3, 0));
  const std::string known = host_ + let_in();
  const Reply frame = exchange(port_, "GET /api/picture?after=0", known);
  EXPECT_EQ(frame.status, 200);
  EXPECT_TRUE(frame.says("Content-Type: application/octet-stream"));
  std::size_t length = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    length |= std::size_t{static_cast<unsigned char>(frame.body[byte])} << 8 * byte;
  EXPECT_EQ(frame.body.size(), 4 + length + 2 * 120);
  EXPECT_EQ(nlohmann::json::parse(frame.body.substr(4, length))["width"], 12);
  EXPECT_EQ(exchange(port_, "GET /api/picture?after=9999999999999999999", known).status, 204);
  EXPECT_EQ(exchange(port_, "GET /api/picture?after=-1", known).status, 422);
  EXPECT_EQ(exchange(port_, "GET /api/pictures?across=wide", known).status, 422);
  // Several in one answer, each newer than the last, and the answer ends.
  Socket stream("127.0.0.1", port_);
  stream.send("GET /api/pictures?after=0&mean=0&across=6 HTTP/1.1\r\n" + known + "\r\n");
  EXPECT_EQ(stream.receive_line(), "HTTP/1.1 200 OK");
  while (!stream.receive_line().empty()) continue;
  std::uint64_t last = 0;
  int frames = 0;
  for (std::string part = stream.receive_chunk(); !part.empty(); part = stream.receive_chunk()) {
    const auto number = [&](std::size_t at) {
      std::size_t sum = 0;
      for (unsigned byte = 0; byte < 4; ++byte)
        sum |= std::size_t{static_cast<unsigned char>(part.at(at + byte))} << 8 * byte;
      return sum;
    };
    ASSERT_EQ(number(0), part.size() - 4);
    if (part.size() == 4) continue;  // a beat
    const auto said = nlohmann::json::parse(part.substr(8, number(4)));
    EXPECT_EQ(said["across"], 6);
    EXPECT_EQ(said["down"], 5);
    const std::uint64_t version = std::stoull(said["version"].get<std::string>());
    EXPECT_GT(version, last);
    last = version;
    ++frames;
  }
  EXPECT_GT(frames, 0);
  const auto change = [&](const char* body) {
    return exchange(port_, "POST /api/picture/change", known + origin_ + json_, body).status;
  };
  EXPECT_EQ(change(R"({"temperature": 2, "strokes": [[1, 1, 3, 3, 1, 1]]})"), 200);
  for (const char* wrong :
       {R"({"temperature": 0})", R"({"temperature": "hot"})", R"({"field": 1e99})", R"({"method": "magic"})",
        R"({"strokes": 3})", R"({"strokes": [[1, 1]]})", R"({"strokes": [[1, 1, 3, 3, 1, 2]]})",
        R"({"strokes": [[1, 1, 3, 3, 1, 1e300]]})", R"({"strokes": [[1, 1, 3e9, 3, 1, 1]]})"})
    EXPECT_EQ(change(wrong), 422) << wrong;
}

TEST_F(Serve, ATakenPortIsAnError) {
  EXPECT_THROW(HttpServer({.port = port_}), Error);
}

/// The command itself: prints its address, and an interrupt ends it though a client is connected.
TEST(ServeCommand, AnInterruptEndsIt) {
  testing::ServedCommand served({DROVER_SOURCE_DIR "/models/sprinkler.bif"});
  ASSERT_NE(served.said().find("127.0.0.1:"), std::string::npos) << served.said();
  const Socket client("127.0.0.1", served.port());
  EXPECT_TRUE(client.connected());
  const int status = served.interrupt();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// Though a run is under way and watched, a picture is sampled, a question is being answered and a client does not
/// read. With DROVER_CLOCK=1, which is for machines with nothing else to do, within a second: late once, not three
/// times.
TEST(ServeCommand, AnInterruptEndsItWhateverGoesOn) {
  const bool by_clock = std::getenv("DROVER_CLOCK") != nullptr;
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("interrupted.coo");
  write_model(ising(grid_edges(60, 60, true), Draw::normal(0, 1), Draw::normal(0, 1), 1), file);
  double quickest = 1e9;
  for (int tries = 0; tries < (by_clock ? 3 : 1) && quickest > 1; ++tries) {
    testing::ServedCommand served({file});
    const std::uint16_t port = served.port();
    const std::string host = fmt::format("Host: 127.0.0.1:{}\r\n", port),
                      json = fmt::format("Origin: http://127.0.0.1:{}\r\nContent-Type: application/json\r\n",
                                         port);
    const std::string address = served.address();
    const Reply entry = exchange(port, "GET /" + address.substr(address.find("?token=")), host);
    ASSERT_EQ(entry.status, 303) << served.said();
    const std::size_t begin = entry.head.find("Set-Cookie: ") + 12;
    const std::string known =
        host + "Cookie: " + entry.head.substr(begin, entry.head.find(';', begin) - begin) + "\r\n";
    ASSERT_EQ(
        exchange(port, "POST /api/run/start", known + json, R"({"method":"gibbs","seed":1,"findings":[]})")
            .status,
        200);
    Socket events("127.0.0.1", port), deaf("127.0.0.1", port), question("127.0.0.1", port);
    events.send("GET /api/run/events HTTP/1.1\r\n" + known + "\r\n");
    // A client that reads, up to here; the run is under way when figures of sweeps have come.
    ASSERT_NE(events.receive("sampling").find("sampling"), std::string::npos);
    deaf.send("GET /api/run/events HTTP/1.1\r\n" + known + "\r\n");
    ASSERT_EQ(exchange(port, "GET /api/picture?after=0", known).status, 200);
    question.send("POST /api/best HTTP/1.1\r\n" + known + json + "Content-Length: 2\r\n\r\n{}");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // so that it is being answered
    const auto start = std::chrono::steady_clock::now();
    const int status = served.interrupt();
    quickest =
        std::min(quickest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  if (by_clock) {
    EXPECT_LE(quickest, 1);
  }
}

}  // namespace
}  // namespace drover
