// What one method or question has to tell besides the common figures: names with values, in order.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace drover {

class Details;

/// A number, a word, a list or details again; empty when it was not set.
class Detail {
 public:
  using Variant = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>,
                               std::vector<std::string>, std::shared_ptr<const Details>>;

  Detail() = default;
  Detail(bool value) : value_(value) {}
  template <std::integral Number>
  Detail(Number value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point Number>
  Detail(Number value) : value_(static_cast<double>(value)) {}
  Detail(const char* value) : value_(std::string(value)) {}
  Detail(std::string_view value) : value_(std::string(value)) {}
  Detail(std::string value) : value_(std::move(value)) {}
  Detail(std::vector<double> value) : value_(std::move(value)) {}
  Detail(std::vector<std::string> value) : value_(std::move(value)) {}
  Detail(Details value);

  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

class Details {
 public:
  using Entry = std::pair<std::string, Detail>;

  Details() = default;
  Details(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// The detail of this name, added at the end when there is none.
  Detail& operator[](std::string_view name);
  /// Null when there is none.
  const Detail* find(std::string_view name) const;
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace drover
