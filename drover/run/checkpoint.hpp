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
#include <memory>
#include <string>

#include "drover/core/keeper.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/inference_options.hpp"

namespace drover {

void describe(OptionList& list, Checkpointing& checkpoint);

/// Raises cannot_write when a file of this name is there and is no checkpoint, not even the beginning of one.
void refuse_other_files(const std::string& path);

/// Held while a program uses a checkpoint; raises cannot_write when another does. Nothing without a name.
class CheckpointLock {
 public:
  explicit CheckpointLock(const std::string& path);
  ~CheckpointLock();
  CheckpointLock(const CheckpointLock&) = delete;
  CheckpointLock& operator=(const CheckpointLock&) = delete;

 private:
  std::string name_;
  int descriptor_ = -1;
};

class Checkpoint {
 public:
  /// `run` is one line. Without a file name nothing is ever saved. Raises cannot_write when another program
  /// uses the file, or when a run that begins would write over something else.
  Checkpoint(const Checkpointing& options, std::string run, const RunControl& control);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  bool wanted() const { return !path_.empty(); }
  /// What was saved last. Raises usage when there is no file to go on from, bad_data when it is of another
  /// run.
  std::string load() const;
  /// Removes what an earlier run saved.
  void forget() const;
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
  CheckpointLock lock_;
  std::atomic<double> next_save_;
  std::future<void> saving_;
};

/// A loop's state in a checkpoint.
class CheckpointKeeper final : public StateKeeper {
 public:
  CheckpointKeeper(const Checkpointing& options, std::string run, const RunControl& control);
  const std::string* saved() const override { return resumes_ ? &state_ : nullptr; }
  bool is_due() const override { return checkpoint_.is_due(); }
  void save(std::string state) override { checkpoint_.save(std::move(state)); }
  /// Until the last save is on the disk; raises what went wrong.
  void wait() { checkpoint_.wait(); }

 private:
  Checkpoint checkpoint_;
  bool resumes_;
  std::string state_;
};

/// Null when no checkpoint is asked for.
std::unique_ptr<CheckpointKeeper> make_state_keeper(const Checkpointing& options, std::string run,
                                                    const RunControl& control);

}  // namespace drover
