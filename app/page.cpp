#include "app/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/compile/lattice.hpp"
#include "drover/core/version.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

ReportData common_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                       const RunFacts& run, double seconds, const std::string& result_json,
                       const std::string& what) {
  ReportData page;
  page.title = what + " of " + file_name(invocation.arguments.at(0));
  page.facts = {{"Model", invocation.arguments.at(0)},
                {"Variables", fmt::format("{} ({} observed or fixed)", loaded.model.variable_count(),
                                          loaded.model.variable_count() - loaded.graph.size())},
                {"Factors", std::to_string(loaded.model.factor_count())},
                {"Method", std::string(choice.method->name)}};
  if (!choice.because.empty()) page.facts.emplace_back("Chosen because", choice.because);
  page.facts.emplace_back("Seed", std::to_string(invocation.settings.seed));
  if (run.chains > 0) page.facts.emplace_back("Chains", std::to_string(run.chains));
  if (run.sweeps > 0)
    page.facts.emplace_back("Sweeps", fmt::format("{} after {} of burn-in", run.sweeps, run.burn_in));
  if (run.updates > 0 && seconds > 0)
    page.facts.emplace_back(
        "Updates", fmt::format("{:.3g} ({:.3g} per nanosecond)", run.updates, run.updates / seconds / 1e9));
  page.facts.emplace_back("Seconds", fmt::format("{:.3f}", seconds));
  page.facts.emplace_back("Version", version());
  page.warnings = run.warnings;
  page.result_json = result_json;
  for (std::size_t e = 0; e < loaded.evidence.size(); ++e)
    page.evidence.emplace_back(
        loaded.model.variable_name(loaded.evidence.variables[e]),
        loaded.model.state_name(loaded.evidence.variables[e], loaded.evidence.values[e]));
  return page;
}

std::vector<std::string> state_names(const Model& model, VariableId v) {
  std::vector<std::string> names;
  for (std::uint32_t k = 0; k < model.cardinalities[v]; ++k)
    names.push_back(model.state_name(v, static_cast<Value>(k)));
  return names;
}

void add_trace(ReportData& page, const std::string& name, const Trace& trace) {
  if (trace.sweep.size() < 2) return;
  ReportTrace added{name, trace.sweep, trace.series, {}};
  for (std::size_t s = 0; s < trace.series.size(); ++s)
    added.labels.push_back(trace.series.size() == 1 ? name : fmt::format("chain {}", s));
  page.traces.push_back(std::move(added));
}

void set_verdict(ReportData& page, const Diagnostics& diagnostics, bool converged) {
  if (converged) {
    page.verdict = ReportData::Verdict::good;
    page.verdict_text = fmt::format(
        "The chains agree: the largest R-hat is {:.3f} and the smallest effective sample size is {:.0f}. "
        "Trust each probability to within about three of its standard errors (largest: {:.2g}).",
        diagnostics.rhat_max, diagnostics.ess_min, diagnostics.mcse_max);
  } else {
    page.verdict = diagnostics.rhat_max > 1.1 ? ReportData::Verdict::bad : ReportData::Verdict::caution;
    page.verdict_text = fmt::format(
        "The run has not converged: the largest R-hat is {:.3f} (below 1.01 is wanted) and the smallest "
        "effective "
        "sample size is {:.0f} (above 400 is wanted). Run longer, or try another method.",
        diagnostics.rhat_max, diagnostics.ess_min);
  }
}

// A model that is a row-major grid of spins is also shown as a picture.
void add_grid_image(ReportData& page, const Loaded& loaded,
                    const std::vector<std::vector<double>>& free_marginals) {
  if (!loaded.graph.is_spin()) return;
  const auto lattice = recognise_lattice(spin_graph(loaded.graph));
  if (!lattice) return;
  ReportImage image{"P(x = 1) over the grid", lattice->width, lattice->height, {}};
  for (const auto& p : free_marginals) image.values.push_back(p[1]);
  page.images.push_back(std::move(image));
}

}  // namespace

std::string marginals_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                           const MarginalsResult& result, double seconds, const std::string& result_json) {
  ReportData page = common_page(invocation, loaded, choice, result, seconds, result_json, "Marginals");
  if (result.exact) {
    page.verdict = ReportData::Verdict::good;
    page.verdict_text = "These marginals are exact, up to rounding.";
  } else if (result.chains == 0) {
    page.verdict = ReportData::Verdict::caution;
    page.verdict_text =
        result.converged
            ? "The method has converged, but it approximates: how far these marginals are from the truth is "
              "not known."
            : "The method has not converged, and it approximates: do not rely on these marginals.";
  } else {
    set_verdict(page, result.diagnostics, result.converged);
  }
  std::vector<std::pair<std::string, double>> slowest;
  for (VariableId v : loaded.query) {
    const VariableId free = loaded.graph.free_variable[v];
    if (free == no_variable) continue;
    ReportMarginal row{loaded.model.variable_name(v),
                       state_names(loaded.model, v),
                       result.marginals[free],
                       {},
                       not_known,
                       not_known};
    if (!result.exact) {
      row.mcse = result.mcse[free];
      row.rhat = result.rhat[free];
      row.ess = result.ess[free];
      if (std::isfinite(row.ess)) slowest.emplace_back(row.variable, row.ess);
    }
    page.marginals.push_back(std::move(row));
  }
  const std::size_t shown = std::min<std::size_t>(slowest.size(), 20);
  std::partial_sort(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(shown), slowest.end(),
                    [](const auto& a, const auto& b) { return a.second < b.second; });
  slowest.resize(shown);
  page.slowest = std::move(slowest);
  add_trace(page, "log score", result.scores);
  add_trace(page, "R-hat", result.rhat_over_time);
  page.autocorrelation = result.score_autocorrelation;
  page.autocorrelation_step = result.score_lag;
  add_grid_image(page, loaded, result.marginals);
  return render_report(page);
}

std::string map_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                     const BestStateResult& result, double seconds, const std::string& result_json) {
  ReportData page =
      common_page(invocation, loaded, choice, result, seconds, result_json, "Most probable state");
  page.facts.emplace_back("Log score", fmt::format("{:.10g}", result.log_score));
  page.verdict = result.optimal ? ReportData::Verdict::good : ReportData::Verdict::caution;
  page.verdict_text = result.optimal ? "This state is proven to be a most probable one."
                                     : "This is the best state found; no proof says that none is better.";
  const auto assignment = whole_assignment(loaded.graph, result.assignment);
  ReportTable table{"Assignment", "", {"Variable", "State"}, {}};
  for (std::size_t r = 0; r < loaded.query.size() && r < 10000; ++r)
    table.rows.push_back({loaded.model.variable_name(loaded.query[r]),
                          loaded.model.state_name(loaded.query[r], assignment[loaded.query[r]])});
  if (loaded.query.size() > table.rows.size())
    table.caption = fmt::format("The first {} of {} variables.", table.rows.size(), loaded.query.size());
  page.tables.push_back(std::move(table));
  return render_report(page);
}

std::string logz_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                      const LogZResult& result, double seconds, const std::string& result_json) {
  ReportData page =
      common_page(invocation, loaded, choice, result, seconds, result_json, "Partition function");
  page.verdict = result.exact ? ReportData::Verdict::good : ReportData::Verdict::caution;
  page.verdict_text = result.exact ? fmt::format("log Z = {:.12g}, exact up to rounding.", result.log_z)
                                   : fmt::format("log Z is estimated as {:.8g}, with standard error {:.2g}.",
                                                 result.log_z, result.mcse);
  page.facts.emplace_back("log Z", fmt::format("{:.12g}", result.log_z));
  if (!result.exact)
    page.facts.emplace_back("Interval", fmt::format("{:.10g} to {:.10g}", result.lower, result.upper));
  return render_report(page);
}

std::string sample_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                        const SampleResult& result, double seconds, const std::string& result_json) {
  ReportData page = common_page(invocation, loaded, choice, result, seconds, result_json, "Samples");
  page.facts.emplace_back("Draws", std::to_string(result.draws));
  if (result.independent) {
    page.verdict = result.exact ? ReportData::Verdict::good : ReportData::Verdict::caution;
    page.verdict_text = result.exact ? "The draws are exact and independent."
                                     : "The draws are independent, of an approximation of the model.";
  } else {
    set_verdict(page, result.diagnostics, is_converged(result.diagnostics));
  }
  add_trace(page, "log score", result.scores);
  return render_report(page);
}

}  // namespace drover::app
