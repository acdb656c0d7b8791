// From argv to an Invocation, by the option table (drover/run/settings.hpp).
#pragma once

#include <string>
#include <vector>

#include "drover/run/settings.hpp"

namespace drover::app {

struct Invocation {
  std::string command;
  std::vector<std::string> arguments;
  Settings settings;
  std::vector<std::string> given;  ///< names of the options set on the command line or by --config

  bool was_given(std::string_view option) const;
};

/// Parses, applies --config below the command line, and checks. Prints help or the version itself and then
/// returns an invocation with an empty command. Raises usage (with the nearest name where one is near).
Invocation parse_command_line(int argc, char** argv);

}  // namespace drover::app
