#include "app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "app/build_facts.hpp"
#include "app/config_file.hpp"
#include "app/files.hpp"
#include "app/output.hpp"
#include "drover/core/error.hpp"
#include "drover/core/version.hpp"

namespace drover::app {

namespace {

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  std::vector<const char*> candidates;
  for (const std::string& name : names) candidates.push_back(name.c_str());
  const std::string nearest = nearest_name(word, candidates.data(), candidates.size());
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

std::vector<std::string> first_words() {
  std::vector<std::string> words;
  for (const Command& command : all_commands()) words.emplace_back(first_word(command));
  return words;
}

[[noreturn]] void fail_unknown_command(const std::string& word) {
  throw Error(ErrorKind::usage, fmt::format("unknown command '{}'{} (drover --help lists the commands)", word,
                                            suggestion(word, first_words())));
}

[[noreturn]] void fail_unexpected(const Command& command, const std::string& word) {
  if (!word.starts_with("-"))
    throw Error(ErrorKind::usage,
                fmt::format("unexpected argument '{}' after drover {}", word, command.name));
  std::vector<std::string> names = {"--help"};
  for (const Option& option : command.options.options()) names.push_back("--" + option.name);
  const std::string bare = word.substr(0, word.find('='));
  std::string hint = suggestion(bare, names);
  for (Command& other : all_commands())  // such as an option of training, given for labelling
    if (first_word(other) == first_word(command) &&
        other.options.find(bare.substr(bare.find_first_not_of('-'))))
      hint = fmt::format("; drover {} has it", other.name);
  throw Error(ErrorKind::usage, fmt::format("drover {} has no option {}{}", command.name, bare, hint));
}

// Options that may be given several times add up, as lists with this between; empty for all others. Several
// queries of herd are several questions.
std::string_view joint(const Command& command, std::string_view name) {
  if (name == "query" && command.name == "herd") return ";";
  if (name == "joint") return ";";
  return name == "observe" || name == "do" || name == "query" ? "," : "";
}

void add_to_parser(CLI::App& sub, const Command& command, Given& given, std::vector<std::string>& arguments) {
  const bool last_repeated = !command.arguments.empty() && command.arguments.back().repeated;
  arguments.assign(command.arguments.size() - (last_repeated ? 1 : 0), "");
  for (std::size_t a = 0; a < command.arguments.size(); ++a) {
    const Argument& argument = command.arguments[a];
    CLI::Option* added = nullptr;
    if (argument.repeated)  // takes the place of the last one and of all that follow
      added = sub.add_option_function<std::vector<std::string>>(
          argument.name,
          [&arguments, a](const std::vector<std::string>& words) {
            arguments.resize(a);
            arguments.insert(arguments.end(), words.begin(), words.end());
          },
          argument.help);
    else
      added = sub.add_option(argument.name, arguments[a], argument.help);
    added->required(!argument.optional);
  }
  for (const Option& option : command.options.options()) {
    const std::string& name = option.name;
    if (option.is_flag()) {
      sub.add_flag_callback(
          "--" + name, [&given, name] { given[name] = "true"; }, option.help);
      continue;
    }
    const std::string help =
        option.without.empty() ? option.help : fmt::format("{} [{}]", option.help, option.without);
    const std::string fallback = option.text();
    CLI::Option* added = nullptr;
    if (const std::string_view between = joint(command, name); !between.empty())
      added = sub.add_option_function<std::vector<std::string>>(
                     "--" + name,
                     [&given, name, between](const std::vector<std::string>& texts) {
                       for (const std::string& text : texts)
                         given[name] += std::string(given[name].empty() ? "" : between) + text;
                     },
                     help)
                  ->expected(1)
                  ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    else
      added = sub.add_option_function<std::string>(
          "--" + name, [&given, name](const std::string& text) { given[name] = text; }, help);
    added->type_name(option.value_name + (fallback.empty() ? "" : " [" + fallback + "]"));
  }
}

void apply_options(Command& command, const Given& values, Call& call) {
  for (const auto& [name, text] : values) {
    Option* option = command.options.find(name);
    if (option == nullptr) fail_unexpected(command, "--" + name);
    option->set(text);
    call.given.push_back(name);
  }
}

Call call_of(Command& command, const Given& typed, std::vector<std::string> arguments) {
  Call call;
  call.command = command.name;
  call.arguments = std::move(arguments);
  if (const auto config = typed.find("config"); config != typed.end())
    apply_options(command,
                  read_config(config->second, std::string(first_word(command)), first_words(),
                              [&](std::string_view name) { return command.options.find(name) != nullptr; }),
                  call);
  apply_options(command, typed, call);
  return call;
}

/// Calls `parse`; false when that was a call for help, which is printed then.
template <class Parse>
bool parse_or_help(CLI::App& parser, Parse parse) {
  try {
    parse();
    return true;
  } catch (const CLI::CallForHelp& help) {
    std::ostringstream text;
    parser.exit(help, text);
    print_text(text.str());
    return false;
  } catch (const CLI::CallForVersion&) {
    throw;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    throw Error(ErrorKind::usage, message);
  }
}

std::pair<const Command*, Call> checked_call(Command& command, const Given& given,
                                             const std::vector<std::string>& arguments) {
  Call call = call_of(command, given, arguments);
  check_files(command, call);
  return {&command, std::move(call)};
}

/// Where the second word of a command's name stands among the words, options before it or not; 0 when the
/// command has one word.
std::size_t second_word(const std::vector<std::string>& words) {
  const auto takes_value = [&](std::string_view name) {
    for (Command& command : all_commands())
      if (first_word(command) == words[0])
        if (const Option* option = command.options.find(name)) return !option->is_flag();
    return false;
  };
  for (std::size_t k = 1; k < words.size(); ++k) {
    if (!words[k].starts_with("--")) return find_command(words[0] + " " + words[k]) == nullptr ? 0 : k;
    if (words[k].find('=') == std::string::npos && takes_value(words[k].substr(2))) ++k;
  }
  return 0;
}

std::pair<const Command*, Call> parse_two_words(Command& command, std::vector<std::string> words) {
  CLI::App parser(command.summary, "drover " + command.name);
  parser.footer("Example:\n  " + command.example);
  Given given;
  std::vector<std::string> arguments;
  add_to_parser(parser, command, given, arguments);
  parser.allow_extras();
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  if (!parse_or_help(parser, [&] { parser.parse(words); })) return {nullptr, {}};
  if (!parser.remaining().empty()) fail_unexpected(command, parser.remaining().front());
  return checked_call(command, given, arguments);
}

/// What stands below the help of a command.
std::string footer(const Command& command) {
  std::string text = "Example:\n  " + command.example;
  for (const Command& other : all_commands())
    if (other.name != command.name && first_word(other) == command.name)
      text += fmt::format("\n\ndrover {}: {} (drover {} --help)", other.name, other.summary, other.name);
  return text;
}

}  // namespace

std::pair<const Command*, Call> parse_command_line(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (const std::size_t second = words.empty() ? 0 : second_word(words); second > 0) {
    Command& command = *find_command(words[0] + " " + words[second]);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(second));
    words.erase(words.begin());
    return parse_two_words(command, std::move(words));
  }
  CLI::App parser("drover samples from and infers in discrete graphical models.", "drover");
  parser.set_version_flag("--version", std::string("drover ") + version());
  parser.require_subcommand(0, 1);
  parser.footer("drover COMMAND --help describes a command.");
  std::map<std::string, Given> given;
  std::map<std::string, std::vector<std::string>> arguments;
  for (const Command& command : all_commands()) {
    if (first_word(command) != command.name) continue;
    CLI::App* sub = parser.add_subcommand(command.name, command.summary);
    sub->footer(footer(command));
    add_to_parser(*sub, command, given[command.name], arguments[command.name]);
    sub->allow_extras();
  }
  parser.allow_extras();
  try {
    if (!parse_or_help(parser, [&] { parser.parse(argc, argv); })) return {nullptr, {}};
  } catch (const CLI::CallForVersion&) {
    const bool json = std::ranges::find(words, "--json") != words.end();
    print_text(json ? build_facts().text() : fmt::format("drover {}\n", version()));
    return {nullptr, {}};
  }
  const auto chosen = parser.get_subcommands();
  if (chosen.empty()) {
    if (parser.remaining().empty())
      throw Error(ErrorKind::usage, "expected a command (drover --help lists them)");
    const std::string word = parser.remaining().front();
    if (word.starts_with("-")) throw Error(ErrorKind::usage, fmt::format("drover has no option {}", word));
    fail_unknown_command(word);
  }
  Command& command = *find_command(chosen.front()->get_name());
  for (const auto& extras : {chosen.front()->remaining(), parser.remaining()})
    if (!extras.empty()) fail_unexpected(command, extras.front());
  return checked_call(command, given[command.name], arguments[command.name]);
}

}  // namespace drover::app
