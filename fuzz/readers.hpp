// What every fuzz target does: read from memory, and accept an Error as an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/io/model_file.hpp"

namespace drover::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Small chunks, so that tokens cross their borders often.
inline constexpr std::size_t chunk = 256;

/// That the data are bad is an answer.
template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
  }
}

}  // namespace drover::fuzz
