// Output that appears whole or not at all: written to a temporary file beside the target, renamed on commit.
//
// Names ending in ".gz" are compressed. "-" is the standard output; a target that exists and is not a regular
// file (/dev/stdout, a pipe) is written in place. Every failure is cannot_write, leaves an existing target
// untouched and removes the temporary file, and so does a control that ends the run on the way.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include "drover/core/stop_check.hpp"

namespace drover {

class AtomicFile {
 public:
  /// The control must outlive this.
  explicit AtomicFile(const std::string& path, const RunControl& control = no_control());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text) {
    if (buffer_.size() + text.size() > buffer_limit) flush(text.size());
    buffer_.append(text);
  }
  void write(char c) { write(std::string_view(&c, 1)); }

  /// Flushes, syncs and renames; without it the destructor throws everything away.
  void commit();

  const std::string& name() const { return name_; }
  /// For what takes long between two pieces of text.
  StopCheck& check() { return check_; }

 private:
  static constexpr std::size_t buffer_limit = std::size_t{1} << 18;

  void flush(std::size_t coming);
  void send(std::string_view text);
  void discard();
  [[noreturn]] void fail(const char* why);

  std::string name_;       ///< for messages
  std::string target_;     ///< the file to appear; empty when written in place
  std::string temporary_;  ///< empty when written in place
  std::string buffer_;
  StopCheck check_;  ///< asked once in a buffer
  int descriptor_ = -1;
  gzFile compressed_ = nullptr;  ///< owns the descriptor when set
};

/// Writes a whole text file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace drover
