// drover reproduce: an experiment of the papers, with the paper's value beside ours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/reproduce.hpp"

#include "app/output.hpp"
#include "app/progress.hpp"
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

int list_experiments(bool json) {
  if (json) {
    std::vector<std::string> list;
    for (const Experiment& one : experiments::all_experiments()) {
      JsonObject object;
      object.add("name", one.name);
      object.add("summary", one.summary);
      object.add("source", one.source);
      list.push_back(object.line());
    }
    JsonObject object;
    object.add_raw("experiments", json_list(list));
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
std::string markdown(const Experiment& experiment, const Reproduce& asked, const Outcome& outcome,
                     double seconds) {
  std::string text =
      fmt::format("# {}\n\n{} ({}). {} run, seed {}, {:.0f} s.\n\n", experiment.name, experiment.summary,
                  experiment.source, asked.quick ? "Quick" : "Full", asked.seed, seconds);
  text += "| | paper | ours | spread | |\n|---|---|---|---|---|\n";
  for (const std::vector<std::string>& cells : row_cells(outcome))
    text += fmt::format("| {} |\n", fmt::join(cells, " | "));
  text += "\n";
  for (const Claim& claim : outcome.claims)
    text += fmt::format("- {}: {}\n", claim.holds ? "holds" : "**does not hold**", claim.text);
  for (const std::string& note : outcome.notes) text += fmt::format("\nNote: {}.\n", note);
  return text;
}

std::string page(const Experiment& experiment, const Reproduce& asked, const Outcome& outcome, double seconds,
                 const std::vector<std::string>& warnings, const std::string& json) {
  ReportData data;
  data.title = fmt::format("{}: {}", experiment.name, experiment.summary);
  data.facts = {{"experiment", std::string(experiment.name)},
                {"source", std::string(experiment.source)},
                {"run", asked.quick ? "quick" : "full"},
                {"seed", std::to_string(asked.seed)},
                {"seconds", fmt::format("{:.1f}", seconds)}};
  const auto holds = static_cast<std::size_t>(std::count_if(outcome.claims.begin(), outcome.claims.end(),
                                                            [](const Claim& claim) { return claim.holds; }));
  data.verdict = holds == outcome.claims.size() ? Verdict::good : Verdict::caution;
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

int run_reproduce(const Reproduce& asked) {
  const Output& output = asked.output;
  if (asked.experiment == "list") return list_experiments(output.json);
  const Experiment& experiment = experiments::find_experiment(asked.experiment);
  check_outputs(output, {".json", ".md"});
  std::error_code ignored;
  if (!asked.data.empty() && !std::filesystem::is_directory(asked.data, ignored))
    throw Error(ErrorKind::cannot_read, fmt::format("{}: not a folder", asked.data));

  ProgressBar bar(output.quiet);
  const Outcome outcome = experiment.run(
      {.quick = asked.quick, .data = asked.data, .seed = asked.seed, .control = bar.control()});
  bar.clear();
  const double seconds = bar.seconds();

  Provenance provenance;
  provenance.question = "reproduce";
  provenance.input = asked.experiment;
  provenance.seed = asked.seed;
  provenance.options = {{"quick", asked.quick}, {"data", asked.data}, {"seed", asked.seed}};
  add_limits(asked.limits, provenance.options);
  std::vector<std::string>& warnings = provenance.warnings = outcome.notes;
  if (outcome.interrupted) warnings.emplace_back("stopped early: these are the rows that were finished");
  for (const Claim& claim : outcome.claims)
    if (!claim.holds) warnings.push_back("does not hold in this run: " + claim.text);

  JsonObject object = json_of(provenance);
  object.add("experiment", experiment.name);
  object.add("source", experiment.source);
  object.add("quick", asked.quick);
  std::vector<std::string> rows, claims;
  for (const Row& row : outcome.rows) {
    JsonObject one;
    one.add("name", row.name);
    one.add("paper", row.paper.value_or(not_known));
    one.add("ours", row.ours);
    one.add("spread", row.spread);
    if (!row.note.empty()) one.add("note", row.note);
    rows.push_back(one.line());
  }
  for (const Claim& claim : outcome.claims) {
    JsonObject one;
    one.add("claim", claim.text);
    one.add("holds", claim.holds);
    claims.push_back(one.line());
  }
  object.add_raw("rows", json_list(rows));
  object.add_raw("claims", json_list(claims));
  object.add("seconds", seconds);
  const bool wants_text = deliver(
      output, warnings, [&] { return object; },
      [&](const std::string& path) { write_file(path, markdown(experiment, asked, outcome, seconds)); },
      [&](const std::string& json) { return page(experiment, asked, outcome, seconds, warnings, json); });
  if (!wants_text) return 0;
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
