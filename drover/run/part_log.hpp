// The parts of a computation that are done, in a file that only grows.
//
// The first line names the run; then follow records, each with the number of its part, its size, a checksum
// and its bytes. A record is whole or it is not there: after any end of the program the file is good up to
// its first record that is not, and is cut there. The disk is waited for every `every` seconds, and for no more
// than half of the time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "drover/core/keeper.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/checkpoint.hpp"

namespace drover {

class PartLog final : public PartKeeper {
 public:
  /// `run` is one line. Raises cannot_write when another program uses the file, usage when there is no file
  /// to go on from, bad_data when it is of another run.
  PartLog(const Checkpointing& options, const std::string& run, const RunControl& control);
  ~PartLog() override;
  PartLog(const PartLog&) = delete;
  PartLog& operator=(const PartLog&) = delete;

  bool recall(std::uint64_t part, std::string& bytes) override;
  void keep(std::uint64_t part, const std::string& bytes) override;

 private:
  struct Place {
    std::uint64_t offset, size;
  };
  void begin(const std::string& first_line);
  void resume(const std::string& first_line);
  [[noreturn]] void fail_write() const;

  std::string path_;
  double seconds_between_;
  const RunControl& control_;
  CheckpointLock lock_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::map<std::uint64_t, Place> places_;
  std::uint64_t end_ = 0;
  double next_sync_;
};

/// Null when no checkpoint is asked for.
std::unique_ptr<PartLog> make_part_log(const Checkpointing& options, const std::string& run,
                                       const RunControl& control);

}  // namespace drover
