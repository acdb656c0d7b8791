#include "app/config_file.hpp"

#include <fmt/format.h>

// In builds with assertions toml++ would end the program at what it otherwise reports as an error.
#ifndef TOML_ASSERT
#define TOML_ASSERT(condition) static_cast<void>(0)
#endif
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/io/text_source.hpp"
#include "drover/io/whole_file.hpp"

namespace drover::app {

namespace {

Given settings_in(const std::string& text, const std::string& path,
                  const std::function<bool(std::string_view)>& takes) {
  const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  if (!result.is_object() || !result.contains("settings") || !result["settings"].is_object())
    fail_at({path}, "expected a JSON result with a \"settings\" object");
  Given values;
  for (const auto& [name, value] : result["settings"].items())
    if (takes(name)) values[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return values;
}

void add(const std::string& path, std::string_view key, const toml::node& node, Given& values) {
  const std::string name(key);
  if (const auto* text = node.as_string())
    values[name] = text->get();
  else if (const auto* whole = node.as_integer())
    values[name] = std::to_string(whole->get());
  else if (const auto* real = node.as_floating_point())
    values[name] = fmt::format("{}", real->get());
  else if (const auto* flag = node.as_boolean())
    values[name] = flag->get() ? "true" : "false";
  else
    fail_at({path, node.source().begin.line, node.source().begin.column},
            fmt::format("option {}: expected a string, a number or true/false", name));
}

/// Whether a quote here begins no string, and what follows would be read as more of a word. Brackets may stand between.
bool is_within_a_word(std::string_view text, std::size_t quote) {
  const std::size_t before = text.substr(0, quote).find_last_not_of("[{");
  return before != std::string_view::npos &&
         std::string_view(" \t\r\n=,.\"'").find(text[before]) == std::string_view::npos;
}

/// Raises bad_data for characters beyond ASCII that stand neither in a string nor in a comment, where TOML has no
/// use for them: toml++ 3.3 leaves its defined behaviour at some of them.
void refuse_stray_characters(const std::string& text, const std::string& path) {
  std::size_t line = 1, column = 0;
  std::string_view end;  // of the string or comment that one is in; empty: in none
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = std::string_view(text).substr(at);
    ++column;
    if (text[at] == '\n') {
      ++line;
      column = 0;
      if (end.size() == 1) end = {};
      continue;
    }
    if (end.empty()) {
      if (static_cast<unsigned char>(text[at]) >= 0x80)
        fail_at({path, line, column}, "characters beyond ASCII stand in quotes or in comments only");
      for (const std::string_view mark : {"\"\"\"", "'''", "\"", "'", "#"})
        if (rest.starts_with(mark)) {
          if (mark != "#" && is_within_a_word(text, at))
            fail_at({path, line, column}, "expected a separator before the quote");
          end = mark;
          at += mark.size() - 1;
          column += mark.size() - 1;
          break;
        }
    } else if (end[0] == '"' && text[at] == '\\') {
      ++at;
      ++column;
    } else if (end[0] != '#' && rest.starts_with(end)) {
      at += end.size() - 1;
      column += end.size() - 1;
      end = {};
    }
  }
}

}  // namespace

Given config_in(const std::string& text, const std::string& path, const std::string& command,
                std::span<const std::string> commands, const std::function<bool(std::string_view)>& takes) {
  if (path.ends_with(".json")) return settings_in(text, path, takes);
  refuse_stray_characters(text, path);
  Given values;
  try {
    const toml::table table = toml::parse(text, path);
    for (const auto& [key, node] : table) {
      if (!node.is_table()) {
        add(path, key.str(), node, values);
      } else if (std::ranges::find(commands, key.str()) == commands.end()) {
        const auto place = node.source().begin;
        fail_at({path, place.line, place.column},
                fmt::format("unknown section [{}]: expected the name of a command", printable(key.str())));
      }
    }
    // A section is for one command and stands above what is for all.
    if (const toml::table* section = table[command].as_table())
      for (const auto& [key, node] : *section) add(path, key.str(), node, values);
  } catch (const toml::parse_error& error) {
    fail_at({path, error.source().begin.line, error.source().begin.column}, std::string(error.description()));
  }
  return values;
}

Given read_config(const std::string& path, const std::string& command, std::span<const std::string> commands,
                  const std::function<bool(std::string_view)>& takes) {
  return config_in(read_whole_file(path), path, command, commands, takes);
}

}  // namespace drover::app
