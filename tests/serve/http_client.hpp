// A client that says exactly what it is told to: requests as text over a socket.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace drover::testing {

class Socket {
 public:
  Socket(const char* address, std::uint16_t port)
      : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    inet_pton(AF_INET, address, &place.sin_addr);
    connected_ = connect(descriptor_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0;
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }
  /// Until the other side closes, or `enough` has come.
  std::string receive(const std::string& enough = "") {
    std::string text;
    char buffer[4096];
    while (enough.empty() || text.find(enough) == std::string::npos) {
      const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  /// Whether something comes within so many seconds.
  bool has_answer(double seconds) {
    pollfd wanted{descriptor_, POLLIN, 0};
    return poll(&wanted, 1, static_cast<int>(1000 * seconds)) == 1;
  }
  std::string receive_exactly(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t received = 0;
    while (received < count) {
      const ssize_t some = recv(descriptor_, bytes.data() + received, count - received, 0);
      if (some <= 0) break;
      received += static_cast<std::size_t>(some);
    }
    bytes.resize(received);
    return bytes;
  }
  /// Without its end.
  std::string receive_line() {
    std::string line;
    for (std::string one = receive_exactly(1); !one.empty() && one != "\n"; one = receive_exactly(1))
      if (one != "\r") line += one;
    return line;
  }
  /// The next chunk of an answer that comes in chunks; empty: that was all.
  std::string receive_chunk() {
    const std::string chunk = receive_exactly(std::strtoul(receive_line().c_str(), nullptr, 16));
    receive_line();
    return chunk;
  }
  /// One answer of a connection that stays open, which says how long its body is.
  std::string receive_answer() {
    std::string text = receive("\r\n\r\n");
    const std::size_t length = text.find("Content-Length: "), end = text.find("\r\n\r\n");
    if (length == std::string::npos || end == std::string::npos) return text;
    const std::size_t whole = end + 4 + static_cast<std::size_t>(std::atol(text.c_str() + length + 16));
    char buffer[65536];
    while (text.size() < whole) {
      const ssize_t count = recv(descriptor_, buffer, std::min(sizeof buffer, whole - text.size()), 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int descriptor_;
  bool connected_ = false;
};

struct Reply {
  int status = 0;
  std::string head, body;
  bool says(const std::string& line) const { return head.find(line) != std::string::npos; }
};

inline Reply parse_reply(const std::string& text) {
  Reply reply;
  const std::size_t end = text.find("\r\n\r\n");
  reply.head = text.substr(0, end);
  if (end != std::string::npos) reply.body = text.substr(end + 4);
  if (reply.head.size() > 12) reply.status = std::atoi(reply.head.c_str() + 9);
  return reply;
}

/// `lines` are headers, each with its line end; Connection: close is added.
inline Reply exchange(std::uint16_t port, const std::string& first_line, const std::string& lines,
                      const std::string& body = "") {
  Socket socket("127.0.0.1", port);
  socket.send(first_line + " HTTP/1.1\r\n" + lines + "Connection: close\r\n" +
              (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
              body);
  return parse_reply(socket.receive());
}

}  // namespace drover::testing
