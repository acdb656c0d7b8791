// Parses, dispatches, and turns errors into one line and an exit code. No algorithms here.
#include "app/program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "app/command_line.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/simd.hpp"

namespace {

int dispatch(int argc, char** argv) {
  drover::check_simd_limit();
  const auto [command, call] = drover::app::parse_command_line(argc, argv);
  if (command == nullptr) return 0;
  drover::app::install_signal_handlers();
  return command->run(call);
}

// Where even stderr cannot be written, the exit code alone speaks.
int fail(const std::string& message, int exit_code) {
  std::fputs(fmt::format("drover: error: {}\n", message).c_str(), stderr);
  return exit_code;
}

}  // namespace

namespace drover::app {

std::vector<std::string> program_arguments;

int run_program(int argc, char** argv) {
  program_arguments.assign(argv, argv + argc);
  try {
    return dispatch(argc, argv);
  } catch (const drover::OptionError& error) {
    return fail(fmt::format("--{} {}: expected {}", error.name(), error.value(), error.expected()),
                error.exit_code());
  } catch (const drover::Error& error) {
    return fail(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", static_cast<int>(drover::ErrorKind::internal));
  } catch (const std::exception& error) {
    return fail(error.what(), static_cast<int>(drover::ErrorKind::internal));
  }
}

}  // namespace drover::app
