// What the page asks, read from its JSON. Raises usage for what is no question.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drover/model/observations.hpp"
#include "drover/serve/exact_network.hpp"
#include "drover/serve/live_picture.hpp"

namespace drover {

/// An object, or usage.
nlohmann::json parse_question(const std::string& body);

/// findings: [[variable, [likelihood of every state]], ...]
std::vector<Finding> findings_in(const nlohmann::json& question);
/// The same as observations: a single likelihood above zero is a state that was observed.
Observations observations_of(const std::vector<Finding>& findings);
/// variables: [number, ...]; empty when there are none.
std::vector<VariableId> variables_in(const nlohmann::json& question);
std::string text_in(const nlohmann::json& question, const char* name, const std::string& otherwise = "");
std::uint64_t number_in(const nlohmann::json& question, const char* name, std::uint64_t otherwise);
/// temperature, field, method, seed, paused, clear, strokes: [[x1, y1, x2, y2, radius, value], ...]
PictureChange picture_change_in(const nlohmann::json& question);

}  // namespace drover
