// drover marginals: P(x_i) of every variable, as a table, JSON, a .MAR file and a report.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/result_files.hpp"
#include "drover/report/pages.hpp"

namespace drover::app {

namespace {

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
      if (!answer.exact && answer.mcse[v][k] > 0) cells += fmt::format(" ± {:.1g}", answer.mcse[v][k]);
    }
    if (p.size() > most_states && !queried)
      cells += "   ... " + counted(p.size() - most_states, "more state");
    if (std::ranges::binary_search(answer.fixed, v))
      cells += std::ranges::find(answer.evidence.variables, v) != answer.evidence.variables.end()
                   ? "   (observed)"
                   : "   (fixed)";
    table.row({answer.names.variable(v), cells});
  }
  table.print();
  if (!queried && answer.variables > rows)
    print_text(fmt::format("... and {}: --query NAME,... picks some, --out FILE.MAR or --json has all\n",
                           counted(answer.variables - rows, "more variable")));
}

std::string summary(const Marginals& answer) {
  std::string text = "\n" + method_text(answer.provenance);
  if (!answer.exact && answer.chains == 0)
    text += fmt::format("\n{} iterations; an approximation", answer.sweeps);
  else if (!answer.exact)
    text +=
        fmt::format("\n{}, {} after {} of burn-in; {}", counted(answer.chains, "chain"),
                    counted(answer.sweeps, "sweep"), answer.burn_in, diagnostics_text(answer.diagnostics));
  const char* verdict = answer.exact ? "exact" : answer.converged ? "converged" : "NOT converged";
  return text + fmt::format("\n{}, {:.3f} s\n", verdict, answer.provenance.seconds);
}

void print_race(const std::vector<RaceEntry>& race) {
  TextTable table({"SAMPLER", "WORK", "ESS PER 10^9", "R-HAT", ""});
  for (const RaceEntry& entry : race)
    table.row({entry.method, entry.work > 0 ? fmt::format("{:.2g}", entry.work) : "",
               std::isfinite(entry.ess_per_work) ? fmt::format("{:.3g}", 1e9 * entry.ess_per_work) : "",
               std::isfinite(entry.rhat_max) ? fmt::format("{:.3f}", std::min(entry.rhat_max, 1e3)) : "",
               entry.chosen ? "chosen" : entry.note});
  table.print();
}

int run(const Call& call, Question& question) {
  const Output& output = question.output;
  check_outputs(output, {".MAR", ".mar", ".json"}, question.options.checkpoint.file, call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  Marginals answer = marginals(loaded.model, question.options, run_control());
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings, to_json(answer, loaded.query),
      [&](const std::string& path) { write_mar(answer.probabilities, path); },
      [&](const std::string& json) { return page_of(answer, loaded.model, json, loaded.query); });
  if (!wants_text) return 0;
  print_table(answer, loaded.query);
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
  Command command{"marginals",
                  "the probability of every state of every variable",
                  {model_argument()},
                  "drover marginals models/sprinkler.bif --observe lawn=wet",
                  {},
                  [question](const Call& call) { return run(call, *question); }};
  describe_evidence(command.options, *question);
  describe_query(command.options, *question);
  describe(command.options, question->options, Task::marginals);
  describe(command.options, question->limits);
  describe(command.options, question->output, "write the marginals here: .MAR (UAI) or .json", true);
  return command;
}

}  // namespace drover::app
