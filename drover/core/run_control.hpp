// How a run is watched, shared and stopped: the one type for it, passed down to everything that can take
// longer than 50 milliseconds.
//
// The caller owns it: a deadline needs no other clock, request_stop() may be called from another thread or
// from a signal handler. Algorithms ask should_stop(), which is true from the deadline or the request on, and
// end soon after with what they have; an algorithm that has nothing yet raises Error of kind stopped (see
// fail_if_stopped()). They report their progress through it and never print or read a clock themselves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "drover/core/ranks.hpp"

namespace drover {

struct Progress {
  std::string_view phase;    ///< "burn-in", "sampling", ...
  double fraction = 0;       ///< of the planned work, 0 .. 1; negative when unknown
  std::uint64_t sweeps = 0;  ///< sweeps or iterations done so far
  double updates = 0;        ///< variable updates done so far, all chains
  double rhat_max = 0;       ///< 0 when not known yet
};

class RunControl {
 public:
  using OnProgress = std::function<void(const Progress&)>;

  RunControl() = default;
  /// A part of a larger run: it ends when the whole does, and may have a deadline of its own.
  explicit RunControl(const RunControl& whole, std::optional<double> seconds = std::nullopt)
      : whole_(&whole) {
    if (seconds) limit_time(*seconds);
  }
  RunControl& operator=(const RunControl&) = delete;

  /// The run ends this many seconds from now. To be set before the run begins.
  void limit_time(double seconds);
  /// Called with progress, from the thread that runs the algorithm. To be set before the run begins.
  void watch(OnProgress on_progress) { on_progress_ = std::move(on_progress); }
  /// A further reason to end, asked from any thread as often as should_stop() is. To be set before the run.
  void stop_when(std::function<bool()> reason) { reason_ = std::move(reason); }

  /// At most so many threads work; unset: all cores. To be set before the run begins.
  void limit_threads(std::uint32_t threads) { threads_ = threads; }
  std::optional<std::uint32_t> threads() const {
    return threads_ || whole_ == nullptr ? threads_ : whole_->threads();
  }

  /// The processes that share the run; unset: this one alone. To be set before the run begins.
  void share_with(const Ranks& ranks) { ranks_ = &ranks; }
  const Ranks& ranks() const {
    if (ranks_ != nullptr) return *ranks_;
    return whole_ == nullptr ? one_process() : whole_->ranks();
  }

  /// Ends the run soon; from any thread, or from a signal handler.
  void request_stop() noexcept { stop_requested_.store(true, std::memory_order_relaxed); }

  bool should_stop() const {
    return stop_requested() || out_of_time() || (reason_ && reason_()) ||
           (whole_ != nullptr && whole_->should_stop());
  }
  /// Somebody asked for the end: no time limit did.
  bool stop_requested() const noexcept {
    return stop_requested_.load(std::memory_order_relaxed) || (whole_ != nullptr && whole_->stop_requested());
  }
  bool out_of_time() const noexcept;
  bool has_time_limit() const noexcept;
  /// The share of the time limit that has passed, 0 .. 1; 0 when there is none.
  double time_fraction() const noexcept;
  /// Since this object was made.
  double seconds() const noexcept;
  /// Until the deadline, at least 0; infinity when there is none.
  double seconds_left() const noexcept;

  void report(const Progress& progress) const {
    if (on_progress_)
      on_progress_(progress);
    else if (whole_ != nullptr)
      whole_->report(progress);
  }

 private:
  using Clock = std::chrono::steady_clock;

  const RunControl* whole_ = nullptr;
  std::atomic<bool> stop_requested_ = false;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  std::optional<std::uint32_t> threads_;
  const Ranks* ranks_ = nullptr;
  OnProgress on_progress_;
  std::function<bool()> reason_;
};

/// Calls `work` with at most control.threads() threads below it.
void with_threads(const RunControl& control, const std::function<void()>& work);

/// Nobody watches and nothing ends it early.
const RunControl& no_control();

/// Raises stopped (or interrupted, when somebody asked for the end) once the run is to end: for work that has
/// no result before it is done. `what` says which: "exact inference".
void fail_if_stopped(const RunControl& control, std::string_view what);
/// The same without asking.
[[noreturn]] void fail_stopped(const RunControl& control, std::string_view what);

}  // namespace drover
