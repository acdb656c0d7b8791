// Runs the built command as a person would, and keeps what it printed.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace drover::testing {

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string error;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// `arguments` are words for the shell.
inline CommandResult drover_command(const std::string& arguments) {
  TemporaryFolder folder;
  const std::string line =
      std::string(DROVER_COMMAND) + " " + arguments + " 2> " + folder.file("stderr") + " < /dev/null";
  CommandResult result;
  std::FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 65536> buffer;
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.out.append(buffer.data(), size);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.error = read_whole(folder.file("stderr"));
  return result;
}

inline std::string model_path(const std::string& name) {
  return std::string(DROVER_SOURCE_DIR) + "/models/" + name;
}

}  // namespace drover::testing
