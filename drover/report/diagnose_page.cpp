#include "drover/report/diagnose_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/figures.hpp"
#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

std::string number(const char* format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

}  // namespace

std::string page_of(const DiagnoseResult& result, const std::string& json) {
  ReportData page;
  page.title = "Draws of " + file_name(result.provenance.input);
  page.facts = {{"File", result.provenance.input},
                {"Chains", std::to_string(result.chains)},
                {"Draws per chain", std::to_string(result.draws)},
                {"Variables", std::to_string(result.names.size())}};
  add_verdict(judge(result), page);
  page.warnings = result.provenance.warnings;
  page.result_json = json;
  ReportTable table{"Variables", "", {"Variable", "Mean", "R-hat", "ESS (bulk)", "ESS (tail)", "MCSE"}, {}};
  for (std::size_t v = 0; v < std::min<std::size_t>(result.names.size(), 10000); ++v) {
    const VariableDiagnosis& one = result.diagnostics.variables[v];
    table.rows.push_back({result.names[v], number("{:.5g}", one.mean), rhat_text(one.rhat),
                          ess_text(one.ess_bulk), ess_text(one.ess_tail), error_text(one.mcse)});
    if (std::isfinite(one.ess_bulk)) page.slowest.emplace_back(result.names[v], one.ess_bulk);
  }
  std::sort(page.slowest.begin(), page.slowest.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  page.slowest.resize(std::min<std::size_t>(20, page.slowest.size()));
  page.tables.push_back(std::move(table));
  return render_report(page);
}

}  // namespace drover
