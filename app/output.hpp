// What a command prints: one JSON object, or tables for people.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "drover/run/result.hpp"

namespace drover::app {

/// A JSON object whose large arrays are formatted by hand: members keep their order, numbers round-trip.
class JsonObject {
 public:
  /// Bytes in strings that are not UTF-8 become U+FFFD.
  void add(std::string key, const nlohmann::ordered_json& value);
  void add_raw(std::string key, std::string json) { members_.emplace_back(std::move(key), std::move(json)); }
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

/// The members every result has: command, version, model, seed, the settings that made it, warnings,
/// chosen_because.
JsonObject json_envelope(const Invocation& invocation, const std::vector<std::string>& warnings,
                         const std::string& chosen_because = "");

/// NaN becomes null.
std::string json_array(std::span<const double> numbers);
std::string json_array(std::span<const Value> numbers);
std::string json_nested(const std::vector<std::vector<double>>& rows);
nlohmann::ordered_json to_json(const Diagnostics& diagnostics);

/// Prints to stdout with columns aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Whether a file of this name is the standard output.
bool is_standard_output(std::string_view path);
/// Raises usage when more than one document would go to the standard output: these files and --json.
void check_one_document(const Settings& settings, std::initializer_list<std::string_view> files);
/// Fails early, before hours of work: --out must end in one of `extensions`, and --out, --report and
/// --checkpoint must be writable and different files.
void check_outputs(const Settings& settings, std::initializer_list<std::string_view> extensions);
bool ends_with(std::string_view text, std::string_view ending);

void print_text(const std::string& text);
void print_json(const JsonObject& object);
/// Prints each as "drover: warning: ..." on stderr, unless quiet.
void print_warnings(const Settings& settings, const std::vector<std::string>& warnings);

}  // namespace drover::app
