#include "drover/core/stop_check.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

void StopCheck::ask() {
  if (!control_.should_stop()) return;
  const bool asked = control_.stop_requested();
  if (!asked) {
    const double now = control_.seconds();
    if (!late_since_) late_since_ = now;
    if (now - *late_since_ < grace) return;
  }
  throw Error(asked ? ErrorKind::interrupted : ErrorKind::stopped,
              fmt::format("{} before {} {}", asked ? "interrupted" : "the time limit came", what_, done_));
}

}  // namespace drover
