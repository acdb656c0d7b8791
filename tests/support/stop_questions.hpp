// How often work asks its control whether to end, and whether it ends where it is told to.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "drover/core/error.hpp"
#include "drover/core/run_control.hpp"

namespace drover::testing {

/// The questions of work(control) that nobody ends.
template <class Work>
std::size_t count_questions(const Work& work) {
  RunControl control;
  std::size_t asked = 0;
  control.stop_when([&] { return ++asked == 0; });
  work(control);
  return asked;
}

/// Told to end at question `after` + 1, it must raise interrupted, and ask at most `more` times again.
template <class Work>
void expect_end_after(std::size_t after, const Work& work, std::size_t more = 0) {
  RunControl control;
  std::size_t asked = 0;
  control.stop_when([&] {
    if (++asked > after) control.request_stop();
    return asked > after;
  });
  try {
    work(control);
    ADD_FAILURE() << "it did not end after question " << after;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  EXPECT_LE(asked, after + 1 + more);
}

}  // namespace drover::testing
