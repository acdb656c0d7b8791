// How likely data are under a model (drover/task/score.hpp) as a report page.
#pragma once

#include <string>

#include "drover/task/score.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const ScoreResult& result, const std::string& json);

}  // namespace drover
