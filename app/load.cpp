#include "app/load.hpp"

#include "app/memory.hpp"
#include "app/progress.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"

namespace drover::app {

void describe_evidence(OptionList& list, Question& question) {
  list.add("evidence", "FILE", "observed variables, as a UAI evidence file", question.evidence);
  list.add("observe", "NAME=VALUE,...",
           "observed variables, by name or number; NAME=P:Q:... is soft evidence, the likelihood of what was "
           "seen in each state; quote a name that holds = or a comma; may be repeated",
           question.observe);
  list.add("do", "NAME=VALUE,...",
           "variables of a Bayesian network that are set from outside: the arcs into them are cut; may be "
           "repeated",
           question.intervene);
}

void describe_query(OptionList& list, Question& question) {
  list.add("query", "NAME,...", "show only these variables; may be repeated", question.query);
}

Loaded load(Question& question, const std::string& path) {
  apply(question.limits);
  if (question.options.memory_limit) limit_memory(*question.options.memory_limit);
  Loaded loaded;
  loaded.model = read_model(path, run_control());
  question.options.input = path;
  if (!question.evidence.empty())
    question.options.evidence = read_evidence(loaded.model, question.evidence, run_control());
  question.options.observe = split_observations(question.observe);
  question.options.intervene = split_observations(question.intervene);
  for (const std::string& set : split_names(question.joint, ';'))
    if (!set.empty()) question.options.joint.push_back(split_names(set));
  if (!question.query.empty()) loaded.query = parse_query(loaded.model, question.query);
  return loaded;
}

void add_settings(const Question& question, Details& settings) {
  if (!question.evidence.empty()) settings["evidence"] = question.evidence;
  if (!question.query.empty()) settings["query"] = question.query;
  if (question.limits.time) settings["time"] = *question.limits.time;
}

}  // namespace drover::app
