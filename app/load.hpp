// A model file with its evidence and query, as the commands about models take them.
#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"
#include "drover/run/inference_options.hpp"

namespace drover::app {

/// What a command about a model is asked, besides the options of its methods.
struct Question {
  std::string evidence;   ///< a UAI evidence file
  std::string observe;    ///< NAME=VALUE,...
  std::string intervene;  ///< NAME=VALUE,...
  std::string query;      ///< NAME,...
  std::string joint;      ///< NAME,...;NAME,...
  InferenceOptions options;
  Limits limits;
  Output output;
};

void describe_evidence(OptionList& list, Question& question);
void describe_query(OptionList& list, Question& question);

struct Loaded {
  Model model;
  std::vector<VariableId> query;  ///< variables to show, empty for all
};

/// Reads the model and puts the evidence into question.options; applies the limits.
Loaded load(Question& question, const std::string& path);

/// Adds what the answer's own options do not know: evidence file, query, time limit.
void add_settings(const Question& question, Details& settings);

}  // namespace drover::app
