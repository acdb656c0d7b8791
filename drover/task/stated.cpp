#include "drover/task/stated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/io/evidence.hpp"
#include "drover/model/intervene.hpp"

namespace drover {

Evidence fixed_by(const Observations& observations) {
  Evidence fixed = static_cast<const Evidence&>(observations);
  for (std::size_t l = 0; l < observations.likelihoods.size(); ++l) {
    const VariableId v = observations.likelihoods.variables[l];
    const auto values = observations.likelihoods.values(l);
    const auto possible = [](double value) { return value != log_zero; };
    if (std::ranges::count_if(values, possible) != 1 ||
        std::ranges::find(fixed.variables, v) != fixed.variables.end())
      continue;
    fixed.add(v, static_cast<Value>(std::ranges::find_if(values, possible) - values.begin()));
  }
  return fixed;
}

Stated::Stated(const Model& model, const InferenceOptions& options)
    : model_(model), observed_(options.evidence), set_(evidence_of(model, options.intervene)) {
  observed_.add(evidence_of(model, options.observe));
  if (!set_.empty()) cut_ = intervene(model, set_);
  if (observed_.likelihoods.size() > 0)
    changed_ = with_likelihoods(without_likelihoods(), observed_.likelihoods);
  Observations all = observed_;
  all.add(set_);
  fixed_ = fixed_by(all);
}

std::vector<double> whole_table(const Graph& graph, const Model& model, std::span<const VariableId> variables,
                                std::span<const double> free) {
  std::size_t entries = 1;
  for (VariableId v : variables) entries *= model.cardinalities[v];
  std::vector<double> table(entries, 0.0);
  std::vector<Value> index(variables.size(), 0);
  std::size_t next = 0;
  for (double& value : table) {
    bool agrees = true;
    for (std::size_t k = 0; k < variables.size(); ++k)
      agrees &=
          graph.free_variable[variables[k]] != no_variable || graph.clamped_value[variables[k]] == index[k];
    if (agrees) value = free[next++];
    for (std::size_t k = index.size(); k-- > 0;) {
      if (++index[k] < model.cardinalities[variables[k]]) break;
      index[k] = 0;
    }
  }
  return table;
}

std::string json_evidence(const Observations& evidence, const Names& names) {
  std::vector<std::string> entries;
  for (std::size_t e = 0; e < evidence.size(); ++e) {
    JsonObject one;
    one.add("name", names.variable(evidence.variables[e]));
    one.add("state", names.state(evidence.variables[e], evidence.values[e]));
    entries.push_back(one.line());
  }
  for (std::size_t l = 0; l < evidence.likelihoods.size(); ++l) {
    std::vector<double> likelihood;
    for (double value : evidence.likelihoods.values(l)) likelihood.push_back(std::exp(value));
    JsonObject one;
    one.add("name", names.variable(evidence.likelihoods.variables[l]));
    one.add("likelihood", likelihood);
    entries.push_back(one.line());
  }
  return json_list(entries);
}

void add_stated(const InferenceOptions& options, Details& values) {
  const auto add = [&](const char* name, const auto& observations) {
    std::string text;
    for (const auto& [variable, state] : observations)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", variable, state);
    if (!text.empty()) values[name] = text;
  };
  add("observe", options.observe);
  add("do", options.intervene);
  std::string sets;
  for (const auto& set : options.joint)
    sets += fmt::format("{}{}", sets.empty() ? "" : ";", fmt::join(set, ","));
  if (!sets.empty()) values["joint"] = sets;
}

}  // namespace drover
