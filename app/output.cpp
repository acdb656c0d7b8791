#include "app/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/core/version.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover::app {

namespace {

void append_number(std::string& text, double number) {
  if (std::isfinite(number))
    fmt::format_to(std::back_inserter(text), "{}", number);
  else
    text += "null";
}

// Columns are aligned by characters, not bytes.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void JsonObject::add(std::string key, const nlohmann::ordered_json& value) {
  members_.emplace_back(std::move(key), json_text(value));
}

std::string JsonObject::text() const {
  std::string text = "{";
  for (std::size_t m = 0; m < members_.size(); ++m)
    text += fmt::format("{}{}: {}", m > 0 ? ",\n " : "\n ", nlohmann::json(members_[m].first).dump(),
                        members_[m].second);
  return text + "\n}\n";
}

JsonObject json_envelope(const Invocation& invocation, const std::vector<std::string>& warnings,
                         const std::string& chosen_because) {
  JsonObject object;
  object.add("command", invocation.command);
  object.add("version", version());
  object.add("model", invocation.arguments.empty() ? "" : invocation.arguments.front());
  object.add("seed", invocation.settings.seed);
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const OptionSpec& option : option_table()) {
    if (!takes_option(invocation.command, option) || option.name == "config" || option.name == "json")
      continue;
    if (const auto* flag = std::get_if<bool Settings::*>(&option.field))
      settings[std::string(option.name)] = invocation.settings.**flag;
    else if (const auto* whole = std::get_if<std::int64_t Settings::*>(&option.field))
      settings[std::string(option.name)] = invocation.settings.**whole;
    else if (const auto* real = std::get_if<double Settings::*>(&option.field))
      settings[std::string(option.name)] = invocation.settings.**real;
    else
      settings[std::string(option.name)] = option_text(invocation.settings, option);
  }
  object.add("settings", settings);
  object.add("warnings", warnings);
  if (!chosen_because.empty()) object.add("chosen_because", chosen_because);
  return object;
}

std::string json_array(std::span<const double> numbers) {
  std::string text = "[";
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k > 0) text += ',';
    append_number(text, numbers[k]);
  }
  return text + "]";
}

std::string json_array(std::span<const Value> numbers) {
  std::string text = "[";
  for (std::size_t k = 0; k < numbers.size(); ++k)
    fmt::format_to(std::back_inserter(text), "{}{}", k > 0 ? "," : "", numbers[k]);
  return text + "]";
}

std::string json_nested(const std::vector<std::vector<double>>& rows) {
  std::string text = "[";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += r > 0 ? ",[" : "[";
    for (std::size_t k = 0; k < rows[r].size(); ++k) {
      if (k > 0) text += ',';
      append_number(text, rows[r][k]);
    }
    text += ']';
  }
  return text + "]";
}

nlohmann::ordered_json to_json(const Diagnostics& diagnostics) {
  return {{"rhat_max", diagnostics.rhat_max},
          {"ess_min", diagnostics.ess_min},
          {"mcse_max", diagnostics.mcse_max}};
}

void TextTable::print() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t c = 0; c < cells.size(); ++c) widths[c] = std::max(widths[c], display_width(cells[c]));
  std::string text;
  for (const auto& cells : rows_) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text += cells[c];
      if (c + 1 < cells.size()) text.append(widths[c] - display_width(cells[c]) + 2, ' ');
    }
    text += '\n';
  }
  print_text(text);
}

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

bool is_standard_output(std::string_view path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1";
}

void check_one_document(const Settings& settings, std::initializer_list<std::string_view> files) {
  const auto documents =
      std::count_if(files.begin(), files.end(), is_standard_output) + (settings.json ? 1 : 0);
  if (documents > 1)
    throw Error(ErrorKind::usage,
                "two documents would go to the standard output: give a file name, or leave --json out");
}

void check_outputs(const Settings& settings, std::initializer_list<std::string_view> extensions) {
  if (!settings.out.empty()) {
    const bool known = std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
      return ends_with(settings.out, extension);
    });
    if (!known) {
      std::string list;
      for (std::string_view extension : extensions)
        list += (list.empty() ? "" : ", ") + std::string(extension);
      throw Error(ErrorKind::usage,
                  fmt::format("--out {}: expected a file name that ends in {}", settings.out, list));
    }
  }
  check_one_document(settings, {settings.out, settings.report});
  std::vector<std::pair<std::string_view, std::filesystem::path>> seen;
  for (const auto& [option, path] : {std::pair<std::string_view, const std::string*>{"--out", &settings.out},
                                     {"--report", &settings.report},
                                     {"--checkpoint", &settings.checkpoint}}) {
    if (path->empty() || is_standard_output(*path)) continue;
    std::error_code code;
    const std::filesystem::path place = std::filesystem::weakly_canonical(*path, code);
    for (const auto& [other, taken] : seen)
      if (taken == place)
        throw Error(ErrorKind::usage, fmt::format("{} and {} name the same file {}", other, option, *path));
    seen.emplace_back(option, place);
    // A pipe or device is opened once, to be written: whoever reads it would take a trial for the end.
    const auto status = std::filesystem::status(*path, code);
    if (std::filesystem::exists(status) && std::filesystem::is_other(status)) continue;
    AtomicFile probe(*path);
  }
}

void print_text(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error(ErrorKind::cannot_write, "standard output cannot be written");
}

void print_json(const JsonObject& object) {
  print_text(object.text());
}

void print_warnings(const Settings& settings, const std::vector<std::string>& warnings) {
  if (settings.quiet) return;
  for (const std::string& warning : warnings) fmt::print(stderr, "drover: warning: {}\n", warning);
}

}  // namespace drover::app
