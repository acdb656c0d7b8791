// A file as one string: for formats whose parts point at one another, or that are checked as a whole. Text
// that can be read from front to back goes through TextSource, which holds one chunk at a time.
#pragma once

#include <cstddef>
#include <string>

#include "drover/core/run_control.hpp"

namespace drover {

/// All bytes of a file, decompressed when it is gzip. Raises cannot_read, bad_data when it is damaged,
/// stopped when the control ends the run first.
std::string read_whole_file(const std::string& path, const RunControl& control = no_control());

/// Its first bytes, at most `count`.
std::string first_bytes(const std::string& path, std::size_t count);

}  // namespace drover
