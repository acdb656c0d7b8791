// Sums that do not depend on their order: every term is rounded once, to a multiple of 2^-64, and what is
// added are whole numbers. So any number of threads and ranks gives the same bits.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace drover {

class WholeSum {
 public:
  /// Terms that are not finite, or beyond 2^60, make the sum not a number.
  void add(double term) {
    const bool fits = std::abs(term) < 0x1p60;  // false for NaN
    broken_ |= !fits;
    if (fits) sum_ += static_cast<Whole>(term * 0x1p64);
  }
  void add(const WholeSum& other) {
    sum_ += other.sum_;
    broken_ |= other.broken_;
  }
  double value() const {
    return broken_ ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(sum_) * 0x1p-64;
  }

  /// For adding up over ranks: parts of 32 bits, which may be summed up to 2^32 times before they are put
  /// together.
  using Parts = std::array<std::uint64_t, 5>;
  Parts parts() const {
    const auto bits = static_cast<WholeBits>(sum_);
    Parts parts{};
    for (std::size_t k = 0; k < 4; ++k) parts[k] = static_cast<std::uint32_t>(bits >> 32 * k);
    parts[4] = broken_ ? 1 : 0;
    return parts;
  }
  static WholeSum of(const Parts& parts) {
    WholeSum result;
    WholeBits bits = 0;
    for (std::size_t k = 0; k < 4; ++k) bits += static_cast<WholeBits>(parts[k]) << 32 * k;
    result.sum_ = static_cast<Whole>(bits);
    result.broken_ = parts[4] != 0;
    return result;
  }

 private:
  __extension__ using Whole = __int128;
  __extension__ using WholeBits = unsigned __int128;
  Whole sum_ = 0;
  bool broken_ = false;
};

}  // namespace drover
