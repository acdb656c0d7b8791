// drover map: a most probable joint state.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/page.hpp"
#include "app/task_run.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/result_files.hpp"

namespace drover::app {

namespace {

void print_assignment(const Loaded& loaded, const std::vector<Value>& assignment) {
  constexpr std::size_t most_rows = 60;
  TextTable table({"VARIABLE", "STATE"});
  for (std::size_t r = 0; r < loaded.query.size() && (loaded.queried || r < most_rows); ++r) {
    const VariableId v = loaded.query[r];
    table.row({loaded.model.variable_name(v), loaded.model.state_name(v, assignment[v])});
  }
  table.print();
  if (!loaded.queried && loaded.query.size() > most_rows)
    print_text(fmt::format("... and {}: --out FILE.MAP or --json has all\n",
                           counted(loaded.query.size() - most_rows, "more variable")));
}

}  // namespace

int run_map(const Invocation& invocation) {
  check_outputs(invocation.settings, {".MAP", ".map", ".json"});
  const auto run = run_task(invocation, Task::map,
                            [](const Method& method, const Problem& problem, const Monitor& monitor,
                               const Loaded&) { return method.map(problem, monitor); });
  const Loaded& loaded = run.loaded;
  const BestStateResult& result = run.result;

  const std::vector<Value> assignment = whole_assignment(loaded.graph, result.assignment);
  std::vector<Value> shown;
  std::vector<std::string> names;
  for (VariableId v : loaded.query) {
    shown.push_back(assignment[v]);
    if (loaded.queried || !loaded.model.variable_names.empty())
      names.push_back(loaded.model.variable_name(v));
  }
  JsonObject object = json_envelope(invocation, result.warnings, run.choice.because);
  object.add("method", std::string(run.choice.method->name));
  if (!names.empty()) object.add("variables", names);
  object.add_raw("assignment", json_array(shown));
  object.add("log_score", result.log_score);
  object.add("optimal", result.optimal);
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", run.seconds);

  const bool wants_text = deliver(
      invocation, result, object, [&](const std::string& path) { write_map(assignment, path); },
      [&](const std::string& json) {
        return map_page(invocation, loaded, run.choice, result, run.seconds, json);
      });
  if (!wants_text) return 0;
  print_assignment(loaded, assignment);
  print_text(fmt::format("\nlog score {:.10g} ({})\nmethod {}, {:.3f} s\n", result.log_score,
                         result.optimal ? "proven optimal" : "not proven optimal", run.method_text(),
                         run.seconds));
  return 0;
}

}  // namespace drover::app
