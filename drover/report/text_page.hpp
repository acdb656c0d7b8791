// The pages of text results.
#pragma once

#include <string>

#include "drover/task/text.hpp"

namespace drover {

/// `json` is the result as the page offers it to download.
std::string page_of(const TextResult& result, const std::string& json);
std::string page_of(const TextLabels& result, const std::string& json);

}  // namespace drover
