#include "drover/task/diagnose.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/watch_while.hpp"
#include "drover/run/result.hpp"

namespace drover {

namespace {

/// Draws files say which command made them.
bool made_by_herding(const std::string& metadata) {
  const nlohmann::json json = nlohmann::json::parse(metadata, nullptr, false);
  return json.is_object() && json.contains("command") && json["command"] == "herd";
}

/// What the run that made the draws warned of.
std::vector<std::string> warnings_of(const std::string& metadata) {
  std::vector<std::string> warnings;
  const nlohmann::json json = nlohmann::json::parse(metadata, nullptr, false);
  if (!json.is_object() || !json.contains("warnings") || !json["warnings"].is_array()) return warnings;
  for (const nlohmann::json& warning : json["warnings"])
    if (warning.is_string())
      warnings.push_back("the run that made these draws warned: " + warning.get<std::string>());
  return warnings;
}

/// Empty when nothing is known.
std::string figures(const DrawDiagnostics& worst) {
  if (std::isnan(worst.rhat_max)) return "";
  std::string text = "largest R-hat " + rhat_text(worst.rhat_max);
  if (std::isfinite(worst.ess_min)) text += ", smallest effective sample size " + ess_text(worst.ess_min);
  return text;
}

/// R-hat is about sqrt(1 + chains / effective draws): many short chains are above 1.01 with nothing wrong. Up to
/// this, every half of a chain has ten effective draws and has left the place where it began.
constexpr double most_rhat_of_short_chains = 1.05;

bool has_short_chains(const DrawDiagnostics& worst) {
  return worst.rhat_max > 1.01 && worst.rhat_max <= most_rhat_of_short_chains &&
         has_enough_draws(Diagnostics{worst.rhat_max, worst.ess_min, worst.mcse_max});
}

/// Why the draws are not to be relied on; empty when they are, or when there is nothing to judge.
std::string doubt_of(const DiagnoseResult& result) {
  const DrawDiagnostics& worst = result.diagnostics;
  if (!result.random)
    return "these are pseudo-samples of herding, which leaves nothing to chance: R-hat and "
           "effective sample size say nothing of them";
  if (result.converged || worst.constant_variables == result.names.size()) return "";
  if (std::isnan(worst.rhat_max)) return "there are too few draws to judge";
  if (has_short_chains(worst))
    return fmt::format(
        "the chains do not contradict one another, but with {} each they are too short to show that "
        "they agree (R-hat of at most 1.01 is wanted): {}",
        counted(result.draws, "draw"), figures(worst));
  return (worst.rhat_max <= 1.01 ? "there are too few draws for firm figures (an effective 400 are wanted): "
                                 : "these draws have not converged: ") +
         figures(worst);
}

}  // namespace

DiagnoseResult diagnose(const DrawFile& draws, const std::string& input, const RunControl& control) {
  const double start = control.seconds();
  DiagnoseResult result;
  const auto work = [&] {
    with_threads(control, [&] { result.diagnostics = diagnose_draws(draws, control); });
  };
  constexpr std::size_t long_work = std::size_t{1} << 20;  // numbers: some tenths of a second
  if (draws.draws * draws.chains * draws.variables() < long_work)
    work();
  else
    watch_while(control, work);
  result.provenance.question = "diagnose";
  result.provenance.input = input;
  result.draws = draws.draws;
  result.chains = draws.chains;
  result.names = draws.variable_names;
  result.random = !made_by_herding(draws.metadata);
  const DrawDiagnostics& worst = result.diagnostics;
  result.converged = is_converged(Diagnostics{worst.rhat_max, worst.ess_min, worst.mcse_max});
  if (const std::string doubt = doubt_of(result); !doubt.empty()) result.provenance.warnings.push_back(doubt);
  for (std::string& warning : warnings_of(draws.metadata))
    result.provenance.warnings.push_back(std::move(warning));
  if (worst.constant_variables > 0)
    result.provenance.warnings.push_back(
        fmt::format("{} of {} never change{}; nothing can be said of {}", worst.constant_variables,
                    counted(result.names.size(), "variable"), worst.constant_variables == 1 ? "s" : "",
                    worst.constant_variables == 1 ? "it" : "them"));
  result.provenance.seconds = control.seconds() - start;
  return result;
}

Judgement judge(const DiagnoseResult& result) {
  const std::string doubt = doubt_of(result), worst = figures(result.diagnostics);
  if (!doubt.empty()) {
    const bool apart =
        result.random && result.diagnostics.rhat_max > 1.01 && !has_short_chains(result.diagnostics);
    std::string text = doubt + ".";
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return {apart ? Verdict::bad : Verdict::caution, text};
  }
  if (worst.empty()) return {Verdict::caution, "No variable changes, so there is nothing to judge."};
  return with_warnings({Verdict::good, fmt::format("These draws look reliable: {}.", worst)},
                       result.provenance.warnings);
}

JsonObject to_json(const DiagnoseResult& result) {
  const DrawDiagnostics& worst = result.diagnostics;
  JsonObject object = json_of(result.provenance);
  object.add("draws", result.draws);
  object.add("chains", result.chains);
  object.add("converged", result.converged);
  add_judgement(judge(result), object);
  JsonObject diagnostics;
  diagnostics.add("rhat_max", worst.rhat_max);
  diagnostics.add("ess_min", worst.ess_min);
  diagnostics.add("mcse_max", worst.mcse_max);
  object.add("diagnostics", diagnostics);
  std::vector<std::string> rows;
  for (std::size_t v = 0; v < result.names.size(); ++v) {
    const VariableDiagnosis& one = worst.variables[v];
    JsonObject row;
    row.add("name", result.names[v]);
    row.add("mean", one.mean);
    row.add("rhat", one.rhat);
    row.add("ess_bulk", one.ess_bulk);
    row.add("ess_tail", one.ess_tail);
    row.add("mcse", one.mcse);
    row.add("autocorrelation", one.autocorrelation);
    row.add("autocorrelation_time", one.autocorrelation_time);
    rows.push_back(row.line());
  }
  object.add_raw("variables", json_list(rows));
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
