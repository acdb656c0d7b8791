// The answers to questions about a model, as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/core/json_writer.hpp"
#include "drover/core/parallel.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/stated.hpp"

namespace drover {

namespace {

std::string to_json(const Diagnostics& diagnostics) {
  JsonObject object;
  object.add("rhat_max", diagnostics.rhat_max);
  object.add("ess_min", diagnostics.ess_min);
  object.add("mcse_max", diagnostics.mcse_max);
  return object.line();
}

std::vector<VariableId> shown(const ModelAnswer& answer, std::span<const VariableId> query) {
  if (!query.empty()) return {query.begin(), query.end()};
  std::vector<VariableId> variables(answer.variables);
  std::iota(variables.begin(), variables.end(), VariableId{0});
  return variables;
}

void add_names(const ModelAnswer& answer, std::span<const VariableId> query, JsonObject& object) {
  if (query.empty() && answer.names.variables.empty()) return;
  std::vector<std::string> names;
  for (VariableId v : shown(answer, query)) names.push_back(answer.names.variable(v));
  object.add("variables", names);
}

// Of a million variables it is the longest text of an answer: blocks of rows are written by all threads, and joined.
std::string json_rows(const Distributions& rows, std::span<const VariableId> variables) {
  constexpr std::size_t rows_per_block = 4096;
  std::vector<std::string> blocks((variables.size() + rows_per_block - 1) / rows_per_block);
  parallel_for(std::size_t{0}, blocks.size(), [&](std::size_t b) {
    const std::size_t end = std::min(variables.size(), (b + 1) * rows_per_block);
    for (std::size_t r = b * rows_per_block; r < end; ++r) {
      if (r > 0) blocks[b] += ',';
      append_json_array(blocks[b], rows[variables[r]]);
    }
  });
  std::size_t size = 2;
  for (const std::string& block : blocks) size += block.size();
  std::string text;
  text.reserve(size);
  text += '[';
  for (const std::string& block : blocks) text += block;
  return text += ']';
}

std::string to_json(const std::vector<RaceEntry>& race) {
  std::vector<std::string> rows;
  for (const RaceEntry& entry : race) {
    JsonObject row;
    row.add("method", entry.method);
    row.add("work", entry.work);
    row.add("ess_per_work", entry.ess_per_work);
    row.add("rhat_max", entry.rhat_max);
    row.add("nested_rhat_max", entry.nested_rhat_max);
    row.add("chains", entry.chains);
    row.add("sweeps", entry.sweeps);
    row.add("chosen", entry.chosen);
    if (!entry.note.empty()) row.add("note", entry.note);
    rows.push_back(row.line());
  }
  return json_list(rows);
}

// Mean and standard deviation of the log score over the shown chains, at the recorded sweeps.
std::string to_json(const Trace& trace) {
  std::vector<double> mean(trace.sweep.size(), 0.0), deviation(trace.sweep.size(), 0.0);
  const auto chains = static_cast<double>(trace.series.size());
  for (std::size_t r = 0; r < trace.sweep.size(); ++r) {
    for (const auto& series : trace.series) mean[r] += series[r] / chains;
    for (const auto& series : trace.series)
      deviation[r] += (series[r] - mean[r]) * (series[r] - mean[r]) / chains;
    deviation[r] = std::sqrt(deviation[r]);
  }
  JsonObject object;
  object.add("sweep", trace.sweep);
  object.add("mean", mean);
  object.add("sd", deviation);
  return object.line();
}

void add_evidence(const ModelAnswer& answer, JsonObject& object) {
  if (!answer.evidence.empty()) object.add_raw("evidence", json_evidence(answer.evidence, answer.names));
  if (!answer.set.empty()) object.add_raw("do", json_evidence(answer.set, answer.names));
}

std::string to_json(const Joint& joint, const Names& names, bool exact) {
  JsonObject object;
  std::vector<std::string> variables;
  for (VariableId v : joint.variables) variables.push_back(names.variable(v));
  object.add("variables", variables);
  object.add("probabilities", joint.probabilities);
  if (!exact) object.add("mcse", joint.mcse);
  return object.line();
}

void add_run(const ModelAnswer& answer, JsonObject& object) {
  object.add("sweeps", answer.sweeps);
  object.add("burn_in", answer.burn_in);
  object.add("chains", answer.chains);
  object.add("updates", answer.updates);
}

void add_end(const ModelAnswer& answer, JsonObject& object) {
  add_evidence(answer, object);
  if (!answer.provenance.details.empty()) object.add("details", answer.provenance.details);
  object.add("seconds", answer.provenance.seconds);
}

}  // namespace

JsonObject to_json(const Marginals& answer, std::span<const VariableId> query) {
  JsonObject object = json_of(answer.provenance);
  const std::vector<VariableId> variables = shown(answer, query);
  add_names(answer, query, object);
  object.add_raw("marginals", json_rows(answer.probabilities, variables));
  object.add_raw("mcse", json_rows(answer.mcse, variables));
  object.add("exact", answer.exact);
  object.add("converged", answer.converged);
  add_judgement(judge(answer), object);
  object.add_raw("diagnostics", to_json(answer.diagnostics));
  add_run(answer, object);
  if (!answer.race.empty()) object.add_raw("race", to_json(answer.race));
  if (!answer.pairs.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [i, j] : answer.pairs) pairs.push_back(fmt::format("[{},{}]", i, j));
    object.add_raw("pairs", json_list(pairs));
    std::vector<VariableId> all(answer.pairs.size());
    for (std::size_t p = 0; p < all.size(); ++p) all[p] = static_cast<VariableId>(p);
    object.add_raw("pair_marginals", json_rows(answer.pair_probabilities, all));
  }
  if (!answer.joints.empty()) {
    std::vector<std::string> joints;
    for (const Joint& joint : answer.joints) joints.push_back(to_json(joint, answer.names, answer.exact));
    object.add_raw("joint", json_list(joints));
  }
  if (!answer.best_state.empty()) {
    object.add("best_state", answer.best_state);
    object.add("best_log_score", answer.best_log_score);
    object.add_raw("log_score_trace", to_json(answer.scores));
  }
  add_end(answer, object);
  return object;
}

JsonObject to_json(const BestState& answer, std::span<const VariableId> query) {
  JsonObject object = json_of(answer.provenance);
  add_names(answer, query, object);
  std::vector<Value> assignment;
  for (VariableId v : shown(answer, query)) assignment.push_back(answer.assignment[v]);
  object.add("assignment", assignment);
  object.add("log_score", answer.log_score);
  object.add("upper", answer.upper);
  object.add("optimal", answer.optimal);
  if (!query.empty()) object.add("shows", "the part of the best joint state that was asked for");
  if (!answer.states.empty()) {
    std::vector<std::string> states;
    for (const RankedState& state : answer.states) {
      JsonObject one;
      std::vector<Value> values;
      for (VariableId v : shown(answer, query)) values.push_back(state.assignment[v]);
      one.add("assignment", values);
      one.add("log_score", state.log_score);
      states.push_back(one.line());
    }
    object.add_raw("states", json_list(states));
  }
  add_judgement(judge(answer), object);
  add_end(answer, object);
  return object;
}

JsonObject to_json(const BestValues& answer) {
  JsonObject object = json_of(answer.provenance);
  add_names(answer, answer.of, object);
  object.add("assignment", answer.assignment);
  object.add("log_probability", answer.log_probability);
  object.add("lower", answer.lower);
  object.add("upper", answer.upper);
  object.add("optimal", answer.optimal);
  add_judgement(judge(answer), object);
  add_end(answer, object);
  return object;
}

JsonObject to_json(const LogZ& answer) {
  JsonObject object = json_of(answer.provenance);
  object.add("log_z", answer.log_z);
  object.add("bound", answer.bound == Bound::lower   ? "lower"
                      : answer.bound == Bound::upper ? "upper"
                                                     : "none");
  object.add("lower", answer.lower);
  object.add("upper", answer.upper);
  object.add("mcse", answer.mcse);
  if (std::isfinite(answer.interval_lower))
    object.add("interval", std::vector<double>{answer.interval_lower, answer.interval_upper});
  object.add("exact", answer.exact);
  add_judgement(judge(answer), object);
  add_end(answer, object);
  return object;
}

JsonObject to_json(const Samples& answer) {
  JsonObject object = json_of(answer.provenance);
  object.add("draws", answer.draws);
  object.add("chains", answer.chains);
  object.add("variables", answer.variables);
  object.add("sweeps", answer.sweeps);
  object.add("burn_in", answer.burn_in);
  object.add("updates", answer.updates);
  object.add("independent", answer.independent);
  object.add("converged", answer.converged);
  add_judgement(judge(answer), object);
  object.add_raw("diagnostics", to_json(answer.diagnostics));
  add_end(answer, object);
  return object;
}

}  // namespace drover
