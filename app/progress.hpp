// What a person sees while a run goes on: a progress bar on stderr, Ctrl-C, and the time limit.
#pragma once

#include <chrono>
#include <string>

#include "drover/run/monitor.hpp"
#include "drover/run/settings.hpp"

namespace drover::app {

class ProgressBar {
 public:
  explicit ProgressBar(const Settings& settings);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// The monitor to hand to an algorithm; valid while this object lives.
  Monitor monitor();
  double seconds() const;
  bool was_interrupted() const;
  void clear();

 private:
  void show(const Progress& progress);
  bool visible_;
  double time_limit_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_shown_;
  std::chrono::steady_clock::time_point last_checkpoint_;
  bool drawn_ = false;
};

}  // namespace drover::app
