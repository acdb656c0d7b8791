// drover diagnose: R-hat, effective sample size and autocorrelation of a draws file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/settings_output.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/draws_diagnosis.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

/// Why the draws are not to be relied on; empty when they are, or when there is nothing to judge.
std::string doubt_of(const DrawFile& file, const DrawDiagnostics& diagnostics) {
  const Diagnostics worst{diagnostics.rhat_max, diagnostics.ess_min, diagnostics.mcse_max};
  if (is_converged(worst) || diagnostics.constant_variables == file.variables()) return "";
  if (std::isnan(worst.rhat_max)) return "there are too few draws to judge";
  return worst.rhat_max <= 1.01 ? "there are too few draws for firm figures (an effective 400 are wanted)"
                                : "these draws have not converged";
}

std::string diagnosis_page(const Invocation& invocation, const DrawFile& file,
                           const DrawDiagnostics& diagnostics, const std::vector<std::string>& warnings,
                           const std::string& json) {
  ReportData page;
  page.title = "Draws of " + file_name(invocation.arguments.at(0));
  page.facts = {{"File", invocation.arguments.at(0)},
                {"Chains", std::to_string(file.chains)},
                {"Draws per chain", std::to_string(file.draws)},
                {"Variables", std::to_string(file.variables())}};
  const std::string doubt = doubt_of(file, diagnostics);
  page.verdict = doubt.empty() ? ReportData::Verdict::good : ReportData::Verdict::caution;
  page.verdict_text =
      fmt::format("Largest R-hat {:.4f}, smallest effective sample size {:.0f}{}.", diagnostics.rhat_max,
                  diagnostics.ess_min, doubt.empty() ? "" : ": " + doubt);
  page.warnings = warnings;
  page.result_json = json;
  ReportTable table{"Variables", "", {"Variable", "Mean", "R-hat", "ESS (bulk)", "ESS (tail)", "MCSE"}, {}};
  for (std::size_t v = 0; v < std::min<std::size_t>(file.variables(), 10000); ++v) {
    const VariableDiagnosis& one = diagnostics.variables[v];
    table.rows.push_back({file.variable_names[v], fmt::format("{:.5g}", one.mean),
                          fmt::format("{:.4f}", one.rhat), fmt::format("{:.0f}", one.ess_bulk),
                          fmt::format("{:.0f}", one.ess_tail), fmt::format("{:.2g}", one.mcse)});
    if (std::isfinite(one.ess_bulk)) page.slowest.emplace_back(file.variable_names[v], one.ess_bulk);
  }
  std::sort(page.slowest.begin(), page.slowest.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  page.slowest.resize(std::min<std::size_t>(20, page.slowest.size()));
  page.tables.push_back(std::move(table));
  return render_report(page);
}

}  // namespace

int run_diagnose(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".json"});
  const DrawFile file = read_draws(invocation.arguments.at(0));
  const DrawDiagnostics diagnostics = diagnose_draws(file);
  std::vector<std::string> warnings;
  const std::string doubt = doubt_of(file, diagnostics);
  if (!doubt.empty())
    warnings.push_back(fmt::format("{}: largest R-hat {:.4f}, smallest effective sample size {:.0f}", doubt,
                                   diagnostics.rhat_max, diagnostics.ess_min));
  if (diagnostics.constant_variables > 0)
    warnings.push_back(fmt::format("{} of {} never change{}; nothing can be said of {}",
                                   diagnostics.constant_variables, counted(file.variables(), "variable"),
                                   diagnostics.constant_variables == 1 ? "s" : "",
                                   diagnostics.constant_variables == 1 ? "it" : "them"));

  SettingsObject object = json_envelope(invocation, warnings);
  object.add("draws", file.draws);
  object.add("chains", file.chains);
  object.add("diagnostics", to_json({diagnostics.rhat_max, diagnostics.ess_min, diagnostics.mcse_max}));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t v = 0; v < file.variables(); ++v) {
    const VariableDiagnosis& one = diagnostics.variables[v];
    rows.push_back({{"name", file.variable_names[v]},
                    {"mean", one.mean},
                    {"rhat", one.rhat},
                    {"ess_bulk", one.ess_bulk},
                    {"ess_tail", one.ess_tail},
                    {"mcse", one.mcse},
                    {"autocorrelation", one.autocorrelation},
                    {"autocorrelation_time", one.autocorrelation_time}});
  }
  object.add("variables", rows);
  if (!settings.out.empty()) write_file(settings.out, object.text());
  if (!settings.report.empty())
    write_file(settings.report, diagnosis_page(invocation, file, diagnostics, warnings, object.text()));
  print_warnings(settings.quiet, warnings);
  if (settings.json) print_json(object);
  if (settings.json || is_standard_output(settings.report)) return 0;
  const std::string size = counted(file.chains, "chain") + " of " + counted(file.draws, "draw");
  if (file.variables() == 0) {
    print_text(size + "; no variables\n");
    return 0;
  }
  constexpr std::size_t most_rows = 60;
  TextTable table({"VARIABLE", "MEAN", "R-HAT", "ESS BULK", "ESS TAIL", "MCSE", "LAG-1"});
  for (std::size_t v = 0; v < std::min(most_rows, file.variables()); ++v) {
    const VariableDiagnosis& one = diagnostics.variables[v];
    table.row({file.variable_names[v], fmt::format("{:.5g}", one.mean), fmt::format("{:.4f}", one.rhat),
               fmt::format("{:.0f}", one.ess_bulk), fmt::format("{:.0f}", one.ess_tail),
               fmt::format("{:.2g}", one.mcse), fmt::format("{:.3f}", one.autocorrelation)});
  }
  table.print();
  if (file.variables() > most_rows)
    print_text(fmt::format("... and {}: --json or --out FILE.json has all\n",
                           counted(file.variables() - most_rows, "more variable")));
  print_text(fmt::format("\n{}; largest R-hat {:.4f}, smallest ESS {:.0f}\n", size, diagnostics.rhat_max,
                         diagnostics.ess_min));
  return 0;
}

}  // namespace drover::app
