// The page of herding (drover/task/herd.hpp).
#pragma once

#include <string>

#include "drover/task/herd.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const HerdResult& result, const std::string& json);

}  // namespace drover
