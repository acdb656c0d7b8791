// drover reproduce: an experiment of the papers, with the paper's value beside ours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/report/report.hpp"
#include "experiments/experiment.hpp"

namespace drover::app {

namespace {

using experiments::Claim;
using experiments::Experiment;
using experiments::Outcome;
using experiments::Row;

std::string number(double value) {
  return std::isnan(value) ? "" : fmt::format("{:.4g}", value);
}

std::string paper_text(const Row& row) {
  return row.paper ? number(*row.paper) : "";
}

int list_experiments(const Settings& settings) {
  if (settings.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Experiment& one : experiments::all_experiments())
      list.push_back({{"name", one.name}, {"summary", one.summary}, {"source", one.source}});
    SettingsObject object;
    object.add("experiments", list);
    print_json(object);
    return 0;
  }
  TextTable table({"EXPERIMENT", "SOURCE", "SHOWS"});
  for (const Experiment& one : experiments::all_experiments())
    table.row({std::string(one.name), std::string(one.source), std::string(one.summary)});
  table.print();
  return 0;
}

std::vector<std::vector<std::string>> row_cells(const Outcome& outcome) {
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : outcome.rows)
    cells.push_back({row.name, paper_text(row), number(row.ours), number(row.spread), row.note});
  return cells;
}

/// The result as a page of documentation.
std::string markdown(const Experiment& experiment, const Settings& settings, const Outcome& outcome,
                     double seconds) {
  std::string text =
      fmt::format("# {}\n\n{} ({}). {} run, seed {}, {:.0f} s.\n\n", experiment.name, experiment.summary,
                  experiment.source, settings.quick ? "Quick" : "Full", settings.seed, seconds);
  text += "| | paper | ours | spread | |\n|---|---|---|---|---|\n";
  for (const std::vector<std::string>& cells : row_cells(outcome))
    text += fmt::format("| {} |\n", fmt::join(cells, " | "));
  text += "\n";
  for (const Claim& claim : outcome.claims)
    text += fmt::format("- {}: {}\n", claim.holds ? "holds" : "**does not hold**", claim.text);
  for (const std::string& note : outcome.notes) text += fmt::format("\nNote: {}.\n", note);
  return text;
}

std::string page(const Experiment& experiment, const Invocation& invocation, const Outcome& outcome,
                 double seconds, const std::vector<std::string>& warnings, const std::string& json) {
  ReportData data;
  data.title = fmt::format("{}: {}", experiment.name, experiment.summary);
  data.facts = {{"experiment", std::string(experiment.name)},
                {"source", std::string(experiment.source)},
                {"run", invocation.settings.quick ? "quick" : "full"},
                {"seed", std::to_string(invocation.settings.seed)},
                {"seconds", fmt::format("{:.1f}", seconds)}};
  const auto holds = static_cast<std::size_t>(std::count_if(outcome.claims.begin(), outcome.claims.end(),
                                                            [](const Claim& claim) { return claim.holds; }));
  data.verdict = holds == outcome.claims.size() ? ReportData::Verdict::good : ReportData::Verdict::caution;
  data.verdict_text = fmt::format("{} of {} claims hold in this run.", holds, outcome.claims.size());
  data.warnings = warnings;
  data.tables.push_back({"Results",
                         "The paper's value beside ours; spread is the standard deviation over repetitions.",
                         {"", "Paper", "Ours", "Spread", ""},
                         row_cells(outcome)});
  ReportTable claims{"Claims", "", {"Claim", "Holds"}, {}};
  for (const Claim& claim : outcome.claims) claims.rows.push_back({claim.text, claim.holds ? "yes" : "NO"});
  data.tables.push_back(std::move(claims));
  data.tables.insert(data.tables.end(), outcome.tables.begin(), outcome.tables.end());
  for (const experiments::Figure& figure : outcome.figures)
    data.figures.push_back(experiments::to_report(figure));
  data.images = outcome.images;
  data.result_json = json;
  return render_report(data);
}

}  // namespace

int run_reproduce(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (invocation.arguments.at(0) == "list") return list_experiments(settings);
  const Experiment& experiment = experiments::find_experiment(invocation.arguments.at(0));
  check_outputs(settings, {".json", ".md"});
  std::error_code ignored;
  if (!settings.data.empty() && !std::filesystem::is_directory(settings.data, ignored))
    throw Error(ErrorKind::cannot_read, fmt::format("{}: not a folder", settings.data));

  ProgressBar bar(settings.quiet);
  const experiments::Options options{.quick = settings.quick,
                                     .data = settings.data,
                                     .seed = static_cast<std::uint64_t>(settings.seed),
                                     .control = bar.control()};
  const Outcome outcome = experiment.run(options);
  bar.clear();
  const double seconds = bar.seconds();

  std::vector<std::string> warnings = outcome.notes;
  if (outcome.interrupted) warnings.emplace_back("stopped early: these are the rows that were finished");
  for (const Claim& claim : outcome.claims)
    if (!claim.holds) warnings.push_back("does not hold in this run: " + claim.text);

  SettingsObject object = json_envelope(invocation, warnings);
  object.add("experiment", experiment.name);
  object.add("source", experiment.source);
  object.add("quick", settings.quick);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : outcome.rows) {
    nlohmann::ordered_json one = {{"name", row.name}};
    one["paper"] = row.paper ? nlohmann::ordered_json(*row.paper) : nlohmann::ordered_json();
    one["ours"] = row.ours;
    one["spread"] = row.spread;
    if (!row.note.empty()) one["note"] = row.note;
    rows.push_back(std::move(one));
  }
  object.add("rows", rows);
  nlohmann::ordered_json claims = nlohmann::ordered_json::array();
  for (const Claim& claim : outcome.claims) claims.push_back({{"claim", claim.text}, {"holds", claim.holds}});
  object.add("claims", claims);
  object.add("seconds", seconds);
  if (!settings.out.empty())
    write_file(settings.out, ends_with(settings.out, ".md") ? markdown(experiment, settings, outcome, seconds)
                                                            : object.text());
  if (!settings.report.empty())
    write_file(settings.report, page(experiment, invocation, outcome, seconds, warnings, object.text()));
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  TextTable table(
      {fmt::format("{} ({})", experiment.name, experiment.source), "PAPER", "OURS", "SPREAD", ""});
  for (std::vector<std::string>& cells : row_cells(outcome)) table.row(std::move(cells));
  table.print();
  if (!outcome.claims.empty()) print_text("\n");
  for (const Claim& claim : outcome.claims)
    print_text(fmt::format("{}  {}\n", claim.holds ? "holds        " : "DOES NOT HOLD", claim.text));
  return 0;
}

}  // namespace drover::app
