// drover reproduce: hands over to the program drover-reproduce, which has the experiments. They take as long
// to build as the rest of the command and few people run them, so the command does without.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "app/program.hpp"
#include "app/reproduce.hpp"
#include "drover/core/error.hpp"

namespace drover::app {

namespace {

constexpr const char* name = "drover-reproduce";

// Beside the command, or where an installation keeps programs that others start; empty when it is nowhere.
std::filesystem::path find_program() {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::filesystem::path& place : {folder / name, folder / "../libexec/drover" / name})
    if (access(place.c_str(), X_OK) == 0) return place;
  return {};
}

}  // namespace

int run_reproduce(const Reproduce&) {
  const std::filesystem::path program = find_program();
  if (program.empty())
    throw Error(ErrorKind::cannot_read,
                fmt::format("the experiments are a program of their own, {}, which is not beside this one: "
                            "`make build` in drover's sources builds both",
                            name));
  // The first argument is the command's own name.
  std::vector<char*> arguments{program_arguments[0].data()};
  for (std::size_t a = 2; a < program_arguments.size(); ++a) arguments.push_back(program_arguments[a].data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  throw Error(ErrorKind::internal, fmt::format("{}: {}", program.string(), std::strerror(errno)));
}

}  // namespace drover::app
