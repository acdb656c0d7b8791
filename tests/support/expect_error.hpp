// The command must fail with this exit code and one line that holds `part`, and print nothing else.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/command.hpp"

namespace drover::testing {

inline void expect_error(const std::string& arguments, int exit_code, const std::string& part) {
  const CommandResult result = drover_command(arguments);
  EXPECT_EQ(result.exit_code, exit_code) << arguments << "\n" << result.error;
  EXPECT_EQ(result.out, "") << arguments;
  EXPECT_EQ(result.error.rfind("drover: error: ", 0), 0U) << result.error;
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
  EXPECT_NE(result.error.find(part), std::string::npos) << result.error;
}

}  // namespace drover::testing
