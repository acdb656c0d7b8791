// Answers (drover/task) as report pages (drover/report/report.hpp). `json` is the answer's to_json, which the
// page offers for download.
#pragma once

#include <span>
#include <string>

#include "drover/task/inference.hpp"

namespace drover {

/// `query` picks variables to show; empty: all. A model that is a grid of spins is also shown as a picture.
std::string page_of(const Marginals& answer, const Model& model, const std::string& json,
                    std::span<const VariableId> query = {});
std::string page_of(const BestState& answer, const std::string& json, std::span<const VariableId> query = {});
std::string page_of(const BestValues& answer, const std::string& json);
std::string page_of(const LogZ& answer, const std::string& json);
std::string page_of(const Samples& answer, const std::string& json);

}  // namespace drover
