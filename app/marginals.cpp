// drover marginals: P(x_i) of every variable, as a table, JSON, a .MAR file and a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/cases.hpp"
#include "drover/io/result_files.hpp"
#include "drover/report/pages.hpp"
#include "drover/task/cases.hpp"
#include "drover/task/guess.hpp"
#include "drover/task/parts.hpp"

namespace drover::app {

namespace {

// Why a variable has no distribution of its own, or what is known of it.
std::string standing(const Marginals& answer, VariableId v) {
  const auto holds = [&](const std::vector<VariableId>& list) {
    return std::ranges::find(list, v) != list.end();
  };
  if (holds(answer.set.variables)) return "   (set)";
  if (holds(answer.evidence.variables)) return "   (observed)";
  if (holds(answer.evidence.likelihoods.variables)) return "   (soft evidence)";
  return std::ranges::binary_search(answer.fixed, v) ? "   (fixed)" : "";
}

void print_table(const Marginals& answer, const std::vector<VariableId>& query) {
  constexpr std::size_t most_rows = 60, most_states = 12;
  const bool queried = !query.empty();
  const std::size_t rows = queried ? query.size() : std::min(most_rows, answer.variables);
  TextTable table({"VARIABLE", "DISTRIBUTION"});
  for (std::size_t r = 0; r < rows; ++r) {
    const VariableId v = queried ? query[r] : static_cast<VariableId>(r);
    const std::span<const double> p = answer.probabilities[v];
    std::string cells;
    for (std::size_t k = 0; k < p.size() && (k < most_states || queried); ++k) {
      cells += fmt::format("{}{} {:.6f}", k > 0 ? "   " : "", answer.names.state(v, k), p[k]);
      if (!answer.exact && answer.mcse[v][k] > 0) cells += " ± " + error_text(answer.mcse[v][k], 1);
    }
    if (p.size() > most_states && !queried)
      cells += "   ... " + counted(p.size() - most_states, "more state");
    cells += standing(answer, v);
    table.row({answer.names.variable(v), cells});
  }
  table.print();
  if (!queried && answer.variables > rows)
    print_text(fmt::format("... and {}: --query NAME,... picks some, --out FILE.MAR or --json has all\n",
                           counted(answer.variables - rows, "more variable")));
}

void print_joint(const Joint& joint, const Marginals& answer) {
  constexpr std::size_t most_rows = 60;
  std::vector<std::string> header;
  for (VariableId v : joint.variables) header.push_back(answer.names.variable(v));
  header.emplace_back("PROBABILITY");
  print_text("\n");
  TextTable table(header);
  std::vector<std::size_t> index(joint.variables.size(), 0);
  for (std::size_t e = 0; e < joint.probabilities.size() && e < most_rows; ++e) {
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < index.size(); ++k)
      cells.push_back(answer.names.state(joint.variables[k], index[k]));
    cells.push_back(fmt::format("{:.6f}", joint.probabilities[e]));
    if (joint.mcse[e] > 0) cells.back() += " ± " + error_text(joint.mcse[e], 1);
    table.row(cells);
    for (std::size_t k = index.size(); k-- > 0;) {
      if (++index[k] < answer.probabilities[joint.variables[k]].size()) break;
      index[k] = 0;
    }
  }
  table.print();
  if (joint.probabilities.size() > most_rows)
    print_text(fmt::format("... and {}: --json has all\n",
                           counted(joint.probabilities.size() - most_rows, "more state")));
}

std::string summary(const Marginals& answer) {
  std::string text = "\n" + method_text(answer.provenance);
  // Mean field starts in several places, but has no chains that could be judged.
  const bool has_chains =
      answer.chains > 0 && answer.provenance.method.find("mean-field") == std::string::npos;
  if (!answer.exact && !has_chains)
    text += fmt::format("\n{}; an approximation", counted(answer.sweeps, "iteration"));
  else if (!answer.exact)
    text +=
        fmt::format("\n{}, {} after {} of burn-in; {}", counted(answer.chains, "chain"),
                    counted(answer.sweeps, "sweep"), answer.burn_in, diagnostics_text(answer.diagnostics));
  const char* verdict = answer.exact ? "exact" : answer.converged ? "converged" : "NOT converged";
  text += fmt::format("\n{}, {:.3f} s\n", verdict, answer.provenance.seconds);
  return answer.exact ? text : text + judge(answer).text + "\n";
}

void print_race(const std::vector<RaceEntry>& race) {
  TextTable table({"SAMPLER", "WORK", "ESS PER 10^9", "R-HAT", ""});
  for (const RaceEntry& entry : race)
    table.row({entry.method, entry.work > 0 ? fmt::format("{:.2g}", entry.work) : "",
               std::isfinite(entry.ess_per_work) ? fmt::format("{:.3g}", 1e9 * entry.ess_per_work) : "",
               std::isnan(entry.rhat_max) ? "" : rhat_text(entry.rhat_max),
               entry.chosen ? "chosen" : entry.note});
  table.print();
}

int run_cases(const Call& call, Question& question, const std::string& path) {
  if (!goes_on_alone()) return 0;
  const Output& output = question.output;
  for (const char* option : {"joint", "pairs", "report", "checkpoint", "check"})
    if (call.was_given(option))
      throw Error(ErrorKind::usage, fmt::format("--{} goes with one question, not with --cases", option));
  check_outputs(output, {".csv", ".csv.gz", "-"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  const Cases cases = read_cases(loaded.model, path, run_control());
  CaseAnswers answer = answer_cases(loaded.model, cases.rows, loaded.query, question.options, run_control());
  add_settings(question, answer.provenance.options);
  answer.provenance.options["cases"] = path;
  if (!output.out.empty()) write_file(output.out, csv_of(answer));
  print_warnings(output.quiet, answer.provenance.warnings);
  if (output.json)
    print_json(to_json(answer));
  else if (output.out.empty())
    print_text(csv_of(answer));
  else if (!is_standard_output(output.out))
    print_text(fmt::format("{} in {}\n{}\n{}, {:.3f} s\n", counted(answer.cases, "case"), output.out,
                           method_text(answer.provenance), judge(answer).text, answer.provenance.seconds));
  return 0;
}

int run_parts(const Call& call, Question& question) {
  const Output& output = question.output;
  for (const char* option : {"cases", "query", "evidence", "report", "samples"})
    if (call.was_given(option))
      throw Error(ErrorKind::usage, fmt::format("--{} needs a whole model, not a folder of parts", option));
  const ProgressBar bar(output.quiet);
  apply(question.limits);
  PartsAnswer answer = marginals_of_parts(call.arguments[0], output.out, question.options, run_control());
  if (!speaks()) return 0;
  add_limits(question.limits, answer.provenance.options);
  print_warnings(output.quiet, answer.provenance.warnings);
  if (output.json) {
    print_json(to_json(answer));
    return 0;
  }
  constexpr double mega = 1e6;
  print_text(fmt::format(
      "{} in {}, {}\nmethod {}; {}, {} after {} of burn-in, {:.3g} updates a second\n"
      "log score {:.6g} on average; {} exchanges and {:.0f} bytes a sweep leave a rank\n"
      "memory of a rank: {:.1f} MB predicted, {:.1f} MB at most\n{}\n{}{:.3f} s\n",
      counted(answer.variables, "variable"), counted(answer.parts, "part"), counted(answer.ranks, "rank"),
      answer.provenance.method, counted(answer.chains, "chain"), counted(answer.sweeps, "sweep"),
      answer.burn_in, answer.updates / answer.sampling_seconds, answer.mean_log_score,
      answer.exchanges_per_sweep, answer.most_bytes_per_sweep, answer.predicted_memory / mega,
      answer.peak_memory / mega, judge(answer).text,
      output.out.empty() ? "--out FOLDER has the marginals; " : "marginals in " + output.out + "; ",
      answer.provenance.seconds));
  return 0;
}

int run_marginals(const Call& call, Question& question, const std::string& cases) {
  if (is_parts_folder(call.arguments[0])) return run_parts(call, question);
  if (!cases.empty()) return run_cases(call, question, cases);
  const Output& output = question.output;
  check_outputs(output, {".MAR", ".mar", ".json", ".csv", ".csv.gz", "-"}, question.options.checkpoint.file,
                call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  if (run_control().has_time_limit() && guesses_at_deadline(question.options, run_control().ranks().size()))
    expect_result();
  question.options.every_diagnosis = !output.report.empty();  // nothing else shows them
  Marginals answer = marginals(loaded.model, question.options, run_control());
  if (!speaks()) return 0;
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings, [&] { return to_json(answer, loaded.query); },
      [&](const std::string& path) {
        if (path.ends_with(".MAR") || path.ends_with(".mar"))
          write_mar(answer.probabilities, path);
        else
          write_file(path, csv_of(answer, loaded.query));
      },
      [&](const std::string& json) { return page_of(answer, loaded.model, json, loaded.query); });
  if (!wants_text) return 0;
  print_table(answer, loaded.query);
  for (const Joint& joint : answer.joints) print_joint(joint, answer);
  if (!answer.race.empty()) {
    print_text("\n");
    print_race(answer.race);
  }
  print_text(summary(answer));
  return 0;
}

}  // namespace

Command marginals_command() {
  auto question = std::make_shared<Question>();
  auto cases = std::make_shared<std::string>();
  Command command{"marginals",
                  "the probability of every state of every variable",
                  {model_argument()},
                  "drover marginals models/sprinkler.bif --observe lawn=wet",
                  {},
                  [question, cases](const Call& call) { return run_marginals(call, *question, *cases); }};
  command.shared = true;
  describe_evidence(command.options, *question);
  describe_query(command.options, *question);
  command.options.add("joint", "NAME,...;...",
                      "also the joint distributions of these sets of variables; may be repeated",
                      question->joint);
  command.options.add(
      "cases", "FILE",
      "a row of evidence per line, a column per variable (.csv); empty cells are not observed: "
      "the marginals of the queried variables for every row",
      *cases);
  describe(command.options, question->options, Task::marginals);
  describe(command.options, question->limits);
  describe(command.options, question->output,
           "write the marginals here: .MAR (UAI), .csv, .csv.gz, .json, or - (CSV to the standard output)",
           true);
  return command;
}

}  // namespace drover::app
