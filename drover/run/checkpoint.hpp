// A run on disk, from which it can go on: saved regularly, in the background, whole or not at all.
//
// The first line of the file names the run (what must not change between two parts of it), the second has
// size and checksum of what follows. While a program uses a checkpoint it holds a lock on "<file>.lock", so
// that no two write the same one. A save is handed to a thread; the next is due some time after its end, and
// at least as long after it as it took, so that slow disks never hold up the run itself.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <string>

#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"

namespace drover {

class Checkpoint {
 public:
  /// `run` is one line. Without a file name nothing is ever saved. Raises cannot_write when another program
  /// uses the file.
  Checkpoint(const Checkpointing& options, std::string run, const RunControl& control);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  bool wanted() const { return !path_.empty(); }
  /// What was saved last. Raises usage when there is no file to go on from, bad_data when it is of another
  /// run.
  std::string load() const;
  /// Whether it is time to save again; from any thread.
  bool is_due() const { return wanted() && control_.seconds() >= next_save_.load(std::memory_order_relaxed); }
  /// Saves in the background, `before` first (in that thread too); waits for the save before it.
  void save(std::string payload, const std::function<void()>& before = {});
  /// Until the last save is on the disk; raises what went wrong.
  void wait();

 private:
  void write(const std::string& payload) const;

  std::string path_;
  std::string header_;
  double seconds_between_;
  const RunControl& control_;
  int lock_ = -1;
  std::atomic<double> next_save_;
  std::future<void> saving_;
};

}  // namespace drover
