#include "app/config_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
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

}  // namespace

Given config_in(const std::string& text, const std::string& path, const std::string& command,
                const std::function<bool(std::string_view)>& takes) {
  if (path.ends_with(".json")) return settings_in(text, path, takes);
  Given values;
  try {
    const toml::table table = toml::parse(text, path);
    for (const auto& [key, node] : table)
      if (!node.is_table()) add(path, key.str(), node, values);
    // A section is for one command and stands above what is for all.
    if (const toml::table* section = table[command].as_table())
      for (const auto& [key, node] : *section) add(path, key.str(), node, values);
  } catch (const toml::parse_error& error) {
    fail_at({path, error.source().begin.line, error.source().begin.column}, std::string(error.description()));
  }
  return values;
}

Given read_config(const std::string& path, const std::string& command,
                  const std::function<bool(std::string_view)>& takes) {
  return config_in(read_whole_file(path), path, command, takes);
}

}  // namespace drover::app
