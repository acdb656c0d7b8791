#include "drover/task/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/plural.hpp"
#include "drover/infer/case_tree.hpp"
#include "drover/io/cases.hpp"
#include "drover/io/csv_cell.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/conflict.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/stated.hpp"

namespace drover {

namespace {

// A row of evidence in terms of the free variables. False when it contradicts what is fixed already; adds to
// `log_constant` what it says of fixed variables.
bool free_evidence(const Graph& graph, const Observations& row, Observations& free, double& log_constant) {
  free.variables.clear();
  free.values.clear();
  free.likelihoods.variables.clear();
  free.likelihoods.offsets.resize(1);
  free.likelihoods.log_values.clear();
  for (std::size_t e = 0; e < row.size(); ++e) {
    const VariableId v = graph.free_variable[row.variables[e]];
    if (v == no_variable) {
      if (graph.clamped_value[row.variables[e]] != row.values[e]) return false;
      continue;
    }
    free.add(v, row.values[e]);
  }
  for (std::size_t l = 0; l < row.likelihoods.size(); ++l) {
    const VariableId variable = row.likelihoods.variables[l], v = graph.free_variable[variable];
    if (v != no_variable)
      free.likelihoods.add(v, row.likelihoods.values(l));
    else
      log_constant += row.likelihoods.values(l)[graph.clamped_value[variable]];
  }
  return log_constant != log_zero;
}

void check_rows(const Model& model, std::span<const Observations> rows) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto refuse = [&](VariableId v) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("case {} observes variable {} in a state it does not have", r + 1,
                              v < model.variable_count() ? model.variable_name(v) : std::to_string(v)));
    };
    for (std::size_t e = 0; e < rows[r].size(); ++e)
      if (rows[r].variables[e] >= model.variable_count() ||
          rows[r].values[e] >= model.cardinalities[rows[r].variables[e]])
        refuse(rows[r].variables[e]);
    for (std::size_t l = 0; l < rows[r].likelihoods.size(); ++l) {
      const VariableId v = rows[r].likelihoods.variables[l];
      if (v >= model.variable_count() || rows[r].likelihoods.values(l).size() != model.cardinalities[v])
        refuse(v);
    }
  }
}

void answer_by_tree(const Model& model, const Problem& problem, std::span<const Observations> rows,
                    const RunControl& control, CaseAnswers& answer) {
  const Graph& graph = problem.graph();
  std::vector<VariableId> free_query;
  std::vector<std::size_t> places;  // of the free variables' states in a row
  for (std::size_t k = 0; k < answer.query.size(); ++k)
    if (graph.free_variable[answer.query[k]] != no_variable) {
      free_query.push_back(graph.free_variable[answer.query[k]]);
      for (std::size_t e = answer.offsets[k]; e < answer.offsets[k + 1]; ++e) places.push_back(e);
    }
  ExactOptions options;
  options.memory_limit_bytes = problem.memory_limit_bytes();
  options.control = &control;
  const CaseTree tree(graph, problem.exact_plan(), free_query, options);

  constexpr std::size_t block = 1024;
  for (std::size_t begin = 0; begin < rows.size() && !control.should_stop(); begin += block) {
    const std::size_t end = std::min(rows.size(), begin + block);
    try {
      parallel_for(IndexRange(begin, end, 64), [&](const IndexRange& range) {
        CaseTree::Room room = tree.make_room();
        std::vector<double> found(tree.answer_size());
        Observations free;
        for (std::size_t r = range.begin(); r < range.end(); ++r) {
          double constant = 0;
          double log_z = log_zero;
          if (free_evidence(graph, rows[r], free, constant))
            log_z = tree.answer(free, room, found) + constant;
          answer.log_z[r] = log_z;
          if (log_z == log_zero) continue;
          double* out = answer.probabilities.data() + r * answer.offsets.back();
          for (std::size_t k = 0; k < answer.query.size(); ++k)
            if (graph.free_variable[answer.query[k]] == no_variable)
              for (std::size_t s = 0; s < model.cardinalities[answer.query[k]]; ++s)
                out[answer.offsets[k] + s] = s == graph.clamped_value[answer.query[k]] ? 1.0 : 0.0;
          for (std::size_t e = 0; e < places.size(); ++e) out[places[e]] = found[e];
        }
      });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::stopped && error.kind() != ErrorKind::interrupted) throw;
      break;
    }
    answer.cases = end;
    Progress progress;
    progress.phase = "cases";
    progress.fraction = static_cast<double>(end) / static_cast<double>(rows.size());
    control.report(progress);
  }
}

void answer_one_by_one(const Model& model, const InferenceOptions& options,
                       std::span<const Observations> rows, const RunControl& control, CaseAnswers& answer) {
  for (std::size_t r = 0; r < rows.size() && !control.should_stop(); ++r) {
    InferenceOptions one = options;
    one.evidence.add(rows[r]);
    try {
      const Marginals found = marginals(model, one, control);
      double* out = answer.probabilities.data() + r * answer.offsets.back();
      for (std::size_t k = 0; k < answer.query.size(); ++k)
        std::ranges::copy(found.probabilities[answer.query[k]], out + answer.offsets[k]);
      if (!found.exact) {
        answer.log_z[r] = not_known;
        for (VariableId v : answer.query)
          for (double error : found.mcse[v]) answer.mcse_max = std::fmax(answer.mcse_max, error);
      }
      answer.not_converged += !found.converged;
      answer.exact &= found.exact;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::stopped || error.kind() == ErrorKind::interrupted) return;
      if (error.kind() != ErrorKind::bad_data) throw;
      answer.log_z[r] = log_zero;
    }
    answer.cases = r + 1;
  }
}

}  // namespace

CaseAnswers answer_cases(const Model& model, std::span<const Observations> rows,
                         std::span<const VariableId> query, const InferenceOptions& options,
                         const RunControl& control) {
  CaseAnswers answer;
  const double start = control.seconds();
  check_rows(model, rows);
  answer.names = Names::of(model);
  answer.query.assign(query.begin(), query.end());
  if (query.empty())
    for (std::size_t v = 0; v < model.variable_count(); ++v)
      answer.query.push_back(static_cast<VariableId>(v));
  answer.offsets.push_back(0);
  for (VariableId v : answer.query) answer.offsets.push_back(answer.offsets.back() + model.cardinalities[v]);
  answer.asked = rows.size();
  answer.probabilities.assign(rows.size() * answer.offsets.back(), not_known);
  answer.log_z.assign(rows.size(), not_known);
  Provenance& provenance = answer.provenance;
  const Stated stated(model, options);
  const auto compiled = [&] {
    try {
      return stated.compile(control);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::bad_data) fail_if_conflict(stated, answer.names, control);
      throw;
    }
  };
  with_threads(control, [&] {
    const Problem problem(compiled(), options, control);
    const Choice choice = choose_method(problem, Task::marginals);
    provenance.method = choice.method->name;
    provenance.because = choice.because;
    answer.exact = true;
    if (choice.method->name == "exact")
      answer_by_tree(model, problem, rows, control, answer);
    else
      answer_one_by_one(model, options, rows, control, answer);
  });
  provenance.question = "marginals";
  provenance.input = options.input.empty() ? model.name : options.input;
  provenance.seed = options.seed;
  provenance.warnings = model.warnings;
  add_stated(options, provenance.options);
  if (answer.cases == 0 && !rows.empty()) fail_stopped(control, "answering cases");
  answer.probabilities.resize(answer.cases * answer.offsets.back());
  answer.log_z.resize(answer.cases);
  for (std::size_t r = 0; r < answer.cases; ++r)
    if (answer.log_z[r] == log_zero) answer.impossible.push_back(r);
  if (answer.cases < rows.size())
    provenance.warnings.push_back(
        fmt::format("the run ended early: {} of {} cases were answered", answer.cases, rows.size()));
  if (!answer.impossible.empty()) {
    std::string some;
    for (std::size_t k = 0; k < answer.impossible.size() && k < 5; ++k)
      some += fmt::format("{}{}", k > 0 ? ", " : "", answer.impossible[k] + 1);
    provenance.warnings.push_back(fmt::format(
        "the evidence of {} is impossible under the model: no answer there (case {}{})",
        counted(answer.impossible.size(), "case"), some, answer.impossible.size() > 5 ? ", ..." : ""));
  }
  if (answer.not_converged > 0)
    provenance.warnings.push_back(
        fmt::format("the runs of {} have NOT converged", counted(answer.not_converged, "case")));
  provenance.seconds = control.seconds() - start;
  return answer;
}

Judgement judge(const CaseAnswers& answer) {
  if (answer.exact)
    return {Verdict::good, fmt::format("The answers of {} are exact, up to rounding.",
                                       counted(answer.cases - answer.impossible.size(), "case"))};
  if (answer.not_converged > 0)
    return {Verdict::bad, fmt::format("The runs of {} have not converged: do not rely on their answers.",
                                      counted(answer.not_converged, "case"))};
  return {Verdict::caution,
          "The answers are estimates, with standard errors of at most " + error_text(answer.mcse_max) + "."};
}

JsonObject to_json(const CaseAnswers& answer) {
  JsonObject object = json_of(answer.provenance);
  std::vector<std::string> query;
  for (VariableId v : answer.query) query.push_back(answer.names.variable(v));
  object.add("query", query);
  object.add("cases", answer.cases);
  object.add("impossible", answer.impossible.size());
  object.add("exact", answer.exact);
  object.add("converged", answer.not_converged == 0);
  if (!answer.exact) object.add("mcse_max", answer.mcse_max);
  add_judgement(judge(answer), object);
  object.add("seconds", answer.provenance.seconds);
  return object;
}

std::string csv_of(const CaseAnswers& answer) {
  std::string text;
  for (std::size_t k = 0; k < answer.query.size(); ++k)
    for (std::size_t s = 0; s < answer.offsets[k + 1] - answer.offsets[k]; ++s) {
      const VariableId v = answer.query[k];
      text += (text.empty() ? "" : ",") + csv_cell(answer.names.variable(v) + "=" + answer.names.state(v, s));
    }
  text += '\n';
  for (std::size_t r = 0; r < answer.cases; ++r) {
    for (std::size_t e = 0; e < answer.offsets.back(); ++e) {
      if (e > 0) text += ',';
      const double p = answer.probabilities[r * answer.offsets.back() + e];
      if (!std::isnan(p)) fmt::format_to(std::back_inserter(text), "{}", p);
    }
    text += '\n';
  }
  return text;
}

std::string csv_of(const Marginals& answer, std::span<const VariableId> query) {
  std::vector<VariableId> all(query.begin(), query.end());
  for (std::size_t v = 0; query.empty() && v < answer.probabilities.size(); ++v)
    all.push_back(static_cast<VariableId>(v));
  std::string text = "variable,state,probability,mcse\n";
  for (const VariableId v : all)
    for (std::size_t k = 0; k < answer.probabilities[v].size(); ++k) {
      fmt::format_to(std::back_inserter(text), "{},{},{},", csv_cell(answer.names.variable(v)),
                     csv_cell(answer.names.state(v, k)), answer.probabilities[v][k]);
      const double error = answer.mcse.size() > v ? answer.mcse[v][k] : not_known;
      if (std::isfinite(error)) fmt::format_to(std::back_inserter(text), "{}", error);
      text += '\n';
    }
  return text;
}

}  // namespace drover
