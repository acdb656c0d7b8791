// The command `drover serve` as people start it: in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace drover::testing {

class ServedCommand {
 public:
  /// Returns when the address has been printed.
  explicit ServedCommand(std::vector<std::string> words) {
    words.insert(words.begin(), {"drover", "serve"});
    words.emplace_back("--no-open");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execv(DROVER_COMMAND, arguments.data());
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
    char letter = 0;
    while (said_.find("Ctrl-C") == std::string::npos && read(output_, &letter, 1) == 1) said_ += letter;
  }
  ~ServedCommand() {
    interrupt();
    close(output_);
  }
  ServedCommand(const ServedCommand&) = delete;
  ServedCommand& operator=(const ServedCommand&) = delete;

  const std::string& said() const { return said_; }
  /// With the token.
  std::string address() const {
    const std::size_t begin = said_.find("http://");
    return begin == std::string::npos ? "" : said_.substr(begin, said_.find('\n', begin) - begin);
  }
  std::uint16_t port() const {
    const std::string text = address();
    return static_cast<std::uint16_t>(std::atoi(text.c_str() + text.find(':', 7) + 1));
  }
  /// Returns how it ended, as waitpid() says it.
  int interrupt() {
    int status = 0;
    if (child_ > 0) {
      kill(child_, SIGINT);
      waitpid(child_, &status, 0);
    }
    child_ = -1;
    return status;
  }

 private:
  pid_t child_ = -1;
  int output_ = -1;
  std::string said_;
};

}  // namespace drover::testing
