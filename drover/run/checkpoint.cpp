#include "drover/run/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/temporary_file.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

namespace {

std::string size_and_checksum(const std::string& payload) {
  Checksum checksum;
  checksum.add(payload.data(), payload.size());
  return fmt::format("{} bytes, checksum {:016x}\n", payload.size(), checksum.value());
}

// The file that is locked is removed at the end; whoever waited for it must look whether it is still the one.
int lock_beside(const std::string& path) {
  const std::string name = path + ".lock";
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
      throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", name, std::strerror(errno)));
    if (!lock_file(descriptor) && (errno == EAGAIN || errno == EACCES)) {
      close(descriptor);
      throw Error(ErrorKind::cannot_write,
                  fmt::format("cannot write {}: another run is using this checkpoint", path));
    }
    struct stat own {
    }, named{};
    if (fstat(descriptor, &own) == 0 && stat(name.c_str(), &named) == 0 && own.st_ino == named.st_ino)
      return descriptor;
    close(descriptor);
  }
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: its lock comes and goes", path));
}

}  // namespace

void refuse_other_files(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  constexpr std::string_view beginning = "drover ";
  if (!beginning.starts_with(first_bytes(path, beginning.size())))
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: it is there, and is no checkpoint", path));
}

CheckpointLock::CheckpointLock(const std::string& path) : name_(path + ".lock") {
  if (!path.empty()) descriptor_ = lock_beside(path);
}

CheckpointLock::~CheckpointLock() {
  if (descriptor_ < 0) return;
  unlink(name_.c_str());
  close(descriptor_);
}

Checkpoint::Checkpoint(const Checkpointing& options, std::string run, const RunControl& control)
    : path_(options.file),
      header_("drover checkpoint " + std::move(run)),
      seconds_between_(options.every),
      control_(control),
      lock_(path_),
      next_save_(control.seconds() + options.every) {
  if (options.resume && !wanted()) throw OptionError("resume", "true", "a checkpoint file to go on from");
  if (wanted() && !options.resume) refuse_other_files(path_);
}

void Checkpoint::forget() const {
  if (unlink(path_.c_str()) != 0 && errno != ENOENT)
    throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

Checkpoint::~Checkpoint() {
  if (saving_.valid()) saving_.wait();
}

void Checkpoint::write(const std::string& payload) const {
  AtomicFile file(path_);
  file.write(header_);
  file.write(size_and_checksum(payload));
  file.write(payload);
  file.commit();
}

void Checkpoint::save(std::string payload, const std::function<void()>& before) {
  if (!wanted()) return;
  wait();
  next_save_ = std::numeric_limits<double>::infinity();
  saving_ = std::async(std::launch::async, [this, before, payload = std::move(payload)] {
    const double begin = control_.seconds();
    if (before) before();
    write(payload);
    const double end = control_.seconds();
    next_save_ = end + std::max(seconds_between_, end - begin);
  });
}

void Checkpoint::wait() {
  if (saving_.valid()) saving_.get();
}

std::string Checkpoint::load() const {
  const std::string content = read_whole_file(path_, control_);
  const std::size_t first_end = content.find('\n');
  const std::size_t second_end =
      first_end == std::string::npos ? first_end : content.find('\n', first_end + 1);
  const std::string header = content.substr(0, first_end);
  if (header + "\n" != header_)
    fail_at({path_, 1}, fmt::format("this checkpoint is of another run: expected '{}', found '{}'",
                                    header_.substr(0, header_.size() - 1), header.substr(0, 200)));
  std::string payload = second_end == std::string::npos ? "" : content.substr(second_end + 1);
  if (content.substr(first_end + 1, second_end - first_end) != size_and_checksum(payload))
    fail_at({path_, 2},
            "this checkpoint is damaged: its content does not have the size and checksum it states");
  return payload;
}

// Where ranks share a loop they all have its state: rank 0 saves it, and tells it to the others when they go on.
CheckpointKeeper::CheckpointKeeper(const Checkpointing& options, std::string run, const RunControl& control)
    : checkpoint_(control.ranks().is_first() ? options : Checkpointing{}, std::move(run), control),
      resumes_(options.resume) {
  if (!resumes_) return;
  if (checkpoint_.wanted()) state_ = checkpoint_.load();
  control.ranks().broadcast(state_);
}

std::unique_ptr<CheckpointKeeper> make_state_keeper(const Checkpointing& options, std::string run,
                                                    const RunControl& control) {
  if (options.resume && options.file.empty())
    throw OptionError("resume", "true", "a checkpoint file to go on from");
  return options.file.empty() ? nullptr
                              : std::make_unique<CheckpointKeeper>(options, std::move(run), control);
}

}  // namespace drover
