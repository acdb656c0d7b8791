#include "drover/io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drover/core/error.hpp"
#include "drover/io/temporary_file.hpp"

namespace drover {

AtomicFile::AtomicFile(const std::string& path, const RunControl& control)
    : name_(path == "-" ? "standard output" : path), check_(control, name_, "was written") {
  struct stat status {};
  const bool exists = path != "-" && stat(path.c_str(), &status) == 0;
  if (path == "-") {
    descriptor_ = dup(STDOUT_FILENO);
  } else if (exists && S_ISDIR(status.st_mode)) {
    fail("it is a directory");
  } else if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    target_ = without_links(path);
    if (exists && access(target_.c_str(), W_OK) != 0) fail(std::strerror(errno));
    descriptor_ = create_temporary(target_, temporary_);
  }
  if (descriptor_ < 0) fail(std::strerror(errno));
  if (name_.ends_with(".gz")) {
    compressed_ = gzdopen(descriptor_, "wb4");
    if (compressed_ == nullptr) fail("out of memory");
    gzbuffer(compressed_, 1U << 17);
  }
  buffer_.reserve(buffer_limit);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (compressed_ != nullptr) {
    gzclose(compressed_);
  } else if (descriptor_ >= 0) {
    close(descriptor_);
  }
  compressed_ = nullptr;
  descriptor_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(const char* why) {
  const std::string reason = why;
  discard();
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", name_, reason));
}

void AtomicFile::flush(std::size_t coming) {
  check_.ask();
  send(buffer_);
  buffer_.clear();
  if (coming > buffer_limit) buffer_.reserve(coming);
}

void AtomicFile::send(std::string_view text) {
  while (!text.empty()) {
    if (compressed_ != nullptr) {
      const int sent = gzwrite(compressed_, text.data(), static_cast<unsigned>(text.size()));
      if (sent <= 0) {
        int code = Z_OK;
        const char* message = gzerror(compressed_, &code);
        fail(code == Z_ERRNO ? std::strerror(errno) : message);
      }
      text.remove_prefix(static_cast<std::size_t>(sent));
    } else {
      const ssize_t sent = ::write(descriptor_, text.data(), text.size());
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) fail(std::strerror(errno));
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
}

void AtomicFile::commit() {
  flush(0);
  if (compressed_ != nullptr) {
    // Closing the stream closes its descriptor; a second one stays for fsync.
    const int second = dup(descriptor_);
    const int code = gzclose(compressed_);
    compressed_ = nullptr;
    descriptor_ = second;
    if (code != Z_OK || second < 0) fail(code == Z_ERRNO ? std::strerror(errno) : "compression failed");
  }
  // Renamed while it is open and locked: without its lock it might be taken for a stale one.
  if (!temporary_.empty() && (fsync(descriptor_) != 0 || rename(temporary_.c_str(), target_.c_str()) != 0))
    fail(std::strerror(errno));
  const bool in_place = temporary_.empty();
  temporary_.clear();
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (in_place && closed != 0) fail(std::strerror(errno));
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace drover
