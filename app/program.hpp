// What the programs `drover` and `drover-reproduce` have in common: everything but what `reproduce` does.
#pragma once

#include <string>
#include <vector>

namespace drover::app {

/// The whole of main(): returns the exit code.
int run_program(int argc, char** argv);

/// As they were given to run_program().
extern std::vector<std::string> program_arguments;

}  // namespace drover::app
