// A loop's state in a checkpoint, and the draws it made so far in a journal beside it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "drover/run/checkpoint.hpp"
#include "drover/run/draw_journal.hpp"

namespace drover {

class DrawKeeper final : public StateKeeper {
 public:
  /// `take` sees the draws of the run that this one goes on from. `wide` when there are more than 256 states.
  DrawKeeper(const Checkpointing& options, const std::string& run, std::size_t variables, bool wide,
             const DrawJournal::Take& take, const RunControl& control);

  /// Belongs to the next state that is saved.
  void append(std::span<const Value> x) { journal_.append(x, 0); }

  const std::string* saved() const override { return resumes_ ? &state_ : nullptr; }
  bool is_due() const override { return checkpoint_.is_due(); }
  void save(std::string state) override;
  void wait() { checkpoint_.wait(); }

 private:
  DrawJournal journal_;  // outlives a save that is under way, which waits for it
  Checkpoint checkpoint_;
  bool resumes_;
  std::string state_;
};

/// Null when no checkpoint is asked for.
std::unique_ptr<DrawKeeper> make_draw_keeper(const Checkpointing& options, const std::string& run,
                                             std::size_t variables, bool wide, const DrawJournal::Take& take,
                                             const RunControl& control);

}  // namespace drover
