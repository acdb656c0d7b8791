// The page of a diagnosis (drover/task/diagnose.hpp).
#pragma once

#include <string>

#include "drover/task/diagnose.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const DiagnoseResult& result, const std::string& json);

}  // namespace drover
