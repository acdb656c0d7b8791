// drover diagnose: R-hat, effective sample size and autocorrelation of a draws file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/draws_diagnosis.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

std::string diagnosis_page(const Invocation& invocation, const DrawFile& file,
                           const DrawDiagnostics& diagnostics, const std::vector<std::string>& warnings,
                           const std::string& json) {
  ReportData page;
  page.title = "Draws of " + file_name(invocation.arguments.at(0));
  page.facts = {{"File", invocation.arguments.at(0)},
                {"Chains", std::to_string(file.chains)},
                {"Draws per chain", std::to_string(file.draws)},
                {"Variables", std::to_string(file.variables())}};
  const bool good = diagnostics.rhat_max <= 1.01 && diagnostics.ess_min >= 400;
  page.verdict = good ? ReportData::Verdict::good : ReportData::Verdict::caution;
  page.verdict_text =
      fmt::format("Largest R-hat {:.4f}, smallest effective sample size {:.0f}{}.", diagnostics.rhat_max,
                  diagnostics.ess_min, good ? "" : ": these draws have not converged");
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
  if (!(diagnostics.rhat_max <= 1.01 && diagnostics.ess_min >= 400) &&
      diagnostics.constant_variables < file.variables())
    warnings.push_back(fmt::format(
        "these draws have not converged: largest R-hat {:.4f}, smallest effective sample size {:.0f}",
        diagnostics.rhat_max, diagnostics.ess_min));
  if (diagnostics.constant_variables > 0)
    warnings.push_back(fmt::format("{} of {} variables never change; nothing can be said of them",
                                   diagnostics.constant_variables, file.variables()));

  JsonObject object = json_envelope(invocation, warnings);
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
  print_warnings(settings, warnings);
  if (settings.json) {
    print_json(object);
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
    print_text(fmt::format("... and {} more variables: --json or --out FILE.json has all\n",
                           file.variables() - most_rows));
  print_text(fmt::format("\n{} chains of {} draws; largest R-hat {:.4f}, smallest ESS {:.0f}\n", file.chains,
                         file.draws, diagnostics.rhat_max, diagnostics.ess_min));
  return 0;
}

}  // namespace drover::app
