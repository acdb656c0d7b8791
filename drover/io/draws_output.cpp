#include "drover/io/draws_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "drover/core/error.hpp"

namespace drover {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int code) {
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", path, std::strerror(code)));
}

}  // namespace

TemporaryName::TemporaryName(const std::string& target) {
  std::error_code code;
  // Through a symbolic link the file it points to is replaced, not the link.
  target_ = std::filesystem::is_symlink(target, code)
                ? std::filesystem::weakly_canonical(target, code).string()
                : target;
  if (std::filesystem::exists(target_, code) && !std::filesystem::is_regular_file(target_, code))
    throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: it is not a regular file", target));
  for (int attempt = 0;; ++attempt) {
    path_ = fmt::format("{}.tmp-{}-{}", target_, ::getpid(), attempt);
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      return;
    }
    const int reason = errno;
    if (reason == EEXIST && attempt < 10000) continue;
    path_.clear();
    cannot_write(target, reason);
  }
}

TemporaryName::~TemporaryName() {
  remove();
}

void TemporaryName::remove() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

void TemporaryName::rename_to_target() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) cannot_write(target_, errno);
  path_.clear();
}

OutputFile::OutputFile(const std::string& target) : name_(target), file_(nullptr) {
  file_ = std::fopen(name_.path().c_str(), "r+b");
  if (file_ == nullptr) fail();
  std::setvbuf(file_, nullptr, _IOFBF, 1 << 18);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::fail() const {
  cannot_write(name_.target(), errno);
}

void OutputFile::write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file_) != size) fail();
  size_ += size;
}

void OutputFile::write_at(std::uint64_t offset, const void* data, std::size_t size) {
  if (::fseeko(file_, static_cast<off_t>(offset), SEEK_SET) != 0) fail();
  if (std::fwrite(data, 1, size, file_) != size) fail();
  if (::fseeko(file_, 0, SEEK_END) != 0) fail();
}

void OutputFile::read_at(std::uint64_t offset, void* data, std::size_t size) {
  if (::fseeko(file_, static_cast<off_t>(offset), SEEK_SET) != 0) fail();
  if (std::fread(data, 1, size, file_) != size) fail();
  if (::fseeko(file_, 0, SEEK_END) != 0) fail();
}

void OutputFile::commit() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
  name_.rename_to_target();
}

}  // namespace drover
