// A small HTTP server for one person's browser, closed to everybody else:
//
//   who        listens on the loopback interface unless told otherwise; the address it gives out holds a
//              token of 256 random bits that is good once: it is exchanged for a cookie that scripts cannot read and
//              other sites cannot send (HttpOnly, SameSite=Strict). Everything else needs the cookie
//   from where Host must be the server's own (no DNS rebinding): the name it was told to listen on; on all
//              interfaces (0.0.0.0, ::) the addresses of this machine, its name, and names that were added.
//              What changes something is a POST of JSON whose Origin is the server's own; no header ever
//              allows another site anything
//   what       the page may load only what this server serves (Content-Security-Policy); nothing is stored,
//              guessed or referred to elsewhere; no path of a file ever comes from the browser
//   how much   bodies to 1 MB, 64 connections, waiting ends after a second
//
// All of it stands in http_server.cpp, the only unit that includes cpp-httplib. Not encrypted: on another
// interface than loopback, who can read the wire can read the cookie.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

struct HttpOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;            ///< 0: any that is free
  std::vector<std::string> names{};  ///< further names that requests may call it by, as behind a proxy
  std::size_t most_connections = 64;
  std::size_t most_body_bytes = std::size_t{1} << 20;
  /// Whether pages of this machine, a notebook for instance, may show this one in a frame; nobody else may.
  bool framed_by_loopback = false;
};

struct HttpAnswer {
  std::string body;
  /// With its charset, which also keeps cpp-httplib from compressing it: that takes longer than the way.
  std::string type = "application/json; charset=utf-8";
  int status = 200;
  std::map<std::string, std::string> headers{};
};

/// Something new, or nothing when `text` is empty.
struct HttpEvent {
  std::uint64_t version = 0;
  std::string text;
};

class HttpServer {
 public:
  using Query = std::map<std::string, std::string>;
  using Reader = std::function<HttpAnswer(const Query& query)>;
  using Changer = std::function<HttpAnswer(const std::string& body)>;
  /// Waits at most so many seconds for something newer than `version`.
  using Waiter = std::function<HttpEvent(std::uint64_t version, double seconds)>;
  /// The next part of an answer, which may be empty when half a second has brought nothing; no value: the end.
  using Parts = std::function<std::optional<std::string>()>;
  using Streamer = std::function<Parts(const Query& query)>;

  /// Binds to the port. Raises usage when that cannot be.
  explicit HttpServer(const HttpOptions& options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // To be called before run(). A handler that throws is answered with its message: Error with status 422,
  // anything else with 500.
  void on_get(const std::string& path, Reader reader);
  void on_post(const std::string& path, Changer changer);
  void on_events(const std::string& path, Waiter waiter);
  /// Bytes in parts, each behind its length (4 bytes, little end first), as long as the client reads.
  void on_stream(const std::string& path, Streamer streamer);
  /// Called when the token of the last address has been used, from the thread of that request.
  void on_new_address(std::function<void(const std::string& address)> hear);

  std::uint16_t port() const;
  /// With a token that is good once.
  std::string address() const;

  /// Serves until stop(), which may be called from another thread.
  void run();
  /// Returns when run(), called in another thread, serves or has ended.
  void wait_until_serving();
  void stop();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
