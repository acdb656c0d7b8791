#include "drover/io/unpack_limit.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

bool is_out_of_proportion(std::uint64_t packed, std::uint64_t unpacked, const UnpackLimit& limit) {
  return unpacked > limit.always_allowed && unpacked / limit.largest_ratio > packed;
}

void check_unpacked(const std::string& file, std::uint64_t packed, std::uint64_t unpacked,
                    const UnpackLimit& limit) {
  if (!is_out_of_proportion(packed, unpacked, limit)) return;
  fail_at(
      {file},
      fmt::format("the compressed file grows out of proportion: {:.3g} MB of it make {:.4g} MB or more, and "
                  "beyond {} MB no more than {} times is accepted; unpack it first if that is meant",
                  static_cast<double>(packed) / 1e6, static_cast<double>(unpacked) / 1e6,
                  limit.always_allowed >> 20, limit.largest_ratio));
}

void fail_damaged(const std::string& file, std::string_view message) {
  // zlib names the file as it knows it, by the number it was opened with: "<fd:3>: unexpected end of file".
  if (const auto end = message.find(">: "); message.starts_with("<fd:") && end != message.npos)
    message.remove_prefix(end + 3);
  fail_at({file}, fmt::format("the gzip file is damaged or cut off ({})", message));
}

}  // namespace drover
