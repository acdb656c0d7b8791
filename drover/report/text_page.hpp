// The page of a text result.
#pragma once

#include <string>

#include "drover/task/text.hpp"

namespace drover {

/// `json` is the result as the page offers it to download.
std::string page_of(const TextResult& result, const std::string& json);

}  // namespace drover
