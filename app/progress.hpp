// What a person sees while a run goes on: a progress bar on stderr. Ctrl-C, a termination or a hang-up ends
// the run (see run_control()); the result so far is then shown as usual. Before an algorithm has begun, while
// files are read and plans made, there is no result to show: then they end the program at once.
#pragma once

#include <chrono>

#include "drover/core/run_control.hpp"

namespace drover::app {

/// The one run of this program. Signals stop it.
RunControl& run_control();
void install_signal_handlers();
/// The program's run ends after so many seconds.
void limit_time(double seconds);
/// Whether this process speaks to the user and writes files: the only one, or rank 0 of those that share the
/// run.
bool speaks();
/// For what ranks do not share: whether this one goes on, then without the others.
bool goes_on_alone();
/// That stderr, which a launcher passes on, ends on a terminal.
void set_forwarded_to_terminal(bool forwarded);
/// From now on a signal or the time limit no longer ends the program at once: an algorithm is running that
/// listens to run_control(), or its answer is being written. Progress says so by itself.
void expect_result() noexcept;

class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  const RunControl& control() const { return run_control(); }
  double seconds() const;
  bool was_interrupted() const { return run_control().stop_requested(); }
  void clear();

 private:
  void show(const Progress& progress);
  bool visible_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_shown_;
  bool drawn_ = false;
};

}  // namespace drover::app
