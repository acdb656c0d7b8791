#include "drover/io/whole_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/unpack_limit.hpp"

namespace drover {

namespace {

[[noreturn]] void refuse(const std::string& path, const char* why) {
  throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, why));
}

class GzipFile {
 public:
  explicit GzipFile(const std::string& path) : path_(path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) refuse(path, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) refuse(path, "it is a directory");
    size_ = static_cast<std::size_t>(std::max<off_t>(0, status.st_size));
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) refuse(path, std::strerror(errno));
  }

  /// On the disk.
  std::size_t size() const { return size_; }

  /// Appends up to `count` bytes; false at the end.
  bool append(std::string& bytes, std::size_t count) {
    const std::size_t before = bytes.size();
    bytes.resize(before + count);
    const int got = gzread(file_.get(), bytes.data() + before, static_cast<unsigned>(count));
    const int problem = errno;
    bytes.resize(before + static_cast<std::size_t>(std::max(got, 0)));
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) refuse(path_, std::strerror(problem));
    if (code != Z_OK && code != Z_STREAM_END) fail_damaged(path_, message);
    if (gzdirect(file_.get()) == 0)
      check_unpacked(path_, static_cast<std::uint64_t>(gzoffset(file_.get())), bytes.size());
    return got > 0;
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  const std::string& path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::size_t size_ = 0;
};

}  // namespace

std::string read_whole_file(const std::string& path, const RunControl& control) {
  constexpr std::size_t part = std::size_t{1} << 20;
  GzipFile file(path);
  std::string bytes;
  bytes.reserve(file.size() + part);
  StopCheck check(control, path, "was read");
  do check.ask();
  while (file.append(bytes, part));
  return bytes;
}

std::string first_bytes(const std::string& path, std::size_t count) {
  GzipFile file(path);
  std::string bytes;
  file.append(bytes, count);
  return bytes;
}

}  // namespace drover
