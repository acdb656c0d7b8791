// JSON as text, written in order: large arrays cost one pass, numbers round-trip, what is not a number is
// null, and bytes that are not UTF-8 become U+FFFD. Reading JSON is another matter (nlohmann-json, in io).
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/core/details.hpp"
#include "drover/core/types.hpp"

namespace drover {

std::string json_string(std::string_view text);
std::string json_number(double number);
std::string json_array(std::span<const double> numbers);
/// The same behind a text.
void append_json_array(std::string& text, std::span<const double> numbers);
std::string json_array(std::span<const Value> numbers);
std::string json_array(std::span<const std::uint32_t> numbers);
std::string json_array(std::span<const std::string> words);
/// Texts that are JSON already.
std::string json_list(std::span<const std::string> documents);
std::string json_text(const Detail& detail);
std::string json_text(const Details& details);

/// An object, a member a line.
class JsonObject {
 public:
  void add(std::string_view key, bool value) { add_raw(key, value ? "true" : "false"); }
  template <std::integral Number>
  void add(std::string_view key, Number value) {
    add_raw(key, std::to_string(value));
  }
  void add(std::string_view key, double value) { add_raw(key, json_number(value)); }
  void add(std::string_view key, const char* value) { add_raw(key, json_string(value)); }
  void add(std::string_view key, std::string_view value) { add_raw(key, json_string(value)); }
  void add(std::string_view key, const std::string& value) { add_raw(key, json_string(value)); }
  void add(std::string_view key, const std::vector<double>& numbers) { add_raw(key, json_array(numbers)); }
  void add(std::string_view key, const std::vector<Value>& numbers) { add_raw(key, json_array(numbers)); }
  void add(std::string_view key, const std::vector<std::uint32_t>& numbers) {
    add_raw(key, json_array(numbers));
  }
  void add(std::string_view key, const std::vector<std::string>& words) { add_raw(key, json_array(words)); }
  void add(std::string_view key, const Details& details) { add_raw(key, json_text(details)); }
  void add(std::string_view key, const JsonObject& object) { add_raw(key, object.line()); }
  /// `json` is a JSON text.
  void add_raw(std::string_view key, std::string json);
  bool empty() const { return members_.empty(); }
  /// A member a line, and a line end.
  std::string text() const;
  /// All in one line.
  std::string line() const;

 private:
  std::string joined(std::string_view begin, std::string_view between, std::string_view end) const;
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace drover
