// Runs the built command as a person would, and keeps what it printed.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace drover::testing {

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string error;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A new folder for one test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "drover-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  std::size_t count() const {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++files;
    return files;
  }

 private:
  std::string path_;
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
