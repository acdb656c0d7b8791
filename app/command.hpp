// A command: its name, arguments and options, and what it does. One function per command makes it
// (app/commands.hpp); the parser, help, man page and completion read it. A name may be two words, "tag
// train": such a command shows and takes only what it heeds itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/limits.hpp"

namespace drover::app {

/// A positional argument.
struct Argument {
  std::string name;
  std::string help;
  bool repeated = false;  ///< one or more; only the last argument may be
  bool optional = false;
  bool written = false;  ///< a file to write, not to read
};

/// What a command was called with; its options are set already.
struct Call {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::string> given;  ///< names of the options set on the command line or by a config file

  bool was_given(std::string_view option) const;
};

struct Command {
  std::string name;  ///< one word, or two
  std::string summary;
  std::vector<Argument> arguments;
  std::string example;
  OptionList options;
  std::function<int(const Call&)> run;  ///< returns the exit code
  bool shared = false;  ///< where several ranks share a run, all of them do it; else rank 0 alone
};

/// Where results go and what is printed.
struct Output {
  std::string out;
  std::string report;
  bool json = false;
  bool quiet = false;
  std::string config;
};

/// `out` says what is written there; empty: the command has no such option.
void describe(OptionList& list, Output& output, std::string_view out, bool report);
/// Makes the limits those of the program's run.
void apply(const Limits& limits);
/// How many threads a run has that does not say; otherwise all cores.
void set_usual_threads(std::uint32_t threads);

/// All of them, in the order of the help. The options of each are bound to storage that it owns.
std::vector<Command>& all_commands();
/// Null when there is none.
Command* find_command(std::string_view name);
/// The first word of its name.
std::string_view first_word(const Command& command);

}  // namespace drover::app
