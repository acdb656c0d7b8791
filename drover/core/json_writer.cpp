#include "drover/core/json_writer.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace drover {

namespace {

// The length of the UTF-8 character that begins at `at`, or 0 when none does.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[at + k]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(k) & 0xC0U) != 0x80) return 0;
  const unsigned second = byte(1);  // too long a form, a surrogate, or beyond U+10FFFF
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

void append_number(std::string& text, double number) {
  if (std::isfinite(number))
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), number);
  else
    text += "null";
}

template <class Items, class Append>
void append_list(std::string& text, const Items& items, Append append) {
  text += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += ',';
    first = false;
    append(text, item);
  }
  text += ']';
}

template <class Items, class Append>
std::string listed(const Items& items, Append append) {
  std::string text;
  append_list(text, items, append);
  return text;
}

template <class Number>
std::string whole_numbers(std::span<const Number> numbers) {
  return listed(numbers, [](std::string& text, Number number) {
    fmt::format_to(std::back_inserter(text), "{}", number);
  });
}

struct DetailText {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return json_number(value); }
  std::string operator()(const std::string& value) const { return json_string(value); }
  std::string operator()(const std::vector<double>& value) const { return json_array(value); }
  std::string operator()(const std::vector<std::string>& value) const { return json_array(value); }
  std::string operator()(const std::shared_ptr<const Details>& value) const { return json_text(*value); }
};

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = character_length(text, at);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (c == '\t') {
      json += "\\t";
    } else if (c == '\r') {
      json += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<unsigned>(c));
    } else if (length == 0) {
      json += "\xEF\xBF\xBD";
    } else {
      json += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return json + "\"";
}

std::string json_number(double number) {
  std::string text;
  append_number(text, number);
  return text;
}

std::string json_array(std::span<const double> numbers) {
  return listed(numbers, append_number);
}

void append_json_array(std::string& text, std::span<const double> numbers) {
  append_list(text, numbers, append_number);
}

std::string json_array(std::span<const Value> numbers) {
  return whole_numbers(numbers);
}

std::string json_array(std::span<const std::uint32_t> numbers) {
  return whole_numbers(numbers);
}

std::string json_array(std::span<const std::string> words) {
  return listed(words, [](std::string& text, const std::string& word) { text += json_string(word); });
}

std::string json_list(std::span<const std::string> documents) {
  return listed(documents, [](std::string& text, const std::string& document) { text += document; });
}

std::string json_text(const Detail& detail) {
  return std::visit(DetailText(), detail.value());
}

std::string json_text(const Details& details) {
  JsonObject object;
  for (const auto& [name, detail] : details.entries()) object.add_raw(name, json_text(detail));
  return object.line();
}

void JsonObject::add_raw(std::string_view key, std::string json) {
  members_.emplace_back(std::string(key), std::move(json));
}

std::string JsonObject::joined(std::string_view begin, std::string_view between, std::string_view end) const {
  std::string text(begin);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (m > 0) text += between;
    text += json_string(members_[m].first);
    text += ": ";
    text += members_[m].second;
  }
  text += end;
  return text;
}

std::string JsonObject::text() const {
  return joined("{\n ", ",\n ", "\n}\n");
}

std::string JsonObject::line() const {
  return joined("{", ", ", "}");
}

}  // namespace drover
