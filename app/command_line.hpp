// From argv to a command and its call, by the commands' own descriptions.
#pragma once

#include <utility>

#include "app/command.hpp"

namespace drover::app {

/// Parses, applies --config below the command line, and checks; the chosen command's options are set. Prints
/// help or the version itself and then returns null. Raises usage (with the nearest name where one is near).
std::pair<const Command*, Call> parse_command_line(int argc, char** argv);

}  // namespace drover::app
