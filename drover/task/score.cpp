#include "drover/task/score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/machine/rbm_likelihood.hpp"
#include "drover/task/cases.hpp"
#include "drover/task/inference.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_chains = 128;
constexpr std::uint64_t default_steps = 10000;

// The variable of every column: by name, or in order where no name is the model's.
std::vector<VariableId> variables_of(const Model& model, const DataTable& data) {
  std::vector<VariableId> variables;
  std::vector<std::string> unknown;
  for (const std::string& name : data.names) {
    const auto at = std::ranges::find(model.variable_names, name);
    if (at == model.variable_names.end())
      unknown.push_back(name);
    else
      variables.push_back(static_cast<VariableId>(at - model.variable_names.begin()));
  }
  if (!unknown.empty() && !variables.empty())
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: column {} is no variable of the model, though others are", data.source, unknown[0]));
  if (variables.size() < data.variables()) {
    variables.resize(data.variables());
    std::iota(variables.begin(), variables.end(), VariableId{0});
  }
  if (data.variables() > model.variable_count())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} columns, but the model has {}", data.source, data.variables(),
                            counted(model.variable_count(), "variable")));
  return variables;
}

// The state that a text says by number; none: it is no number of a state.
std::size_t state_number(const std::string& text, std::size_t none) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : none;
}

// The state of the model that a state of a column is: by name where the model has names, or by a number that says one;
// else by its number in the table.
std::vector<Value> states_of(const Model& model, VariableId variable, const DataTable& data,
                             std::size_t column) {
  std::vector<Value> states;
  const bool named = variable < model.state_names.size() && !model.state_names[variable].empty();
  for (std::size_t k = 0; k < data.cardinalities[column]; ++k) {
    std::size_t state = k;
    if (named) {
      const auto& names = model.state_names[variable];
      const auto at = std::ranges::find(names, data.state_names[column][k]);
      state = at != names.end() ? static_cast<std::size_t>(at - names.begin())
                                : state_number(data.state_names[column][k], names.size());
    } else if (k < data.state_names[column].size()) {
      const std::string& name =
          data.state_names[column][k];  // "0" and "1" of a column that has only one of them
      if (name == "0" || name == "1")
        state = name == "1" ? 1 : 0;
      else if (data.cardinalities[column] == 1 && state_number(name, ~std::size_t{0}) == ~std::size_t{0})
        throw Error(
            ErrorKind::bad_data,
            fmt::format(
                "{}: column {} has the state {} alone, and the model does not know the names of its states",
                data.source, data.names[column], name));
    }
    if (state >= model.cardinalities[variable])
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: column {} has the state {}, which variable {} of the model has not", data.source,
                      data.names[column], data.state_names[column][k], model.variable_name(variable)));
    states.push_back(static_cast<Value>(state));
  }
  return states;
}

// (row, variable of the model); columns in the order of `variables`.
std::vector<Value> values_in_model(const Model& model, const DataTable& data,
                                   std::span<const VariableId> variables) {
  std::vector<Value> values(data.values.size());
  const std::size_t n = data.variables();
  for (std::size_t c = 0; c < n; ++c) {
    const std::vector<Value> states = states_of(model, variables[c], data, c);
    for (std::size_t r = 0; r < data.rows; ++r) values[r * n + c] = states[data.values[r * n + c]];
  }
  return values;
}

void finish(ScoreResult& result, const std::string& model_name, const DataTable& data,
            const ScoreOptions& options) {
  Provenance& provenance = result.provenance;
  provenance.question = "learn";
  provenance.input = model_name;
  provenance.seed = options.seed;
  ScoreOptions given = options;
  OptionList list;
  describe(list, given);
  provenance.options = option_values(list, provenance.options);
  provenance.options["data"] = options.input.empty() ? data.source : options.input;
  result.rows = data.rows;
  double sum = 0, squares = 0;
  std::size_t counted_rows = 0;
  for (double value : result.row_log_likelihoods) {
    if (value == log_zero) {
      ++result.impossible;
      continue;
    }
    sum += value;
    ++counted_rows;
  }
  if (counted_rows > 0) result.log_likelihood = sum / static_cast<double>(counted_rows);
  for (double value : result.row_log_likelihoods)
    if (value != log_zero) squares += (value - result.log_likelihood) * (value - result.log_likelihood);
  if (counted_rows > 1)
    result.spread_error =
        std::sqrt(squares / (static_cast<double>(counted_rows) * static_cast<double>(counted_rows - 1)));
  if (result.impossible > 0)
    provenance.warnings.push_back(fmt::format("{} have probability 0 under the model and are not in the mean",
                                              counted(result.impossible, "row")));
  if (!result.exact && result.effective_samples < 10)
    provenance.warnings.push_back(fmt::format(
        "few anneals carry the weight (effective {:.1f}): log Z is likely too low and the likelihood too "
        "high; take more sweeps",
        result.effective_samples));
}

void check_not_empty(const DataTable& data) {
  if (data.rows == 0) throw Error(ErrorKind::bad_data, data.source + ": expected at least one row");
}

void score_rbm(const BinaryMachine& machine, const Model& model, const DataTable& data,
               const ScoreOptions& options, const RunControl& control, ScoreResult& result) {
  const std::vector<VariableId> variables = variables_of(model, data);
  const std::size_t n = machine.visible;
  std::vector<bool> seen(n, false);
  for (VariableId v : variables)
    if (v < n) seen[v] = true;
  if (variables.size() != n || std::ranges::find(seen, false) != seen.end())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: expected {}, one for every visible variable of the machine", data.source,
                            counted(n, "column")));
  const std::vector<Value> by_column = values_in_model(model, data, variables);
  std::vector<Value> rows(by_column.size());
  std::vector<double> rates(n, 0.0);
  for (std::size_t r = 0; r < data.rows; ++r)
    for (std::size_t c = 0; c < n; ++c) {
      rows[r * n + variables[c]] = by_column[r * n + c];
      rates[variables[c]] += by_column[r * n + c] / static_cast<double>(data.rows);
    }
  result.row_log_likelihoods = rbm_log_scores(machine, rows, control);
  if (std::min(machine.visible, machine.hidden) <= most_exact_units) {
    result.provenance.method = "exact";
    result.log_z = rbm_exact_log_z(machine);
    result.log_z_mcse = 0;
    result.exact = true;
  } else {
    const std::uint32_t chains = options.chains.value_or(default_chains);
    const std::uint64_t steps = options.sweeps.value_or(default_steps);
    const ImportanceResult found = rbm_log_z(machine, rates, chains, steps, options.seed, control);
    result.provenance.method = "ais";
    result.provenance.options["chains"] = chains;
    result.provenance.options["sweeps"] = steps;
    result.log_z = found.log_z;
    result.log_z_mcse = found.mcse;
    result.effective_samples = found.effective_samples;
    if (found.log_weights.size() < chains)
      result.provenance.warnings.push_back(
          fmt::format("ended early: {} of {} anneals are done", found.log_weights.size(), chains));
  }
  for (double& value : result.row_log_likelihoods) value -= result.log_z;
}

void score_model(const Model& model, const DataTable& data, const ScoreOptions& options,
                 const RunControl& control, ScoreResult& result) {
  const std::vector<VariableId> variables = variables_of(model, data);
  const std::vector<Value> values = values_in_model(model, data, variables);
  InferenceOptions asked;
  asked.seed = options.seed;
  asked.chains.count = options.chains;
  asked.chains.sweeps = options.sweeps;
  const LogZ total = log_z(model, asked, control);
  result.log_z = total.log_z;
  result.log_z_mcse = total.exact ? 0 : total.mcse;
  result.exact = total.exact;
  result.provenance.method = total.provenance.method;
  result.provenance.because = total.provenance.because;
  result.provenance.warnings = total.provenance.warnings;
  for (const char* option : {"chains", "sweeps"})
    if (const Detail* resolved = total.provenance.options.find(option))
      result.provenance.options[option] = *resolved;
  const std::size_t n = variables.size();
  if (n == model.variable_count()) {
    std::vector<Value> x(n);
    StopCheck check(control, data.source, "was scored");
    for (std::size_t r = 0; r < data.rows; ++r) {
      check.step(n);
      for (std::size_t c = 0; c < n; ++c) x[variables[c]] = values[r * n + c];
      result.row_log_likelihoods.push_back(log_score(model, x) - total.log_z);
    }
    return;
  }
  if (!total.exact)
    throw Error(ErrorKind::misfit,
                "exact inference does not fit this model, and the rows do not state all of its variables: "
                "what is left "
                "cannot be summed out");
  std::vector<Observations> rows(data.rows);
  for (std::size_t r = 0; r < data.rows; ++r)
    for (std::size_t c = 0; c < n; ++c) rows[r].add(variables[c], values[r * n + c]);
  const VariableId first[1] = {0};
  const CaseAnswers answers = answer_cases(model, rows, first, {.method = "exact"}, control);
  if (answers.cases < rows.size()) fail_stopped(control, "scoring");
  for (double log_p : answers.log_z) result.row_log_likelihoods.push_back(log_p - total.log_z);
}

}  // namespace

ScoreResult score(const MachineFile& file, const DataTable& data, const ScoreOptions& options,
                  const RunControl& control) {
  if (file.machine.kind != MachineKind::rbm) return score(model_of(file), data, options, control);
  const double start = control.seconds();
  check_not_empty(data);
  ScoreResult result;
  const Model model = model_of(file);
  with_threads(control, [&] { score_rbm(file.machine, model, data, options, control, result); });
  finish(result, model.name, data, options);
  result.provenance.seconds = control.seconds() - start;
  return result;
}

ScoreResult score(const Model& model, const DataTable& data, const ScoreOptions& options,
                  const RunControl& control) {
  const double start = control.seconds();
  check_not_empty(data);
  ScoreResult result;
  with_threads(control, [&] { score_model(model, data, options, control, result); });
  finish(result, model.name, data, options);
  result.provenance.seconds = control.seconds() - start;
  return result;
}

void describe(OptionList& list, ScoreOptions& options) {
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, 1e15});
  list.add("chains", "N", "anneals that estimate log Z where it is not exact", options.chains, {1, 1 << 20},
           std::to_string(default_chains));
  list.add("sweeps", "N", "steps of each anneal", options.sweeps, {1, 1e9},
           fmt::format("{} for rbm, else by the size of the model", default_steps));
}

Judgement judge(const ScoreResult& result) {
  const std::string text = fmt::format("The mean log-likelihood of {} is {}", counted(result.rows, "row"),
                                       log_text(result.log_likelihood, 7));
  if (result.exact)
    return with_warnings({Verdict::good, text + ", exact up to rounding."}, result.provenance.warnings);
  return {Verdict::caution, fmt::format("{}; log Z is an estimate with standard error {}.", text,
                                        error_text(result.log_z_mcse))};
}

JsonObject to_json(const ScoreResult& result) {
  JsonObject object = json_of(result.provenance);
  object.add("rows", result.rows);
  object.add("impossible", result.impossible);
  object.add("log_likelihood", result.log_likelihood);
  object.add("spread_error", result.spread_error);
  object.add("log_z", result.log_z);
  object.add("log_z_mcse", result.log_z_mcse);
  if (!result.exact && std::isfinite(result.effective_samples))
    object.add("effective_samples", result.effective_samples);
  object.add("exact", result.exact);
  add_judgement(judge(result), object);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
