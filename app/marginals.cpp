// drover marginals: P(x_i) of every variable, as a table, JSON, a .MAR file and a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/page.hpp"
#include "app/task_run.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/result_files.hpp"

namespace drover::app {

namespace {

// The result in terms of the model's variables: observed ones are point masses without error.
struct Shown {
  std::vector<std::vector<double>> marginals;
  std::vector<std::vector<double>> mcse;
};

Shown spread_to_model(const Loaded& loaded, const MarginalsResult& result) {
  Shown shown;
  for (std::size_t v = 0; v < loaded.model.variable_count(); ++v) {
    const VariableId free = loaded.graph.free_variable[v];
    if (free != no_variable) {
      shown.marginals.push_back(result.marginals[free]);
      shown.mcse.push_back(result.mcse[free]);
      continue;
    }
    std::vector<double> point(loaded.model.cardinalities[v], 0.0);
    point[loaded.graph.clamped_value[v]] = 1;
    shown.marginals.push_back(std::move(point));
    shown.mcse.emplace_back(loaded.model.cardinalities[v], 0.0);
  }
  return shown;
}

template <class Rows>
Rows only_queried(const Loaded& loaded, const Rows& rows) {
  Rows picked;
  for (VariableId v : loaded.query) picked.push_back(rows[v]);
  return picked;
}

void print_table(const Loaded& loaded, const MarginalsResult& result, const Shown& shown) {
  constexpr std::size_t most_rows = 60;
  const auto observed = [&](VariableId v) {
    const auto& variables = loaded.evidence.variables;
    return std::find(variables.begin(), variables.end(), v) != variables.end();
  };
  TextTable table({"VARIABLE", "DISTRIBUTION"});
  std::size_t rows = 0;
  for (VariableId v : loaded.query) {
    if (!loaded.queried && rows++ == most_rows) break;
    std::string cells;
    const auto& p = shown.marginals[v];
    for (std::size_t k = 0; k < p.size() && (k < 12 || loaded.queried); ++k) {
      cells += fmt::format("{}{} {:.6f}", k > 0 ? "   " : "",
                           loaded.model.state_name(v, static_cast<Value>(k)), p[k]);
      if (!result.exact && shown.mcse[v][k] > 0) cells += fmt::format(" ± {:.1g}", shown.mcse[v][k]);
    }
    if (p.size() > 12 && !loaded.queried) cells += "   ... " + counted(p.size() - 12, "more state");
    if (loaded.graph.free_variable[v] == no_variable) cells += observed(v) ? "   (observed)" : "   (fixed)";
    table.row({loaded.model.variable_name(v), cells});
  }
  table.print();
  if (!loaded.queried && loaded.query.size() > most_rows)
    print_text(fmt::format("... and {}: --query NAME,... picks some, --out FILE.MAR or --json has all\n",
                           counted(loaded.query.size() - most_rows, "more variable")));
}

// Mean and standard deviation of the log score over the shown chains, at the recorded sweeps.
std::string trace_json(const Trace& trace) {
  std::vector<double> mean(trace.sweep.size(), 0.0), deviation(trace.sweep.size(), 0.0);
  const auto chains = static_cast<double>(trace.series.size());
  for (std::size_t r = 0; r < trace.sweep.size(); ++r) {
    for (const auto& series : trace.series) mean[r] += series[r] / chains;
    for (const auto& series : trace.series)
      deviation[r] += (series[r] - mean[r]) * (series[r] - mean[r]) / chains;
    deviation[r] = std::sqrt(deviation[r]);
  }
  return fmt::format("{{\"sweep\": {}, \"mean\": {}, \"sd\": {}}}", json_array(trace.sweep), json_array(mean),
                     json_array(deviation));
}

JsonObject result_object(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                         const MarginalsResult& result, const Shown& shown, double seconds) {
  JsonObject object = json_envelope(invocation, result.warnings, choice.because);
  object.add("method", std::string(choice.method->name));
  std::vector<std::string> names;
  if (loaded.queried || !loaded.model.variable_names.empty()) {
    for (VariableId v : loaded.query) names.push_back(loaded.model.variable_name(v));
    object.add("variables", names);
  }
  object.add_raw("marginals", json_nested(only_queried(loaded, shown.marginals)));
  object.add_raw("mcse", json_nested(only_queried(loaded, shown.mcse)));
  object.add("converged", result.converged);
  object.add("diagnostics", to_json(result.diagnostics));
  object.add("sweeps", result.sweeps);
  object.add("burn_in", result.burn_in);
  object.add("chains", result.chains);
  object.add("updates", result.updates);
  if (!result.pairs.empty()) {
    nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
    for (const auto& [i, j] : result.pairs)
      pairs.push_back({loaded.graph.model_variable[i], loaded.graph.model_variable[j]});
    object.add("pairs", pairs);
    object.add_raw("pair_marginals", json_nested(result.pair_marginals));
  }
  if (!result.best_state.empty()) {
    object.add_raw("best_state", json_array(whole_assignment(loaded.graph, result.best_state)));
    object.add("best_log_score", result.best_log_score);
    object.add_raw("log_score_trace", trace_json(result.scores));
  }
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", seconds);
  return object;
}

}  // namespace

int run_marginals(const Invocation& invocation) {
  check_outputs(invocation.settings, {".MAR", ".mar", ".json"});
  const auto run = run_task(invocation, Task::marginals,
                            [](const Method& method, const Problem& problem, const Monitor& monitor,
                               const Loaded&) { return method.marginals(problem, monitor); });
  const Loaded& loaded = run.loaded;
  const MarginalsResult& result = run.result;
  const Shown shown = spread_to_model(loaded, result);
  const JsonObject object = result_object(invocation, loaded, run.choice, result, shown, run.seconds);
  const bool wants_text = deliver(
      invocation, result, object, [&](const std::string& path) { write_mar(shown.marginals, path); },
      [&](const std::string& json) {
        return marginals_page(invocation, loaded, run.choice, result, run.seconds, json);
      });
  if (!wants_text) return 0;
  print_table(loaded, result, shown);
  std::string summary = "\nmethod " + run.method_text();
  if (!result.exact && result.chains == 0)
    summary += fmt::format("\n{} iterations; an approximation", result.sweeps);
  else if (!result.exact)
    summary += fmt::format(
        "\n{}, {} after {} of burn-in; largest R-hat {:.4f}, smallest ESS {:.0f}, largest MCSE "
        "{:.2g}",
        counted(result.chains, "chain"), counted(result.sweeps, "sweep"), result.burn_in,
        result.diagnostics.rhat_max, result.diagnostics.ess_min, result.diagnostics.mcse_max);
  const char* verdict = result.exact ? "exact" : result.converged ? "converged" : "NOT converged";
  print_text(summary + fmt::format("\n{}, {:.3f} s\n", verdict, run.seconds));
  return 0;
}

}  // namespace drover::app
