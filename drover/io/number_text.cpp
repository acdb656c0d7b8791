#include "drover/io/number_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "drover/core/types.hpp"

namespace drover {

NumberText::NumberText(double value) {
  const auto result = std::to_chars(text_.data(), text_.data() + text_.size(), value);
  size_ = static_cast<std::uint8_t>(result.ptr - text_.data());
}

namespace {

using Buffer = std::array<char, 30>;

bool reads_back(const Buffer& text, std::uint8_t size, double logarithm) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + size, value);
  return result.ec == std::errc() && std::log(value) == logarithm;
}

std::uint8_t put(Buffer& text, double value, int digits) {
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  return static_cast<std::uint8_t>(result.ptr - text.data());
}

std::uint8_t put_shortest(Buffer& text, double value) {
  return static_cast<std::uint8_t>(std::to_chars(text.data(), text.data() + text.size(), value).ptr -
                                   text.data());
}

// Returns the length, 0 when the value is out of range.
std::uint8_t find_text(Buffer& text, double logarithm) {
  if (logarithm == log_zero) return put_shortest(text, 0.0);
  const double value = std::exp(logarithm);
  if (!std::isfinite(value) || value < std::numeric_limits<double>::min()) return 0;
  for (int digits : {12, 15, 16}) {
    const std::uint8_t size = put(text, value, digits);
    if (reads_back(text, size, logarithm)) return size;
  }
  double below = value;
  double above = value;
  for (int step = 0; step < 4; ++step) {
    for (double candidate : {below, above}) {
      const std::uint8_t size = put_shortest(text, candidate);
      if (reads_back(text, size, logarithm)) return size;
    }
    below = std::nextafter(below, 0.0);
    above = std::nextafter(above, std::numeric_limits<double>::infinity());
  }
  return put_shortest(text, value);
}

}  // namespace

std::vector<double> split_constant(double log_constant) {
  std::vector<double> parts;
  double sum = 0;
  while (std::abs(log_constant - sum) > 700) {
    parts.push_back(std::log(log_constant > sum ? 1e300 : 1e-300));
    sum += parts.back();
  }
  if (log_constant != 0) parts.push_back(log_constant - sum);
  return parts;
}

std::string_view LogText::operator()(double logarithm) {
  const auto key = std::bit_cast<std::uint64_t>(logarithm);
  Slot& slot = slots_[(key * 0x9e3779b97f4a7c15U) >> 54];
  if (!slot.used || slot.key != key) {
    slot.size = find_text(slot.text, logarithm);
    slot.key = key;
    slot.used = true;
  }
  return {slot.text.data(), slot.size};
}

}  // namespace drover
