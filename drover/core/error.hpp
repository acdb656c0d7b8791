// Errors that reach the user. Raised at the edges (readers, option checks, compile); inside, code asserts.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace drover {

/// Each kind is the exit code of the command that meets it.
enum class ErrorKind : int {
  usage = 64,         ///< a wrong option or argument
  bad_data = 65,      ///< a file or model that cannot mean anything
  cannot_read = 66,   ///< a file that is missing or unreadable
  internal = 70,      ///< a fault of drover itself
  cannot_write = 73,  ///< an output that cannot be written
  stopped = 75,       ///< the time limit came before there was any result
  misfit = 78,        ///< a method that does not fit the model
  interrupted = 130,  ///< Ctrl-C came before there was any result
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// Where in a file something is wrong; line and column count from 1, 0 means unknown.
struct Place {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
};

/// Raises bad_data as "file:line:column: message".
[[noreturn]] void fail_at(const Place& place, const std::string& message);

/// The candidate closest to `word` by edit distance, or an empty string when none is near.
std::string nearest_name(const std::string& word, const char* const* candidates, std::size_t count);

}  // namespace drover
