#include "drover/core/run_control.hpp"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "drover/core/error.hpp"

namespace drover {

void RunControl::limit_time(double seconds) {
  constexpr double longest = 1e9;  // three decades; beyond it durations of the clock overflow
  start_ = Clock::now();
  deadline_ = start_ + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::clamp(seconds, 0.0, longest)));
}

bool RunControl::out_of_time() const noexcept {
  return (deadline_ && Clock::now() >= *deadline_) || (whole_ != nullptr && whole_->out_of_time());
}

bool RunControl::has_time_limit() const noexcept {
  return deadline_.has_value() || (whole_ != nullptr && whole_->has_time_limit());
}

double RunControl::time_fraction() const noexcept {
  const double of_whole = whole_ == nullptr ? 0.0 : whole_->time_fraction();
  if (!deadline_) return of_whole;
  const double limit = std::chrono::duration<double>(*deadline_ - start_).count();
  return std::max(of_whole, limit > 0 ? std::min(1.0, seconds() / limit) : 1.0);
}

double RunControl::seconds() const noexcept {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double RunControl::seconds_left() const noexcept {
  double left = whole_ == nullptr ? std::numeric_limits<double>::infinity() : whole_->seconds_left();
  if (deadline_)
    left = std::min(left, std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count()));
  return left;
}

void with_threads(const RunControl& control, const std::function<void()>& work) {
  if (!control.threads()) return work();
  tbb::task_arena arena(static_cast<int>(std::max(1U, *control.threads())));
  arena.execute(work);
}

const RunControl& no_control() {
  static const RunControl control;
  return control;
}

void fail_if_stopped(const RunControl& control, std::string_view what) {
  if (control.should_stop()) fail_stopped(control, what);
}

void fail_stopped(const RunControl& control, std::string_view what) {
  const bool asked = control.stop_requested();
  throw Error(asked ? ErrorKind::interrupted : ErrorKind::stopped,
              fmt::format("{} before {} had a result", asked ? "interrupted" : "the time limit came", what));
}

}  // namespace drover
