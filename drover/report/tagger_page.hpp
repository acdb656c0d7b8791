// The page of a tagger's training (drover/task/tag.hpp).
#pragma once

#include <string>

#include "drover/task/tag.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const Tagger& tagger, const std::string& json);

}  // namespace drover
