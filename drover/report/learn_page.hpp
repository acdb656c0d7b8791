// The page of learning (drover/task/learn.hpp).
#pragma once

#include <optional>
#include <string>

#include "drover/task/learn.hpp"

namespace drover {

/// Rows are shown as images when their number of variables is a square, or of `image_width`. `json` is the
/// result's to_json, which the page offers for download.
std::string page_of(const LearnResult& result, const std::string& json,
                    std::optional<std::uint32_t> image_width = {});

}  // namespace drover
