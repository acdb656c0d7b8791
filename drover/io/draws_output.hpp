// A file that appears whole or not at all: written beside its target under another name, renamed at the end,
// removed when that is never reached. Every failure is Error cannot_write. AtomicFile is the same for text;
// these are for formats that must seek (zip) or that another library writes by name (NetCDF).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace drover {

/// A name beside the target that no file has yet; the target must not be a device or a folder.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& target);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::string& path() const { return path_; }
  const std::string& target() const { return target_; }
  /// Gives the file its final name.
  void rename_to_target();
  /// Removes the name now; an open file lives on until it is closed.
  void remove();

 private:
  std::string target_;
  std::string path_;
  int descriptor_ = -1;  ///< holds the lock that says that the file is in use
};

/// A buffered, seekable file under a temporary name.
class OutputFile {
 public:
  explicit OutputFile(const std::string& target);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t size);
  void write_at(std::uint64_t offset, const void* data, std::size_t size);  ///< then back to the end
  void read_at(std::uint64_t offset, void* data, std::size_t size);
  std::uint64_t size() const { return size_; }
  /// Makes it a nameless scratch file, gone when closed.
  void unlink() { name_.remove(); }
  void commit();

 private:
  [[noreturn]] void fail() const;
  TemporaryName name_;
  std::FILE* file_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace drover
