// Work in another thread while the one that began the run looks whether it is to end.
#pragma once

#include <chrono>
#include <future>

#include "drover/core/run_control.hpp"

namespace drover {

/// Calls `work` in a thread of its own; this one asks control.should_stop() every few milliseconds meanwhile.
/// For long work whose loops may leave this thread waiting for others: RunControl::stop_when() may have a
/// reason that only the thread which began the run can know, as a signal that Python heard.
template <class Work>
void watch_while(const RunControl& control, const Work& work) {
  constexpr auto between = std::chrono::milliseconds(20);
  auto done = std::async(std::launch::async, work);
  while (done.wait_for(between) == std::future_status::timeout) control.should_stop();
  done.get();
}

}  // namespace drover
