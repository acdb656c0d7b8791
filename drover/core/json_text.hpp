// JSON as text that is always valid: bytes in strings that are not UTF-8 become U+FFFD.
#pragma once

#include <string>

namespace drover {

/// Of any type of nlohmann's.
template <class Json>
std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace drover
