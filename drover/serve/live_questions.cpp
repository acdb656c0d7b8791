#include "drover/serve/live_questions.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"

namespace drover {

using nlohmann::json;

namespace {

constexpr std::size_t most_strokes = 4096;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, why);
}

double number(const json& value, const char* what) {
  if (!value.is_number()) refuse(std::string(what) + ": expected a number");
  return value.get<double>();
}

VariableId variable(const json& value, const char* expected) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= no_variable) refuse(expected);
  return value.get<VariableId>();
}

}  // namespace

json parse_question(const std::string& body) {
  json question = json::parse(body, nullptr, false);
  if (!question.is_object()) refuse("a request is a JSON object");
  return question;
}

std::vector<Finding> findings_in(const json& question) {
  std::vector<Finding> findings;
  const auto list = question.find("findings");
  if (list == question.end()) return findings;
  constexpr const char* expected = "findings: expected [[variable, [likelihood, ...]], ...]";
  if (!list->is_array()) refuse(expected);
  for (const json& one : *list) {
    if (!one.is_array() || one.size() != 2 || !one[1].is_array()) refuse(expected);
    Finding finding{variable(one[0], expected), {}};
    for (const json& value : one[1]) finding.likelihood.push_back(number(value, "findings"));
    findings.push_back(std::move(finding));
  }
  return findings;
}

Observations observations_of(const std::vector<Finding>& findings) {
  Observations observations;
  const auto positive = [](double l) { return l > 0; };
  for (const Finding& finding : findings) {
    const auto& likelihood = finding.likelihood;
    if (std::ranges::count_if(likelihood, positive) == 1)
      observations.add(finding.variable,
                       static_cast<Value>(std::ranges::find_if(likelihood, positive) - likelihood.begin()));
    else
      observations.add_likelihood(finding.variable, likelihood);
  }
  return observations;
}

std::vector<VariableId> variables_in(const json& question) {
  std::vector<VariableId> variables;
  const auto list = question.find("variables");
  if (list == question.end()) return variables;
  constexpr const char* expected = "variables: expected a list of numbers";
  if (!list->is_array()) refuse(expected);
  for (const json& one : *list) variables.push_back(variable(one, expected));
  return variables;
}

std::string text_in(const json& question, const char* name, const std::string& otherwise) {
  const auto found = question.find(name);
  return found != question.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

std::uint64_t number_in(const json& question, const char* name, std::uint64_t otherwise) {
  const auto found = question.find(name);
  return found != question.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
}

PictureChange picture_change_in(const json& question) {
  PictureChange change;
  const auto part = [&](const char* name) {
    const auto found = question.find(name);
    return found == question.end() ? nullptr : &*found;
  };
  if (const json* value = part("temperature")) change.temperature = number(*value, "temperature");
  if (const json* value = part("field")) change.field = number(*value, "field");
  if (part("seed") != nullptr) change.seed = number_in(question, "seed", 1);
  if (const json* value = part("paused")) change.paused = value->is_boolean() && value->get<bool>();
  if (const json* value = part("clear")) change.clear = value->is_boolean() && value->get<bool>();
  if (part("method") != nullptr) {
    const std::string name = text_in(question, "method");
    for (const auto& [method, known] : ChoiceNames<PictureMethod>::names)
      if (known == name) change.method = method;
    if (!change.method) refuse("method: expected chains or gibbs");
  }
  if (const json* list = part("strokes")) {
    if (!list->is_array() || list->size() > most_strokes) refuse("strokes: expected a list of at most 4096");
    for (const json& one : *list) {
      if (!one.is_array() || one.size() != 6)
        refuse("strokes: expected [[x1, y1, x2, y2, radius, value], ...]");
      double parts[6];
      for (std::size_t i = 0; i < 6; ++i) parts[i] = number(one[i], "strokes");
      if (!(std::abs(parts[5]) < 1e6)) refuse("strokes: the value is no state");
      change.strokes.push_back(
          {parts[0], parts[1], parts[2], parts[3], parts[4], static_cast<std::int32_t>(parts[5])});
    }
  }
  return change;
}

}  // namespace drover
