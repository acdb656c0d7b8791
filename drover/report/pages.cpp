#include "drover/report/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/compile/graph.hpp"
#include "drover/compile/lattice.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/version.hpp"
#include "drover/draw/network.hpp"
#include "drover/report/page_parts.hpp"
#include "drover/report/report.hpp"

namespace drover {

namespace {

ReportData common_page(const ModelAnswer& answer, const Judgement& judgement, const std::string& json,
                       const std::string& what) {
  const Provenance& origin = answer.provenance;
  ReportData page;
  page.title = what + " of " + file_name(origin.input);
  page.facts = {
      {"Model", origin.input},
      {"Variables", fmt::format("{} ({} observed or fixed)", answer.variables, answer.fixed.size())},
      {"Factors", std::to_string(answer.factors)},
      {"Method", origin.method}};
  if (!origin.because.empty()) page.facts.emplace_back("Chosen because", origin.because);
  page.facts.emplace_back("Seed", std::to_string(origin.seed));
  if (answer.chains > 0) page.facts.emplace_back("Chains", std::to_string(answer.chains));
  if (answer.sweeps > 0)
    page.facts.emplace_back("Sweeps", fmt::format("{} after {} of burn-in", answer.sweeps, answer.burn_in));
  if (answer.updates > 0 && origin.seconds > 0)
    page.facts.emplace_back("Updates", fmt::format("{:.3g} ({:.3g} per nanosecond)", answer.updates,
                                                   answer.updates / origin.seconds / 1e9));
  page.facts.emplace_back("Seconds", fmt::format("{:.3f}", origin.seconds));
  page.facts.emplace_back("Version", version());
  page.warnings = origin.warnings;
  page.result_json = json;
  for (std::size_t e = 0; e < answer.evidence.size(); ++e)
    page.evidence.emplace_back(answer.names.variable(answer.evidence.variables[e]),
                               answer.names.state(answer.evidence.variables[e], answer.evidence.values[e]));
  for (std::size_t l = 0; l < answer.evidence.likelihoods.size(); ++l) {
    std::string likelihood;
    for (double value : answer.evidence.likelihoods.values(l))
      likelihood += fmt::format("{}{:g}", likelihood.empty() ? "likelihood " : " : ", std::exp(value));
    page.evidence.emplace_back(answer.names.variable(answer.evidence.likelihoods.variables[l]), likelihood);
  }
  for (std::size_t e = 0; e < answer.set.size(); ++e)
    page.evidence.emplace_back(answer.names.variable(answer.set.variables[e]),
                               answer.names.state(answer.set.variables[e], answer.set.values[e]) + " (set)");
  add_verdict(judgement, page);
  return page;
}

std::vector<VariableId> shown(const ModelAnswer& answer, std::span<const VariableId> query) {
  std::vector<VariableId> variables(query.begin(), query.end());
  if (query.empty())
    for (std::size_t v = 0; v < answer.variables; ++v) variables.push_back(static_cast<VariableId>(v));
  return variables;
}

void add_trace(ReportData& page, const std::string& name, const Trace& trace) {
  if (trace.sweep.size() < 2) return;
  ReportTrace added{name, trace.sweep, trace.series, {}};
  for (std::size_t s = 0; s < trace.series.size(); ++s)
    added.labels.push_back(trace.series.size() == 1 ? name : fmt::format("chain {}", s));
  page.traces.push_back(std::move(added));
}

void add_grid_image(ReportData& page, const Marginals& answer, const Model& model) {
  const Graph graph = compile(model);
  if (!graph.is_spin() || graph.size() != answer.variables) return;
  const auto lattice = recognise_lattice(graph);
  if (!lattice) return;
  ReportImage image{"P(x = 1) over the grid", lattice->width, lattice->height, {}};
  for (std::size_t v = 0; v < answer.variables; ++v) image.values.push_back(answer.probabilities[v][1]);
  page.images.push_back(std::move(image));
}

/// Bayesian networks that can be taken in at a glance.
void add_network(ReportData& page, const Marginals& answer, const Model& model) {
  constexpr std::size_t most_variables = 60;
  if (model.kind != ModelKind::bayes || model.variable_count() > most_variables) return;
  page.network_svg = network_svg(model, answer.probabilities, answer.evidence);
}

void add_race(ReportData& page, const std::vector<RaceEntry>& race) {
  if (race.empty()) return;
  ReportTable table{
      "The race of samplers",
      "Work is counted, about a nanosecond of one core a unit. The sampler whose slowest entries gained most "
      "effective samples per work went on.",
      {"Sampler", "Chains", "Sweeps", "Work", "Effective samples per 10^9", "R-hat", "Nested R-hat", ""},
      {}};
  const auto figure = [](double value, const char* format) {
    return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : std::string("-");
  };
  for (const RaceEntry& entry : race)
    table.rows.push_back({entry.method, std::to_string(entry.chains), std::to_string(entry.sweeps),
                          figure(entry.work, "{:.3g}"), figure(1e9 * entry.ess_per_work, "{:.3g}"),
                          rhat_text(entry.rhat_max), rhat_text(entry.nested_rhat_max),
                          entry.chosen ? "chosen" : entry.note});
  page.tables.push_back(std::move(table));
}

}  // namespace

std::string page_of(const Marginals& answer, const Model& model, const std::string& json,
                    std::span<const VariableId> query) {
  ReportData page = common_page(answer, judge(answer), json, "Marginals");
  std::vector<std::pair<std::string, double>> slowest;
  for (VariableId v : shown(answer, query)) {
    if (std::ranges::binary_search(answer.fixed, v)) continue;
    const std::span<const double> p = answer.probabilities[v];
    ReportMarginal row{answer.names.variable(v), {}, {p.begin(), p.end()}, {}, not_known, not_known};
    for (std::size_t k = 0; k < p.size(); ++k) row.states.push_back(answer.names.state(v, k));
    if (!answer.exact) {
      const std::span<const double> error = answer.mcse[v];
      row.mcse.assign(error.begin(), error.end());
      row.rhat = answer.rhat[v];
      row.ess = answer.ess[v];
      if (std::isfinite(row.ess)) slowest.emplace_back(row.variable, row.ess);
    }
    page.marginals.push_back(std::move(row));
  }
  const std::size_t most = std::min<std::size_t>(slowest.size(), 20);
  std::partial_sort(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(most), slowest.end(),
                    [](const auto& a, const auto& b) { return a.second < b.second; });
  slowest.resize(most);
  page.slowest = std::move(slowest);
  add_trace(page, "log score", answer.scores);
  add_trace(page, "R-hat", answer.rhat_over_time);
  page.autocorrelation = answer.score_autocorrelation;
  page.autocorrelation_step = answer.score_lag;
  add_grid_image(page, answer, model);
  add_network(page, answer, model);
  add_race(page, answer.race);
  return render_report(page);
}

std::string page_of(const BestState& answer, const std::string& json, std::span<const VariableId> query) {
  ReportData page = common_page(answer, judge(answer), json, "Most probable state");
  page.facts.emplace_back("Log score", log_text(answer.log_score));
  if (std::isfinite(answer.upper) && !answer.optimal)
    page.facts.emplace_back("At most", log_text(answer.upper));
  if (!answer.states.empty()) {
    ReportTable ranks{"Best states", "Their log scores, best first.", {"Rank", "Log score"}, {}};
    for (std::size_t k = 0; k < answer.states.size() && k < 1000; ++k)
      ranks.rows.push_back({fmt::format("{}", k + 1), log_text(answer.states[k].log_score)});
    page.tables.push_back(std::move(ranks));
  }
  const std::vector<VariableId> variables = shown(answer, query);
  ReportTable table{"Assignment", "", {"Variable", "State"}, {}};
  for (std::size_t r = 0; r < variables.size() && r < 10000; ++r)
    table.rows.push_back({answer.names.variable(variables[r]),
                          answer.names.state(variables[r], answer.assignment[variables[r]])});
  if (variables.size() > table.rows.size())
    table.caption = fmt::format("The first {} of {} variables.", table.rows.size(), variables.size());
  page.tables.push_back(std::move(table));
  return render_report(page);
}

std::string page_of(const BestValues& answer, const std::string& json) {
  ReportData page = common_page(answer, judge(answer), json, "Most probable values");
  page.facts.emplace_back("Log probability", log_text(answer.log_probability));
  if (!answer.optimal) page.facts.emplace_back("At most", log_text(answer.upper));
  ReportTable table{"Assignment", "The other variables are summed out.", {"Variable", "State"}, {}};
  for (std::size_t k = 0; k < answer.of.size(); ++k)
    table.rows.push_back(
        {answer.names.variable(answer.of[k]), answer.names.state(answer.of[k], answer.assignment[k])});
  page.tables.push_back(std::move(table));
  return render_report(page);
}

std::string page_of(const LogZ& answer, const std::string& json) {
  ReportData page = common_page(answer, judge(answer), json, "Partition function");
  page.facts.emplace_back("log Z", log_text(answer.log_z, 12));
  const auto add = [&](const char* name, double lower, double upper) {
    if (std::isfinite(lower) && std::isfinite(upper))
      page.facts.emplace_back(name, log_text(lower) + " to " + log_text(upper));
    else if (std::isfinite(lower))
      page.facts.emplace_back(name, "at least " + log_text(lower));
    else if (std::isfinite(upper))
      page.facts.emplace_back(name, "at most " + log_text(upper));
  };
  if (!answer.exact) add("Certified", answer.lower, answer.upper);
  add("Interval of 95 %", answer.interval_lower, answer.interval_upper);
  return render_report(page);
}

std::string page_of(const Samples& answer, const std::string& json) {
  ReportData page = common_page(answer, judge(answer), json, "Samples");
  page.facts.emplace_back("Draws", std::to_string(answer.draws));
  add_trace(page, "log score", answer.scores);
  return render_report(page);
}

}  // namespace drover
