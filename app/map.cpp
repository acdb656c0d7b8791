// drover map: a most probable joint state.
#include <fmt/format.h>

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

void print_assignment(const BestState& answer, const std::vector<VariableId>& query) {
  constexpr std::size_t most_rows = 60;
  const bool queried = !query.empty();
  const std::size_t rows = queried ? query.size() : std::min(most_rows, answer.variables);
  TextTable table({"VARIABLE", "STATE"});
  for (std::size_t r = 0; r < rows; ++r) {
    const VariableId v = queried ? query[r] : static_cast<VariableId>(r);
    table.row({answer.names.variable(v), answer.names.state(v, answer.assignment[v])});
  }
  table.print();
  if (!queried && answer.variables > rows)
    print_text(fmt::format("... and {}: --out FILE.MAP or --json has all\n",
                           counted(answer.variables - rows, "more variable")));
}

int run(const Call& call, Question& question) {
  const Output& output = question.output;
  check_outputs(output, {".MAP", ".map", ".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  BestState answer = best_state(loaded.model, question.options, run_control());
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings, to_json(answer, loaded.query),
      [&](const std::string& path) { write_map(answer.assignment, path); },
      [&](const std::string& json) { return page_of(answer, json, loaded.query); });
  if (!wants_text) return 0;
  print_assignment(answer, loaded.query);
  std::string proof = answer.optimal ? "proven optimal" : "not proven optimal";
  if (!answer.optimal && std::isfinite(answer.upper)) proof += fmt::format("; at most {:.10g}", answer.upper);
  print_text(fmt::format("\nlog score {:.10g} ({})\n{}, {:.3f} s\n", answer.log_score, proof,
                         method_text(answer.provenance), answer.provenance.seconds));
  return 0;
}

}  // namespace

Command map_command() {
  auto question = std::make_shared<Question>();
  Command command{"map",
                  "a most probable joint state",
                  {model_argument()},
                  "drover map models/sprinkler.bif --observe lawn=wet",
                  {},
                  [question](const Call& call) { return run(call, *question); }};
  describe_evidence(command.options, *question);
  describe_query(command.options, *question);
  describe(command.options, question->options, Task::map);
  describe(command.options, question->limits);
  describe(command.options, question->output, "write the state here: .MAP (UAI) or .json", true);
  return command;
}

}  // namespace drover::app
