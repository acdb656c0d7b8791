// drover map: a most probable joint state.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/evidence.hpp"
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

struct MapQuestion : Question {
  std::string of;  ///< NAME,...
};

void print_states(const BestState& answer, const std::vector<VariableId>& query) {
  constexpr std::size_t most_columns = 12;
  std::vector<VariableId> shown = query;
  for (VariableId v = 0; query.empty() && v < answer.variables && shown.size() < most_columns; ++v)
    shown.push_back(v);
  std::vector<std::string> head = {"RANK", "LOG SCORE"};
  for (VariableId v : shown) head.push_back(answer.names.variable(v));
  TextTable table(head);
  for (std::size_t k = 0; k < answer.states.size(); ++k) {
    std::vector<std::string> row = {fmt::format("{}", k + 1), log_text(answer.states[k].log_score)};
    for (VariableId v : shown) row.push_back(answer.names.state(v, answer.states[k].assignment[v]));
    table.row(row);
  }
  table.print();
  if (query.empty() && answer.variables > shown.size())
    print_text(fmt::format("... and {}: --json has all\n",
                           counted(answer.variables - shown.size(), "more variable")));
}

// The values of some variables, the others summed out.
int run_of(const Call& call, MapQuestion& question) {
  if (!goes_on_alone()) return 0;
  const Output& output = question.output;
  check_outputs(output, {".json"}, "", call.arguments);
  if (!question.query.empty())
    throw OptionError("query", question.query, "nothing beside the variables asked for");
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  BestValues told = best_values(loaded.model, split_names(question.of), question.options, run_control());
  add_settings(question, told.provenance.options);
  told.provenance.options["of"] = question.of;
  const bool wants_text = deliver(
      output, told.provenance.warnings, [&] { return to_json(told); }, [](const std::string&) {},
      [&](const std::string& json) { return page_of(told, json); });
  if (!wants_text) return 0;
  TextTable table({"VARIABLE", "STATE"});
  for (std::size_t k = 0; k < told.of.size(); ++k)
    table.row({told.names.variable(told.of[k]), told.names.state(told.of[k], told.assignment[k])});
  table.print();
  const std::string proof =
      told.optimal ? "proven most probable" : "not proven; at most " + log_text(told.upper);
  print_text(fmt::format("\nlog probability {}, the other variables summed out ({})\n{}, {:.3f} s\n",
                         log_text(told.log_probability), proof, method_text(told.provenance),
                         told.provenance.seconds));
  return 0;
}

int run_map(const Call& call, MapQuestion& question) {
  if (!question.of.empty()) return run_of(call, question);
  const Output& output = question.output;
  check_outputs(output, {".MAP", ".map", ".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  BestState answer = best_state(loaded.model, question.options, run_control());
  if (!speaks()) return 0;
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings, [&] { return to_json(answer, loaded.query); },
      [&](const std::string& path) { write_map(answer.assignment, path); },
      [&](const std::string& json) { return page_of(answer, json, loaded.query); });
  if (!wants_text) return 0;
  if (answer.states.empty()) {
    print_assignment(answer, loaded.query);
  } else {
    print_states(answer, loaded.query);
  }
  if (!loaded.query.empty())
    print_text(
        fmt::format("This is the part of the best joint state of all {}; for the most probable values of "
                    "these alone, use --of.\n",
                    counted(answer.variables, "variable")));
  std::string proof = answer.optimal ? "proven optimal" : "not proven optimal";
  if (!answer.optimal && std::isfinite(answer.upper)) proof += "; at most " + log_text(answer.upper);
  print_text(fmt::format("\nlog score {} ({})\n{}, {:.3f} s\n", log_text(answer.log_score), proof,
                         method_text(answer.provenance), answer.provenance.seconds));
  return 0;
}

}  // namespace

Command map_command() {
  auto question = std::make_shared<MapQuestion>();
  Command command{"map",
                  "a most probable joint state",
                  {model_argument()},
                  "drover map models/sprinkler.bif --observe lawn=wet",
                  {},
                  [question](const Call& call) { return run_map(call, *question); }};
  command.shared = true;
  describe_evidence(command.options, *question);
  describe_query(command.options, *question);
  command.options.add("of", "NAME,...", "the most probable values of these variables, the others summed out",
                      question->of);
  describe(command.options, question->options, Task::map);
  describe(command.options, question->limits);
  describe(command.options, question->output, "write the state here: .MAP (UAI) or .json", true);
  return command;
}

}  // namespace drover::app
