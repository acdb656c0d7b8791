// For what comes before there can be any result: reading, compiling, laying out. It ends when somebody asks for
// it, or when the deadline has passed for a while: small work is not cut for a slow start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "drover/core/run_control.hpp"

namespace drover {

class StopCheck {
 public:
  /// The control must outlive this. `what` and `done` say what has no result yet: "the model", "was compiled".
  StopCheck(const RunControl& control, std::string what, std::string done)
      : control_(control), what_(std::move(what)), done_(std::move(done)) {}

  /// After a short step, which may count for several: asks once in a few thousand of them.
  void step(std::size_t count = 1) {
    steps_ += count;
    if (steps_ < steps_between) return;
    steps_ = 0;
    ask();
  }
  /// Raises stopped or interrupted.
  void ask();

 private:
  static constexpr std::size_t steps_between = 1U << 14;
  static constexpr double grace = 0.4;  ///< seconds beyond the deadline

  const RunControl& control_;
  std::string what_, done_;
  std::size_t steps_ = 0;
  std::optional<double> late_since_;  ///< by the control's clock
};

}  // namespace drover
