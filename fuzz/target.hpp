// A fuzz target is a function with a name. All of them are linked into one program, so that what they share is compiled,
// checked and linked once; under which name it is started (a link beside it) says which target is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

namespace drover::fuzz {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

inline std::map<std::string_view, Target>& targets() {
  static std::map<std::string_view, Target> by_name;
  return by_name;
}

}  // namespace drover::fuzz

/// FUZZ_TARGET(bif, data, size) { ... return 0; } makes the target that the link fuzz_bif starts.
#define FUZZ_TARGET(name, data, size)                                       \
  static int name##_target(const std::uint8_t*, std::size_t);               \
  [[maybe_unused]] static const bool name##_is_target =                     \
      drover::fuzz::targets().emplace("fuzz_" #name, name##_target).second; \
  static int name##_target(const std::uint8_t* data, std::size_t size)
