// The files of the live page, which the library carries inside it.
#pragma once

#include <span>
#include <string_view>

namespace drover {

struct LiveAsset {
  std::string_view path, type;
  std::string_view (*bytes)();
};

std::span<const LiveAsset> live_assets();
/// models/sprinkler.bif.
std::string_view live_example_text();

}  // namespace drover
