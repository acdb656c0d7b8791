#include "app/command_line.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

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

[[noreturn]] void fail_unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandSpec& command : command_table()) names.emplace_back(command.name);
  throw Error(ErrorKind::usage, fmt::format("unknown command '{}'{} (drover --help lists the commands)", word,
                                            suggestion(word, names)));
}

[[noreturn]] void fail_unexpected(const std::string& command, const std::string& word) {
  if (word.rfind("-", 0) != 0)
    throw Error(ErrorKind::usage, fmt::format("unexpected argument '{}' after drover {}", word, command));
  std::vector<std::string> names = {"--help"};
  for (const OptionSpec& option : option_table())
    if (takes_option(command, option)) names.push_back("--" + std::string(option.name));
  const std::string bare = word.substr(0, word.find('='));
  throw Error(ErrorKind::usage,
              fmt::format("drover {} has no option {}{}", command, bare, suggestion(bare, names)));
}

// What the user wrote, before it is checked: option name -> text.
using Given = std::map<std::string, std::string, std::less<>>;

void add_options(CLI::App& sub, const CommandSpec& command, Given& given,
                 std::vector<std::string>& arguments) {
  const bool last_repeated = !command.arguments.empty() && command.arguments.back().repeated;
  arguments.assign(command.arguments.size() - (last_repeated ? 1 : 0), "");
  for (std::size_t a = 0; a < command.arguments.size(); ++a) {
    const ArgumentSpec& argument = command.arguments[a];
    CLI::Option* added = nullptr;
    if (argument.repeated)  // takes the place of the last one and of all that follow
      added = sub.add_option_function<std::vector<std::string>>(
          std::string(argument.name),
          [&arguments, a](const std::vector<std::string>& words) {
            arguments.resize(a);
            arguments.insert(arguments.end(), words.begin(), words.end());
          },
          std::string(argument.help));
    else
      added = sub.add_option(std::string(argument.name), arguments[a], std::string(argument.help));
    added->required(!argument.optional);
  }
  const Settings defaults;
  for (const OptionSpec& option : option_table()) {
    if (!takes_option(command.name, option)) continue;
    const std::string name(option.name);
    if (option.value_name.empty()) {
      sub.add_flag_callback(
          "--" + name, [&given, name] { given[name] = "true"; }, std::string(option.help));
    } else {
      auto* added = sub.add_option_function<std::string>(
          "--" + name, [&given, name](const std::string& text) { given[name] = text; },
          std::string(option.help));
      const std::string fallback = option_text(defaults, option);
      added->type_name(std::string(option.value_name) + (fallback.empty() ? "" : " [" + fallback + "]"));
    }
  }
}

// The options in a config file: a TOML file of `name = value`, or the "settings" of an earlier JSON result.
// Of a result, what `command` does not take is left out, and so are the outputs of another command.
Given read_config(const std::string& path, const std::string& command) {
  Given values;
  if (path.size() > 5 && path.substr(path.size() - 5) == ".json") {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read", path));
    nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
    std::fclose(file);
    if (!result.is_object() || !result.contains("settings") || !result["settings"].is_object())
      fail_at({path}, "expected a JSON result with a \"settings\" object");
    for (const auto& [name, value] : result["settings"].items()) {
      const OptionSpec* option = find_option(name);
      if (option != nullptr && !takes_option(command, *option)) continue;
      if (result.value("command", command) != command && has_word("out report checkpoint resume", name))
        continue;
      values[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    return values;
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read", path));
  std::fclose(file);
  try {
    const toml::table table = toml::parse_file(path);
    for (const auto& [key, node] : table) {
      const Place place{path, node.source().begin.line, node.source().begin.column};
      const std::string name(key.str());
      if (const auto* text = node.as_string())
        values[name] = text->get();
      else if (const auto* whole = node.as_integer())
        values[name] = std::to_string(whole->get());
      else if (const auto* real = node.as_floating_point())
        values[name] = fmt::format("{}", real->get());
      else if (const auto* flag = node.as_boolean())
        values[name] = flag->get() ? "true" : "false";
      else
        fail_at(place, fmt::format("option {}: expected a string, a number or true/false", name));
    }
  } catch (const toml::parse_error& error) {
    fail_at({path, error.source().begin.line, error.source().begin.column}, std::string(error.description()));
  }
  return values;
}

void apply_options(Invocation& invocation, const Given& values) {
  for (const auto& [name, text] : values) {
    const OptionSpec* option = find_option(name);
    if (option == nullptr || !takes_option(invocation.command, *option))
      fail_unexpected(invocation.command, "--" + name);
    set_option(invocation.settings, *option, text);
    invocation.given.push_back(name);
  }
}

}  // namespace

bool Invocation::was_given(std::string_view option) const {
  return std::find(given.begin(), given.end(), option) != given.end();
}

Invocation parse_command_line(int argc, char** argv) {
  CLI::App parser("drover samples from and infers in discrete graphical models.", "drover");
  parser.set_version_flag("--version", std::string("drover ") + version());
  parser.require_subcommand(0, 1);
  parser.footer("drover COMMAND --help describes a command.");
  std::map<std::string, Given> given;
  std::map<std::string, std::vector<std::string>> arguments;
  for (const CommandSpec& command : command_table()) {
    const std::string name(command.name);
    CLI::App* sub = parser.add_subcommand(name, std::string(command.summary));
    sub->footer("Example:\n  " + std::string(command.example));
    add_options(*sub, command, given[name], arguments[name]);
    sub->allow_extras();
  }
  parser.allow_extras();

  Invocation invocation;
  try {
    parser.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    parser.exit(help);
    return invocation;
  } catch (const CLI::CallForVersion& wanted) {
    parser.exit(wanted);
    return invocation;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    throw Error(ErrorKind::usage, message);
  }
  const auto chosen = parser.get_subcommands();
  if (chosen.empty()) {
    if (!parser.remaining().empty()) {
      const std::string word = parser.remaining().front();
      if (word.rfind("-", 0) == 0)
        throw Error(ErrorKind::usage, fmt::format("drover has no option {}", word));
      fail_unknown_command(word);
    }
    throw Error(ErrorKind::usage, "expected a command (drover --help lists them)");
  }
  invocation.command = chosen.front()->get_name();
  for (const auto& extras : {chosen.front()->remaining(), parser.remaining()})
    if (!extras.empty()) fail_unexpected(invocation.command, extras.front());
  invocation.arguments = arguments[invocation.command];
  const Given& typed = given[invocation.command];
  if (const auto config = typed.find("config"); config != typed.end())
    apply_options(invocation, read_config(config->second, invocation.command));
  apply_options(invocation, typed);
  return invocation;
}

}  // namespace drover::app
