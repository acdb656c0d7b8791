// Parses, dispatches, and turns errors into one line and an exit code. No algorithms here.
#include "app/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "app/command_line.hpp"
#include "app/memory.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/simd.hpp"

namespace {

// A standard stream that is closed would give its number to the next file that is opened, and messages would
// be written into it. The standard output must still fail when it is written.
void open_standard_streams() {
  for (const auto& [descriptor, mode] :
       {std::pair{STDIN_FILENO, O_RDONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) open("/dev/null", mode);  // takes the lowest number
}

std::string memory_message() {
  const double limit = drover::app::memory_limit();
  return fmt::format(
      "out of memory: {}; fewer chains, a smaller part of the data or a method that needs less "
      "(drover info MODEL lists what fits) may do",
      limit > 0 ? fmt::format("the work takes more than the memory limit of {:.3g} GB", limit)
                : "the work takes more than this machine gives");
}

int dispatch(int argc, char** argv) {
  open_standard_streams();
  drover::app::keep_freed_memory();
  drover::app::install_signal_handlers();
  drover::check_simd_limit();
  const auto [command, call] = drover::app::parse_command_line(argc, argv);
  if (command == nullptr) return 0;
  if (!command->shared && !drover::app::goes_on_alone()) return 0;
  return command->run(call);
}

}  // namespace

namespace drover::app {

std::vector<std::string> program_arguments;

Outcome run_command(int argc, char** argv) {
  program_arguments.assign(argv, argv + argc);
  try {
    return {dispatch(argc, argv), ""};
  } catch (const drover::OptionError& error) {
    return {error.exit_code(),
            fmt::format("--{} {}: expected {}", error.name(), error.value(), error.expected())};
  } catch (const drover::Error& error) {
    return {error.exit_code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {static_cast<int>(drover::ErrorKind::misfit), memory_message()};
  } catch (const std::exception& error) {
    return {static_cast<int>(drover::ErrorKind::internal), error.what()};
  }
}

// Where even stderr cannot be written, the exit code alone speaks.
void print_error(const std::string& message) {
  expect_result();  // a signal or a time limit that comes now has nothing to add
  std::fputs(fmt::format("drover: error: {}\n", message).c_str(), stderr);
}

int run_program(int argc, char** argv) {
  const Outcome outcome = run_command(argc, argv);
  if (!outcome.error.empty()) print_error(outcome.error);
  return outcome.exit_code;
}

}  // namespace drover::app
