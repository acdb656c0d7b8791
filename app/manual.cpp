// drover man and drover completion: both generated from the option table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "drover/core/error.hpp"
#include "drover/core/version.hpp"

namespace drover::app {

namespace {

std::string roff(std::string_view text) {
  std::string escaped = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";  // else a request
  for (char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

bool has_two_words(const Command& command) {
  return first_word(command) != command.name;
}

std::string verb_word(const Command& command) {
  return command.name.substr(first_word(command).size() + 1);
}

std::string command_words() {
  std::string words;
  for (const Command& command : all_commands())
    if (!has_two_words(command)) words += command.name + " ";
  return words;
}

/// Second words of names that begin with this one, each with a blank behind.
std::string second_words(std::string_view first) {
  std::string words;
  for (const Command& command : all_commands())
    if (has_two_words(command) && first_word(command) == first) words += verb_word(command) + " ";
  return words;
}

std::string option_words(const Command& command) {
  std::string words;
  for (const Option& option : command.options.options()) words += "--" + option.name + " ";
  return words + "--help";
}

std::string bash_completion() {
  std::string text =
      "# bash completion of drover\n_drover() {\n  local word=${COMP_WORDS[COMP_CWORD]} words=\"\"\n";
  text += "  if ((COMP_CWORD == 1)); then words=\"" + command_words() + "--help --version\"; else\n";
  text += "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n";
  for (const bool two : {true, false})  // the first that fits is taken
    for (const Command& command : all_commands())
      if (has_two_words(command) == two)
        text += fmt::format("      \"{}{}) words=\"{}\" ;;\n", command.name, two ? "\"" : " \"*",
                            option_words(command));
  text += "    esac\n  fi\n";
  text += "  if ((COMP_CWORD == 2)); then\n    case ${COMP_WORDS[1]} in\n";
  for (const Command& command : all_commands())
    if (const std::string words = second_words(command.name); !words.empty())
      text += fmt::format("      {}) words+=\" {}\" ;;\n", command.name, words);
  text += "    esac\n  fi\n";
  text += "  if [[ $word == -* || $COMP_CWORD -le 2 ]]; then\n";
  text += "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n  fi\n}\n";
  return text + "complete -o default -F _drover drover\n";
}

std::string shell_quoted(std::string_view text) {
  std::string result;
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string zsh_completion() {
  std::string text = "#compdef drover\n_drover() {\n  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  std::vector<const Command*> two_words_first;
  for (const bool two : {true, false})
    for (const Command& command : all_commands())
      if (has_two_words(command) == two) two_words_first.push_back(&command);
  for (const Command& command : all_commands())
    if (!has_two_words(command))
      text += fmt::format("      '{}:{}'\n", command.name, shell_quoted(command.summary));
  text += "    )\n    _describe command commands\n    return\n  fi\n";
  text += "  case \"$words[2] $words[3]\" in\n";
  for (const Command* one : two_words_first) {
    const Command& command = *one;
    const std::string more = has_two_words(command) ? "" : second_words(command.name);
    text += fmt::format("    \"{}{}) _arguments{} '*:file:_files'", command.name,
                        has_two_words(command) ? "\"" : " \"*",
                        more.empty() ? "" : fmt::format(" '1:word:({})' '2:file:_files'", more));
    for (const Option& option : command.options.options()) {
      std::string help = shell_quoted(option.help);
      for (char& c : help)
        if (c == '[' || c == ']' || c == ':') c = ' ';
      text +=
          fmt::format(" \\\n      '--{}[{}]{}'", option.name, help, option.is_flag() ? "" : ":value:_files");
    }
    text += " ;;\n";
  }
  return text + "  esac\n}\n_drover \"$@\"\n";
}

std::string fish_completion() {
  std::string text = "# fish completion of drover\n";
  for (const Command& command : all_commands()) {
    const std::string words = second_words(first_word(command));
    std::string here = fmt::format("__fish_seen_subcommand_from {}", first_word(command));
    if (has_two_words(command)) {
      text +=
          fmt::format("complete -c drover -n '{}; and not __fish_seen_subcommand_from {}' -a {} -d '{}'\n",
                      here, words, verb_word(command), shell_quoted(command.summary));
      here += "; and __fish_seen_subcommand_from " + verb_word(command);
    } else {
      text += fmt::format("complete -c drover -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                          shell_quoted(command.summary));
      if (!words.empty()) here += "; and not __fish_seen_subcommand_from " + words;
    }
    for (const Option& option : command.options.options())
      text += fmt::format("complete -c drover -n '{}' -l {}{} -d '{}'\n", here, option.name,
                          option.is_flag() ? "" : " -r", shell_quoted(option.help));
  }
  return text;
}

std::string completion(const std::string& shell) {
  if (shell == "bash") return bash_completion();
  if (shell == "zsh") return zsh_completion();
  if (shell == "fish") return fish_completion();
  throw Error(ErrorKind::usage, fmt::format("no completion for '{}': expected bash, zsh or fish", shell));
}

std::string exit_status() {
  return ".SH EXIT STATUS\n0 done; 64 wrong usage; 65 bad data; 66 cannot read; 70 internal fault; 73 cannot "
         "write; 75 the time limit came before there was any result; 78 the method does not fit the model; "
         "130 "
         "interrupted before there was any result.\n";
}

/// "tag train" has the page drover-tag-train.
std::string page_name(const Command& command) {
  std::string name = "drover-" + command.name;
  std::ranges::replace(name, ' ', '-');
  return roff(name);
}

/// drover.1: what there is.
std::string overview() {
  std::string text = fmt::format(".TH DROVER 1 \"\" \"drover {}\" \"User Commands\"\n", version());
  text += ".SH NAME\ndrover \\- sampling and inference in discrete graphical models\n";
  text += ".SH SYNOPSIS\n.B drover\n.I COMMAND\n[\\fIinputs\\fR] [\\fIoptions\\fR]\n";
  text +=
      ".SH DESCRIPTION\nGiven a model over discrete variables (UAI, BIF, libDAI .fg or Ising coordinates), "
      "drover works out marginals, a most probable state, the partition function or samples, exactly where "
      "that is affordable and by sampling otherwise, with figures that say when to trust them. Results go to "
      "standard output, progress and warnings to standard error.\n.SH COMMANDS\nEach has a page of its own, "
      "such as\n.BR drover\\-marginals (1).\n";
  for (const Command& command : all_commands())
    text += fmt::format(".TP\n.B drover {}\n{}\n", roff(command.name), roff(command.summary));
  text += exit_status();
  text +=
      ".SH ENVIRONMENT\n.TP\n.B DROVER_SIMD\navx512, avx2, sse4 or scalar: the best instruction set to use; "
      "results are the same.\n.SH SEE ALSO\n";
  std::string separator;
  for (const Command& command : all_commands()) {
    text += fmt::format("{}.BR {} (1)", separator, page_name(command));
    separator = ",\n";
  }
  return text + "\n";
}

/// drover-COMMAND.1
std::string manual(const Command& command) {
  std::string upper = page_name(command);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(".TH {} 1 \"\" \"drover {}\" \"User Commands\"\n", upper, version());
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B drover {}\n", page_name(command),
                      roff(command.summary), roff(command.name));
  for (const Argument& argument : command.arguments)
    text += fmt::format("{}\\fI{}\\fR{}{}\n", argument.optional ? "[" : "", roff(argument.name),
                        argument.repeated ? " ..." : "", argument.optional ? "]" : "");
  text += "[\\fIoptions\\fR]\n";
  if (!command.arguments.empty()) text += ".SH INPUTS\n";
  for (const Argument& argument : command.arguments)
    text += fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help));
  text += ".SH OPTIONS\n";
  for (const Option& option : command.options.options()) {
    text += fmt::format(".TP\n.BI \\-\\-{} \" {}\"\n{}.", roff(option.name), roff(option.value_name),
                        roff(option.help));
    const std::string fallback = option.without.empty() ? option.text() : option.without;
    if (!option.is_flag() && !fallback.empty()) text += fmt::format(" Default: {}.", roff(fallback));
    text += "\n";
  }
  text += ".TP\n.B \\-\\-help\nsay all this, shorter.\n";
  text += fmt::format(".SH EXAMPLE\n.B {}\n", roff(command.example));
  return text + exit_status() + ".SH SEE ALSO\n.BR drover (1)\n";
}

std::string manual(const std::string& name) {
  for (const Command& command : all_commands())
    if (command.name == name) return manual(command);
  throw Error(ErrorKind::usage, fmt::format("no manual page for '{}': expected the name of a command", name));
}

}  // namespace

Command completion_command() {
  return {"completion",
          "print a completion script",
          {{"SHELL", "bash, zsh or fish"}},
          "drover completion bash > ~/.local/share/bash-completion/completions/drover",
          {},
          [](const Call& call) {
            print_text(completion(call.arguments[0]));
            return 0;
          }};
}

Command man_command() {
  return {"man",
          "print a manual page (roff)",
          {{"COMMAND", "the command that it is about, one word or two; without it, an overview", true, true}},
          "drover man marginals | man -l -",
          {},
          [](const Call& call) {
            const std::string name = fmt::to_string(fmt::join(call.arguments, " "));
            print_text(name.empty() ? overview() : manual(name));
            return 0;
          }};
}

}  // namespace drover::app
