#include "drover/io/number_text.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "drover/core/types.hpp"

namespace drover {

NumberText::NumberText(double value) {
  const auto result = std::to_chars(text_.data(), text_.data() + text_.size(), value);
  size_ = static_cast<std::uint8_t>(result.ptr - text_.data());
}

namespace {

using Buffer = std::array<char, 30>;

// A positive double as decimal digits: value = d.ddd * 10^exponent.
struct Decimal {
  std::array<char, 20> digits{};
  int count = 0;
  int exponent = 0;

  explicit Decimal(double value) {
    std::array<char, 32> text{};
    const char* end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
    const char* at = text.data();
    for (; *at != 'e'; ++at)
      if (*at != '.') digits[static_cast<std::size_t>(count++)] = *at;
    at += at[1] == '+' ? 2 : 1;
    std::from_chars(at, end, exponent);
  }

  // The same number with at most `most` digits, half up, without trailing zeros.
  Decimal rounded(int most) const {
    Decimal result = *this;
    if (count <= most) return result;
    result.count = most;
    if (digits[static_cast<std::size_t>(most)] >= '5') {
      int k = most - 1;
      while (k >= 0 && result.digits[static_cast<std::size_t>(k)] == '9') --k;
      if (k < 0) {
        result.digits[0] = '1';
        result.count = 1;
        ++result.exponent;
        return result;
      }
      ++result.digits[static_cast<std::size_t>(k)];
      result.count = k + 1;
    }
    while (result.count > 1 && result.digits[static_cast<std::size_t>(result.count - 1)] == '0')
      --result.count;
    return result;
  }

  std::uint8_t write(Buffer& text) const {
    char* out = text.data();
    const char* begin = digits.data();
    const char* end = begin + count;
    if (exponent < -4 || exponent > 15) {
      *out++ = *begin++;
      if (begin < end) *out++ = '.';
      out = std::copy(begin, end, out);
      *out++ = 'e';
      *out++ = exponent < 0 ? '-' : '+';
      const int size = std::abs(exponent);
      if (size < 10) *out++ = '0';
      out = std::to_chars(out, text.data() + text.size(), size).ptr;
    } else if (exponent < 0) {
      *out++ = '0';
      *out++ = '.';
      out = std::fill_n(out, -exponent - 1, '0');
      out = std::copy(begin, end, out);
    } else {
      const int whole = std::min(count, exponent + 1);
      out = std::copy(begin, begin + whole, out);
      out = std::fill_n(out, exponent + 1 - whole, '0');
      if (whole < count) *out++ = '.';
      out = std::copy(begin + whole, end, out);
    }
    return static_cast<std::uint8_t>(out - text.data());
  }
};

bool reads_back(const Buffer& text, std::uint8_t size, double logarithm) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + size, value);
  return result.ec == std::errc() && std::log(value) == logarithm;
}

// The double nearest to exp(logarithm) that has exactly this logarithm; false when none has.
bool find_exact(double& value, double logarithm) {
  double below = value;
  double above = value;
  for (int step = 0; step < 4; ++step) {
    for (double candidate : {below, above})
      if (std::log(candidate) == logarithm) {
        value = candidate;
        return true;
      }
    below = std::nextafter(below, 0.0);
    above = std::nextafter(above, std::numeric_limits<double>::infinity());
  }
  return false;
}

// Returns the length, 0 when the value is out of range.
std::uint8_t find_text(Buffer& text, double logarithm) {
  if (logarithm == log_zero) {
    text[0] = '0';
    return 1;
  }
  double value = std::exp(logarithm);
  if (!std::isfinite(value) || value < std::numeric_limits<double>::min()) return 0;
  const bool exact = find_exact(value, logarithm);
  const Decimal decimal(value);
  // Many doubles share a large logarithm, so few digits may do; fifteen catch what a person wrote.
  if (exact && decimal.count > 12)
    for (int digits : {12, 15, 16}) {
      const std::uint8_t size = decimal.rounded(digits).write(text);
      if (reads_back(text, size, logarithm)) return size;
    }
  return decimal.write(text);
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
