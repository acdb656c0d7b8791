#include "drover/io/draws_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/io/temporary_file.hpp"

namespace drover {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int code) {
  throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: {}", path, std::strerror(code)));
}

}  // namespace

TemporaryName::TemporaryName(const std::string& target) {
  std::error_code code;
  target_ = without_links(target);
  if (std::filesystem::exists(target_, code) && !std::filesystem::is_regular_file(target_, code))
    throw Error(ErrorKind::cannot_write, fmt::format("cannot write {}: it is not a regular file", target));
  descriptor_ = create_temporary(target_, path_);
  if (descriptor_ < 0) cannot_write(target, errno);
}

TemporaryName::~TemporaryName() {
  remove();
}

void TemporaryName::remove() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void TemporaryName::rename_to_target() {
  if (::fsync(descriptor_) != 0 || ::rename(path_.c_str(), target_.c_str()) != 0)
    cannot_write(target_, errno);
  path_.clear();
  remove();
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
