// Evidence and queries: from UAI evidence files, or typed with names or numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/io/text_source.hpp"
#include "drover/model/observations.hpp"

namespace drover {

/// Reads "k v x v x ...", or a first line "1" (one sample) and then "k v x v x ..."; "0" or nothing is no
/// evidence. The two are told apart by the number of words: odd in the first, even in the second. A file with
/// several samples is an error.
Evidence read_evidence(const Model& model, TextSource& source);
Evidence read_evidence(const Model& model, const std::string& path, const RunControl& control = no_control());

/// A variable and its state as a person writes them: names or numbers, names first. Numbers with colons
/// between, one for every state, are soft evidence: the likelihood of what was seen in each state.
using Observation = std::pair<std::string, std::string>;

/// "smoke=yes,xray=0.2:0.8" as (smoke, yes), (xray, 0.2:0.8); a name that holds = or a comma may be quoted.
/// Raises usage.
std::vector<Observation> split_observations(std::string_view text);
/// The same as evidence. Raises usage for what the model does not have.
Observations evidence_of(const Model& model, std::span<const Observation> observations);
Observations parse_observations(const Model& model, std::string_view text);

/// Puts one observation into the evidence: a state by name or number, or likelihoods.
void add_observation(const Model& model, VariableId variable, std::string_view state, Observations& evidence);

/// The parts of "a,b,c" without the blanks around them; a separator inside quotes is none.
std::vector<std::string> split_names(std::string_view text, char separator = ',');
/// Names or numbers. Raises usage for what the model does not have.
std::vector<VariableId> variables_named(const Model& model, std::span<const std::string> names);
/// "dysp,17": names or numbers. Raises usage.
std::vector<VariableId> parse_query(const Model& model, std::string_view text);

}  // namespace drover
