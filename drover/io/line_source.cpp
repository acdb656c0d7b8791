#include "drover/io/line_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drover/core/error.hpp"

namespace drover {

LineSource::LineSource(const std::string& path) : path_(path) {
  descriptor_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Error(ErrorKind::cannot_read, fmt::format("{}: {}", path, std::strerror(errno)));
}

LineSource::~LineSource() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

std::optional<std::string_view> LineSource::next() {
  const std::size_t end = buffer_.find('\n', searched_);
  if (end != std::string::npos) return cut(end, end + 1);
  searched_ = buffer_.size();
  if (!ended_ || begin_ == buffer_.size()) return std::nullopt;
  return cut(buffer_.size(), buffer_.size());
}

bool LineSource::fill(int milliseconds) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  if (ended_) return false;
  pollfd waiting{descriptor_, POLLIN, 0};
  if (poll(&waiting, 1, milliseconds) <= 0) return false;
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + chunk);
  const ssize_t count = read(descriptor_, buffer_.data() + had, chunk);
  buffer_.resize(had + static_cast<std::size_t>(count > 0 ? count : 0));
  if (count < 0 && errno != EINTR && errno != EAGAIN)
    throw Error(ErrorKind::cannot_read,
                fmt::format("{}: {}", path_ == "-" ? "standard input" : path_, std::strerror(errno)));
  ended_ = count == 0;
  return true;
}

std::string_view LineSource::cut(std::size_t end, std::size_t next) {
  const std::string_view line(buffer_.data() + begin_, end - begin_);
  begin_ = searched_ = next;
  return line;
}

}  // namespace drover
