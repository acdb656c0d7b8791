#include "drover/run/part_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "drover/core/checksum.hpp"

namespace drover {

namespace {

constexpr std::string_view first_words_of_parts = "drover parts of ";
using Head = std::array<std::uint64_t, 3>;  // part, size, checksum of all but itself

std::uint64_t checksum_of(std::uint64_t part, const std::string& bytes) {
  Checksum sum;
  sum.add(&part, sizeof(part));
  sum.add(bytes.data(), bytes.size());
  return sum.value();
}

bool read_at(int descriptor, std::uint64_t offset, void* to, std::uint64_t size) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = pread(descriptor, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool write_at(int descriptor, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return true;
}

}  // namespace

PartLog::PartLog(const Checkpointing& options, const std::string& run, const RunControl& control)
    : path_(options.file),
      seconds_between_(options.every),
      control_(control),
      lock_(path_),
      next_sync_(control.seconds() + options.every) {
  const std::string first_line = std::string(first_words_of_parts) + run;
  if (options.resume)
    resume(first_line);
  else
    begin(first_line);
}

PartLog::~PartLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PartLog::fail_write() const {
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void PartLog::begin(const std::string& first_line) {
  refuse_other_files(path_);
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write();
  if (ftruncate(descriptor_, 0) != 0 || !write_at(descriptor_, 0, first_line)) fail_write();
  end_ = first_line.size();
}

void PartLog::resume(const std::string& first_line) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0)
    throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail_write();
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string found(std::min<std::uint64_t>(size, first_line.size()), '\0');
  if (!read_at(descriptor_, 0, found.data(), found.size()))
    throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
  if (!first_line.starts_with(found))
    fail_at({path_, 1},
            fmt::format("this checkpoint is of another run: expected '{}', found '{}'",
                        first_line.substr(0, first_line.size() - 1), found.substr(0, found.find('\n'))));
  // A run that was killed while it wrote its first line has done no part yet.
  if (found.size() < first_line.size()) {
    close(descriptor_);
    return begin(first_line);
  }
  std::string bytes;
  for (end_ = first_line.size(); size - end_ >= sizeof(Head);) {
    Head head{};
    if (!read_at(descriptor_, end_, head.data(), sizeof(head)) || head[1] > size - end_ - sizeof(head)) break;
    bytes.resize(head[1]);
    if (!read_at(descriptor_, end_ + sizeof(head), bytes.data(), bytes.size()) ||
        checksum_of(head[0], bytes) != head[2])
      break;
    places_[head[0]] = {end_ + sizeof(head), head[1]};
    end_ += sizeof(head) + head[1];
  }
  if (ftruncate(descriptor_, static_cast<off_t>(end_)) != 0) fail_write();
}

bool PartLog::recall(std::uint64_t part, std::string& bytes) {
  Place place{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(part);
    if (found == places_.end()) return false;
    place = found->second;
  }
  bytes.resize(place.size);
  if (!read_at(descriptor_, place.offset, bytes.data(), bytes.size()))
    fail_at({path_}, "this checkpoint was changed while it was used");
  return true;
}

void PartLog::keep(std::uint64_t part, const std::string& bytes) {
  const Head head{part, bytes.size(), checksum_of(part, bytes)};
  std::string record(sizeof(head), '\0');
  std::memcpy(record.data(), head.data(), sizeof(head));
  record += bytes;
  const std::lock_guard lock(mutex_);
  if (!write_at(descriptor_, end_, record)) fail_write();
  places_[part] = {end_ + sizeof(head), bytes.size()};
  end_ += record.size();
  const double begin = control_.seconds();
  if (begin < next_sync_) return;
  if (fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail_write();
  const double end = control_.seconds();
  next_sync_ = end + std::max(seconds_between_, end - begin);
}

std::unique_ptr<PartLog> make_part_log(const Checkpointing& options, const std::string& run,
                                       const RunControl& control) {
  if (options.resume && options.file.empty())
    throw OptionError("resume", "true", "a checkpoint file to go on from");
  // Of several ranks rank 0 has the file, and the others bring it what they did.
  const bool wanted = !options.file.empty() && control.ranks().is_first();
  return wanted ? std::make_unique<PartLog>(options, run, control) : nullptr;
}

}  // namespace drover
