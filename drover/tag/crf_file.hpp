// A trained tagger in a file (.drv, kind "crf"; model_archive.hpp).
#pragma once

#include <string>

#include "drover/io/model_archive.hpp"
#include "drover/tag/crf.hpp"

namespace drover {

void write_crf(const std::string& path, const Crf& crf, const nlohmann::ordered_json& notes);
/// Raises cannot_read or bad_data.
Crf read_crf(const std::string& path, const RunControl& control = no_control());

ModelArchive crf_archive(const Crf& crf, const nlohmann::ordered_json& notes);
Crf crf_from_archive(const ModelArchive& archive);

}  // namespace drover
