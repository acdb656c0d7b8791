// Numbers as text, short and lossless.
//
// A model holds logarithms, most files hold plain values. LogText finds the shortest decimal text whose
// std::log, after reading, is the identical logarithm: log 0.1 is written "0.1", not
// "0.10000000000000002". A logarithm that is not the logarithm of any double (most of those between -0.7 and
// 0.7 that did not come from a file) is written as the nearest double, which is off by at most 1.2e-16 in
// the logarithm; reading and writing that again changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace drover {

/// The shortest text that reads back as the same double.
class NumberText {
 public:
  explicit NumberText(double value);
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 32> text_;
  std::uint8_t size_ = 0;
};

/// Text of exp(logarithm). Recent answers are kept, because tables repeat their entries.
class LogText {
 public:
  LogText() : slots_(slot_count) {}

  /// Empty when exp(logarithm) is beyond the range of double. The text is valid until the next call.
  std::string_view operator()(double logarithm);

 private:
  static constexpr std::size_t slot_count = 1024;
  struct Slot {
    std::uint64_t key = 0;
    bool used = false;
    std::uint8_t size = 0;
    std::array<char, 30> text{};
  };
  std::vector<Slot> slots_;
};

/// A constant as logarithms that exp() can hold and whose sum, added in order, is the constant again; none
/// for 0.
std::vector<double> split_constant(double log_constant);

}  // namespace drover
