// "1 variable", "2 variables".
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace drover {

template <class Count>
std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == Count{1} ? "" : "s");
}

}  // namespace drover
