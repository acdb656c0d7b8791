// The page of a denoised image (drover/task/denoise.hpp).
#pragma once

#include <string>

#include "drover/task/denoise.hpp"

namespace drover {

/// `json` is the result's to_json, which the page offers for download.
std::string page_of(const Denoised& result, const std::string& json);

}  // namespace drover
