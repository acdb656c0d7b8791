#include "drover/serve/http_server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/core/json_writer.hpp"

namespace drover {

namespace {

/// 256 bits from the system, as hexadecimal digits.
std::string random_secret() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error(ErrorKind::internal, "the system gives no random numbers for the token of the page");
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// In a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string cookie_of(const std::string& header, const std::string& name) {
  for (std::size_t begin = 0; begin < header.size();) {
    std::size_t end = std::min(header.find(';', begin), header.size());
    while (begin < end && header[begin] == ' ') ++begin;
    const std::size_t equals = header.find('=', begin);
    if (equals < end && header.compare(begin, equals - begin, name) == 0)
      return header.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
  return {};
}

/// How many connections are open; outlives the threads that serve them.
struct Door {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t open = 0;
  bool ending = false;

  void end_waiting() {
    const std::lock_guard hold(mutex);
    ending = true;
    changed.notify_all();
  }
};

/// A thread per connection, and no more connections than it was told: the next one waits until another ends.
class Connections : public httplib::TaskQueue {
 public:
  Connections(std::shared_ptr<Door> door, std::size_t most) : door_(std::move(door)), most_(most) {}

  void enqueue(std::function<void()> serve) override {
    std::unique_lock lock(door_->mutex);
    door_->changed.wait(lock, [&] { return door_->open < most_ || door_->ending; });
    ++door_->open;
    std::thread([door = door_, serve = std::move(serve)] {
      serve();
      const std::lock_guard hold(door->mutex);
      --door->open;
      door->changed.notify_all();
    }).detach();
  }
  void shutdown() override {
    std::unique_lock lock(door_->mutex);
    door_->ending = true;
    door_->changed.wait(lock, [&] { return door_->open == 0; });
  }

 private:
  const std::shared_ptr<Door> door_;
  const std::size_t most_;
};

constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors ";
constexpr const char* loopback_pages =
    "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*";

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "::1";
}

bool is_everywhere(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

/// The addresses of this machine's interfaces, those other machines can reach first.
std::vector<std::string> own_addresses() {
  std::vector<std::string> outside, loopback;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const std::string address = text;
    if (address.find('%') != std::string::npos) continue;  // of one link only
    const bool inside = is_loopback(address) || address.starts_with("127.");
    (inside ? loopback : outside).push_back(address);
  }
  freeifaddrs(list);
  outside.insert(outside.end(), loopback.begin(), loopback.end());
  return outside;
}

std::string in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : '[' + host + ']';
}

}  // namespace

class HttpServer::Engine {
 public:
  explicit Engine(const HttpOptions& options)
      : options_(options), token_(random_secret()), secret_(random_secret()) {
    server_.new_task_queue = [this] {
      return new Connections(door_, options_.most_connections);
    };  // it deletes it
    server_.set_payload_max_length(options.most_body_bytes);
    server_.set_keep_alive_timeout(1);
    server_.set_keep_alive_max_count(1'000'000);
    server_.set_read_timeout(0, 900'000);
    server_.set_write_timeout(2, 0);
    server_.set_tcp_nodelay(true);
    httplib::Headers headers = {
        {"Content-Security-Policy",
         std::string(policy) + (options.framed_by_loopback ? loopback_pages : "'none'")},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"}};
    if (!options.framed_by_loopback) headers.emplace("X-Frame-Options", "DENY");
    server_.set_default_headers(headers);
    server_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admit(request, response);
    });
    server_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& error) {
          try {
            std::rethrow_exception(error);
          } catch (const Error& known) {
            refuse(response, 422, known.what());
          } catch (const std::exception& other) {
            refuse(response, 500, other.what());
          }
        });
    // Another program that already listens there is an error: no SO_REUSEPORT, which the library would set.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    int port = options.port;
    if (port == 0)
      port = server_.bind_to_any_port(options.host);
    else if (!server_.bind_to_port(options.host, port))
      port = -1;
    if (port < 0)
      throw Error(ErrorKind::usage,
                  fmt::format("cannot listen on {}:{}: the port is taken or the host is not this machine",
                              options.host, options.port));
    port_ = static_cast<std::uint16_t>(port);
    shown_host_ = options.host;
    if (is_everywhere(options.host)) {
      const std::vector<std::string> own = own_addresses();
      for (const std::string& host : own) allow_host(host);
      char name[256] = {};
      if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') allow_host(name);
      shown_host_ = own.empty() ? "127.0.0.1" : own.front();
    } else {
      allow_host(options.host);
    }
    if (is_loopback(options.host) || is_everywhere(options.host))
      for (const char* host : {"127.0.0.1", "localhost", "::1"}) allow_host(host);
    for (const std::string& host : options.names) allow_host(host);
  }

  httplib::Server& server() { return server_; }
  std::uint16_t port() const { return port_; }

  std::string address() const {
    const std::lock_guard hold(mutex_);
    return fmt::format("http://{}:{}/?token={}", in_address(shown_host_), port_, token_);
  }
  void on_new_address(std::function<void(const std::string&)> hear) { hear_ = std::move(hear); }

  void run() {
    {
      const std::lock_guard hold(mutex_);
      if (stopping_) return;
      started_ = true;
    }
    server_.listen_after_bind();
    ended_ = true;
  }
  void wait_until_serving() const {
    while (!ended_ && !server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void stop() {
    {
      const std::lock_guard hold(mutex_);
      stopping_ = true;
      if (!started_) return;
    }
    wait_until_serving();  // before that the library does not hear that it should not
    server_.stop();
    door_->end_waiting();
  }
  bool stopping() const { return stopping_; }

 private:
  static void refuse(httplib::Response& response, int status, const std::string& why) {
    response.status = status;
    response.set_content("{\"error\":" + json_string(why) + "}", "application/json");
  }

  void allow_host(const std::string& host) {
    hosts_.push_back(fmt::format("{}:{}", in_address(host), port_));
  }

  std::string cookie_name() const { return fmt::format("drover-{}", port_); }

  /// The door: every request passes here before it is looked at. Order matters.
  httplib::Server::HandlerResponse admit(const httplib::Request& request, httplib::Response& response) {
    using enum httplib::Server::HandlerResponse;
    const std::string host = request.get_header_value("Host");
    if (std::find(hosts_.begin(), hosts_.end(), host) == hosts_.end()) {
      refuse(response, 421, "this server does not go by that name");
      return Handled;
    }
    if (request.method != "GET" && request.method != "POST") {
      refuse(response, 405, "only GET and POST");
      return Handled;
    }
    const bool known = same_secret(cookie_of(request.get_header_value("Cookie"), cookie_name()), secret_);
    if (request.method == "GET" && request.path == "/" && request.has_param("token")) {
      if (!known) return exchange_token(request.get_param_value("token"), response);
      response.set_redirect("/", 303);  // a page that is loaded again
      return Handled;
    }
    if (!known) {
      response.status = 403;
      response.set_content("Please open the address that drover printed: it is good for one browser.\n",
                           "text/plain");
      return Handled;
    }
    if (request.method == "POST") {
      if (request.get_header_value("Origin") != "http://" + host) {
        refuse(response, 403, "the request comes from another page");
        return Handled;
      }
      const std::string type = request.get_header_value("Content-Type");
      if (type.substr(0, type.find(';')) != "application/json") {
        refuse(response, 415, "only JSON");
        return Handled;
      }
    }
    return Unhandled;
  }

  httplib::Server::HandlerResponse exchange_token(const std::string& given, httplib::Response& response) {
    {
      const std::lock_guard hold(mutex_);
      if (!same_secret(given, token_)) {
        response.status = 403;
        response.set_content("This address has been used already. drover printed another one.\n",
                             "text/plain");
        return httplib::Server::HandlerResponse::Handled;
      }
      token_ = random_secret();
    }
    response.set_header("Set-Cookie",
                        fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_name(), secret_));
    response.set_redirect("/", 303);
    if (hear_) hear_(address());
    return httplib::Server::HandlerResponse::Handled;
  }

  const HttpOptions options_;
  mutable std::mutex mutex_;
  std::string token_;
  const std::string secret_;
  std::vector<std::string> hosts_;
  std::string shown_host_;  ///< in the address that is given out
  std::uint16_t port_ = 0;
  std::function<void(const std::string&)> hear_;
  std::shared_ptr<Door> door_ = std::make_shared<Door>();
  std::atomic<bool> stopping_ = false, ended_ = false;
  bool started_ = false;
  httplib::Server server_;  // last: its threads end before what they use
};

namespace {

HttpServer::Query query_of(const httplib::Request& request) {
  HttpServer::Query query;
  for (const auto& [name, value] : request.params) query.emplace(name, value);
  return query;
}

void give(HttpAnswer answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
  if (answer.status == 204) return;  // has no body
  response.set_header("Content-Type", answer.type);
  response.body = std::move(answer.body);  // set_content() would copy it
}

}  // namespace

HttpServer::HttpServer(const HttpOptions& options) : engine_(std::make_unique<Engine>(options)) {}
HttpServer::~HttpServer() = default;

void HttpServer::on_get(const std::string& path, Reader reader) {
  engine_->server().Get(
      path, [reader = std::move(reader)](const httplib::Request& request, httplib::Response& response) {
        give(reader(query_of(request)), response);
      });
}

void HttpServer::on_post(const std::string& path, Changer changer) {
  engine_->server().Post(
      path, [changer = std::move(changer)](const httplib::Request& request, httplib::Response& response) {
        give(changer(request.body), response);
      });
}

void HttpServer::on_events(const std::string& path, Waiter waiter) {
  engine_->server().Get(
      path, [this, waiter = std::move(waiter)](const httplib::Request&, httplib::Response& response) {
        auto version = std::make_shared<std::uint64_t>(0);
        response.set_chunked_content_provider(
            "text/event-stream", [this, waiter, version](std::size_t, httplib::DataSink& sink) {
              if (engine_->stopping() || !sink.is_writable()) return false;
              const HttpEvent event = waiter(*version, 0.5);
              std::string text = ": beat\n\n";  // a client that has gone is met when it is written to
              if (!event.text.empty()) {
                *version = event.version;
                text = "data: " + event.text + "\n\n";
              }
              return sink.write(text.data(), text.size());
            });
      });
}

void HttpServer::on_stream(const std::string& path, Streamer streamer) {
  engine_->server().Get(path, [this, streamer = std::move(streamer)](const httplib::Request& request,
                                                                     httplib::Response& response) {
    const auto next = std::make_shared<Parts>(streamer(query_of(request)));
    response.set_chunked_content_provider("application/octet-stream",
                                          [this, next](std::size_t, httplib::DataSink& sink) {
                                            if (engine_->stopping() || !sink.is_writable()) return false;
                                            const std::optional<std::string> part = (*next)();
                                            if (!part) {
                                              sink.done();
                                              return true;
                                            }
                                            std::string bytes;
                                            bytes.reserve(4 + part->size());
                                            for (unsigned byte = 0; byte < 4; ++byte)
                                              bytes += static_cast<char>(part->size() >> 8 * byte & 255);
                                            bytes += *part;
                                            return sink.write(bytes.data(), bytes.size());
                                          });
  });
}

void HttpServer::on_new_address(std::function<void(const std::string&)> hear) {
  engine_->on_new_address(std::move(hear));
}
std::uint16_t HttpServer::port() const {
  return engine_->port();
}
std::string HttpServer::address() const {
  return engine_->address();
}
void HttpServer::run() {
  engine_->run();
}
void HttpServer::wait_until_serving() {
  engine_->wait_until_serving();
}
void HttpServer::stop() {
  engine_->stop();
}

}  // namespace drover
