// drover man and drover completion: both generated from the option table.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "drover/core/error.hpp"
#include "drover/core/version.hpp"

namespace drover::app {

namespace {

std::string roff(std::string_view text) {
  std::string escaped;
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

std::string shell_words(bool options_of, std::string_view command) {
  std::string words;
  if (!options_of) {
    for (const CommandSpec& spec : command_table()) words += std::string(spec.name) + " ";
    return words;
  }
  for (const OptionSpec& option : option_table())
    if (takes_option(command, option)) words += "--" + std::string(option.name) + " ";
  return words + "--help";
}

std::string bash_completion() {
  std::string text =
      "# bash completion of drover\n_drover() {\n  local word=${COMP_WORDS[COMP_CWORD]} words=\"\"\n";
  text += "  if ((COMP_CWORD == 1)); then words=\"" + shell_words(false, "") + "--help --version\"; else\n";
  text += "    case ${COMP_WORDS[1]} in\n";
  for (const CommandSpec& command : command_table())
    text += fmt::format("      {}) words=\"{}\" ;;\n", command.name, shell_words(true, command.name));
  text += "    esac\n  fi\n  if [[ $word == -* || $COMP_CWORD == 1 ]]; then\n";
  text += "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n  fi\n}\n";
  return text + "complete -o default -F _drover drover\n";
}

std::string quoted(std::string_view text) {
  std::string result;
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string zsh_completion() {
  std::string text = "#compdef drover\n_drover() {\n  if ((CURRENT == 2)); then\n    local -a commands=(\n";
  for (const CommandSpec& command : command_table())
    text += fmt::format("      '{}:{}'\n", command.name, quoted(command.summary));
  text += "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n";
  for (const CommandSpec& command : command_table()) {
    text += fmt::format("    {}) _arguments '*:file:_files'", command.name);
    for (const OptionSpec& option : option_table()) {
      if (!takes_option(command.name, option)) continue;
      std::string help = quoted(option.help);
      for (char& c : help)
        if (c == '[' || c == ']' || c == ':') c = ' ';
      text += fmt::format(" \\\n      '--{}[{}]{}'", option.name, help,
                          option.value_name.empty() ? "" : ":value:_files");
    }
    text += " ;;\n";
  }
  return text + "  esac\n}\n_drover \"$@\"\n";
}

std::string fish_completion() {
  std::string text = "# fish completion of drover\n";
  for (const CommandSpec& command : command_table()) {
    text += fmt::format("complete -c drover -n __fish_use_subcommand -f -a {} -d '{}'\n", command.name,
                        quoted(command.summary));
    for (const OptionSpec& option : option_table())
      if (takes_option(command.name, option))
        text += fmt::format("complete -c drover -n '__fish_seen_subcommand_from {}' -l {}{} -d '{}'\n",
                            command.name, option.name, option.value_name.empty() ? "" : " -r",
                            quoted(option.help));
  }
  return text;
}

}  // namespace

int run_completion(const Invocation& invocation) {
  const std::string& shell = invocation.arguments.at(0);
  if (shell == "bash")
    print_text(bash_completion());
  else if (shell == "zsh")
    print_text(zsh_completion());
  else if (shell == "fish")
    print_text(fish_completion());
  else
    throw Error(ErrorKind::usage, fmt::format("no completion for '{}': expected bash, zsh or fish", shell));
  return 0;
}

int run_man(const Invocation&) {
  std::string text = fmt::format(".TH DROVER 1 \"\" \"drover {}\" \"User Commands\"\n", version());
  text += ".SH NAME\ndrover \\- sampling and inference in discrete graphical models\n";
  text += ".SH SYNOPSIS\n.B drover\n.I COMMAND\n[\\fIinputs\\fR] [\\fIoptions\\fR]\n";
  text +=
      ".SH DESCRIPTION\nGiven a model over discrete variables (UAI, BIF, libDAI .fg or Ising coordinates), "
      "drover "
      "works out marginals, a most probable state, the partition function or samples, exactly where that is "
      "affordable and by sampling otherwise, with figures that say when to trust them. Results go to "
      "standard "
      "output, progress and warnings to standard error.\n.SH COMMANDS\n";
  for (const CommandSpec& command : command_table()) {
    text += fmt::format(".SS drover {}", roff(command.name));
    for (const ArgumentSpec& argument : command.arguments) text += fmt::format(" {}", roff(argument.name));
    text += fmt::format("\n{}.\n", roff(command.summary));
    for (const ArgumentSpec& argument : command.arguments)
      text += fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help));
    std::string names;
    for (const OptionSpec& option : option_table())
      if (takes_option(command.name, option)) names += fmt::format(" \\-\\-{}", roff(option.name));
    text += fmt::format(".PP\nOptions:{}.\n.PP\nExample:\n.B {}\n", names, roff(command.example));
  }
  text += ".SH OPTIONS\n";
  const Settings defaults;
  for (const OptionSpec& option : option_table()) {
    text += fmt::format(".TP\n.BI \\-\\-{} \" {}\"\n{}.", roff(option.name), roff(option.value_name),
                        roff(option.help));
    const std::string fallback = option_text(defaults, option);
    if (!option.value_name.empty() && !fallback.empty()) text += fmt::format(" Default: {}.", roff(fallback));
    text += "\n";
  }
  text +=
      ".SH EXIT STATUS\n0 done; 64 wrong usage; 65 bad data; 66 cannot read; 70 internal fault; 73 cannot "
      "write; 75 the time limit came before there was any result; 78 the method does not fit the model; 130 "
      "interrupted before there was any result.\n";
  print_text(text);
  return 0;
}

}  // namespace drover::app
