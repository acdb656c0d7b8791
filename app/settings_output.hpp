// JSON and small helps for the commands of app/settings.hpp, which build their results with nlohmann-json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/output.hpp"
#include "app/settings.hpp"
#include "drover/core/json_text.hpp"
#include "drover/core/version.hpp"

namespace drover::app {

/// Members keep their order.
class SettingsObject {
 public:
  void add(std::string key, const nlohmann::ordered_json& value) { object_.add_raw(key, json_text(value)); }
  void add_raw(const std::string& key, std::string json) { object_.add_raw(key, std::move(json)); }
  std::string text() const { return object_.text(); }

 private:
  JsonObject object_;
};

/// The members every result has.
inline SettingsObject json_envelope(const Invocation& invocation, const std::vector<std::string>& warnings,
                                    const std::string& chosen_because = "") {
  SettingsObject object;
  object.add("command", invocation.command);
  object.add("version", version());
  object.add("model", invocation.arguments.empty() ? "" : invocation.arguments.front());
  object.add("seed", invocation.settings.seed);
  Settings settings = invocation.settings;
  OptionList list;
  describe(list, settings, invocation.command);
  Details values;
  for (const Option& option : list.options())
    if (option.name != "config" && option.name != "json") values[option.name] = option.value();
  object.add_raw("settings", json_text(values));
  object.add("warnings", warnings);
  if (!chosen_because.empty()) object.add("chosen_because", chosen_because);
  return object;
}

inline void print_json(const SettingsObject& object) {
  print_text(object.text());
}

inline bool ends_with(std::string_view text, std::string_view ending) {
  return text.ends_with(ending);
}

/// "grid.uai" of "/data/grid.uai".
inline std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

inline nlohmann::ordered_json to_json(const Diagnostics& diagnostics) {
  return {{"rhat_max", diagnostics.rhat_max},
          {"ess_min", diagnostics.ess_min},
          {"mcse_max", diagnostics.mcse_max}};
}

inline std::string json_nested(const std::vector<std::vector<double>>& rows) {
  std::vector<std::string> texts;
  for (const auto& row : rows) texts.push_back(json_array(row));
  return json_list(texts);
}

}  // namespace drover::app
