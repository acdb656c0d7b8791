// The draws of a run that saves checkpoints, in a file beside the checkpoint: written once, never changed.
//
// A checkpoint states how many bytes of the journal belong to it and their checksum. After any end of the
// program the journal is at least as long as the last checkpoint says, because it is flushed to the disk
// first; what is beyond it is cut off, the rest is played back, and the run that goes on delivers the very
// draws of an uninterrupted one. The first line names the run, as in the checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/checksum.hpp"
#include "drover/core/types.hpp"

namespace drover {

class DrawJournal {
 public:
  /// How much of a journal a checkpoint knows of.
  struct Mark {
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;

    template <class Archive>
    void visit(Archive& archive) {
      archive(bytes);
      archive(checksum);
    }
  };
  using Take = std::function<void(std::span<const Value> x, double log_score)>;

  /// `run` is one line; `wide` when there are more than 256 states.
  DrawJournal(std::string path, std::string run, std::size_t variables, bool wide);
  ~DrawJournal();
  DrawJournal(const DrawJournal&) = delete;
  DrawJournal& operator=(const DrawJournal&) = delete;

  /// Begins an empty one in place of any other, whose checkpoint must be gone before: `forget` sees to that.
  void begin(const std::function<void()>& forget = {});
  /// Plays back what the mark covers and goes on behind it. Raises bad_data when these are not the bytes that
  /// the mark was made of.
  void resume(const Mark& mark, const Take& take);
  void append(std::span<const Value> x, double log_score);
  /// Hands what was appended to the system, and says how much that is.
  Mark mark();
  /// Waits until the disk has it; from any thread.
  void sync() const;

 private:
  std::size_t row_size() const { return sizeof(double) + variables_ * (wide_ ? 2 : 1); }
  void send();
  [[noreturn]] void fail_write() const;

  std::string path_;
  std::string run_;
  std::size_t variables_;
  bool wide_;
  int descriptor_ = -1;
  std::string buffer_;
  std::uint64_t bytes_ = 0;
  Checksum checksum_;
};

}  // namespace drover
