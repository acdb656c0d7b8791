// Two sets of samples compared (drover/task/compare.hpp) as a report page.
#pragma once

#include <string>

#include "drover/task/compare.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const CompareResult& result, const std::string& json);

}  // namespace drover
