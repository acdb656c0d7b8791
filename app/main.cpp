// The command: parses, dispatches, and turns errors into one line and an exit code. No algorithms here.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <new>

#include "app/command_line.hpp"
#include "app/commands.hpp"
#include "drover/core/error.hpp"

namespace {

using drover::app::Invocation;

struct Entry {
  std::string_view name;
  int (*run)(const Invocation&);
};

constexpr Entry entries[] = {
    {"info", drover::app::run_info},
    {"marginals", drover::app::run_marginals},
    {"map", drover::app::run_map},
    {"logz", drover::app::run_logz},
    {"sample", drover::app::run_sample},
    {"tag", drover::app::run_tag},
    {"herd", drover::app::run_herd},
    {"stream", drover::app::run_stream},
    {"compare", drover::app::run_compare},
    {"text", drover::app::run_text},
    {"denoise", drover::app::run_denoise},
    {"diagnose", drover::app::run_diagnose},
    {"generate", drover::app::run_generate},
    {"convert", drover::app::run_convert},
    {"methods", drover::app::run_methods},
    {"bench", drover::app::run_bench},
    {"completion", drover::app::run_completion},
    {"man", drover::app::run_man},
    {"learn", drover::app::run_learn},
    {"reproduce", drover::app::run_reproduce},
};

int dispatch(int argc, char** argv) {
  const Invocation invocation = drover::app::parse_command_line(argc, argv);
  if (invocation.command.empty()) return 0;
  std::unique_ptr<tbb::global_control> threads;
  if (invocation.settings.threads > 0)
    threads = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                    static_cast<std::size_t>(invocation.settings.threads));
  for (const Entry& entry : entries)
    if (entry.name == invocation.command) return entry.run(invocation);
  throw drover::Error(drover::ErrorKind::internal, "no code for command " + invocation.command);
}

int fail(const std::string& message, int exit_code) {
  fmt::print(stderr, "drover: error: {}\n", message);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const drover::Error& error) {
    return fail(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", static_cast<int>(drover::ErrorKind::internal));
  } catch (const std::exception& error) {
    return fail(error.what(), static_cast<int>(drover::ErrorKind::internal));
  }
}
