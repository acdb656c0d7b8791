// Compressed input that grows out of all proportion is refused before it fills memory or hours: a few
// megabytes of gzip can be gigabytes of nothing. Text that people keep shrinks 3 to 30 times; deflate reaches
// 1032.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover {

struct UnpackLimit {
  std::uint64_t always_allowed;  ///< bytes that are unpacked whatever they came from
  std::uint64_t largest_ratio;   ///< beyond that: unpacked to packed
};

inline constexpr UnpackLimit unpacked_text = {std::uint64_t{1} << 26, 200};
/// Draws of variables that hardly move shrink more than any text.
inline constexpr UnpackLimit unpacked_draws = {std::uint64_t{1} << 30, 500};

bool is_out_of_proportion(std::uint64_t packed, std::uint64_t unpacked,
                          const UnpackLimit& limit = unpacked_text);
/// Raises bad_data when `unpacked` bytes out of `packed` are beyond the limit.
void check_unpacked(const std::string& file, std::uint64_t packed, std::uint64_t unpacked,
                    const UnpackLimit& limit = unpacked_text);

/// Raises bad_data of a file that zlib cannot unpack, with what it says of it.
[[noreturn]] void fail_damaged(const std::string& file, std::string_view message);

}  // namespace drover
