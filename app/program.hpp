// What the programs `drover`, `drover-mpi` and `drover-reproduce` have in common: everything but what
// `reproduce` does, and the beginning and end of a run that several processes share.
#pragma once

#include <string>
#include <vector>

namespace drover::app {

/// How a call ended.
struct Outcome {
  int exit_code = 0;
  std::string error;  ///< one line; empty when there was none
};

/// Parses and runs a command.
Outcome run_command(int argc, char** argv);
/// Prints an error as people know it.
void print_error(const std::string& message);

/// The whole of main(): returns the exit code.
int run_program(int argc, char** argv);

/// As they were given to run_program().
extern std::vector<std::string> program_arguments;

}  // namespace drover::app
