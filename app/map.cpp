// drover map: a most probable joint state.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/page.hpp"
#include "app/progress.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/result_files.hpp"
#include "drover/methods/method.hpp"

namespace drover::app {

int run_map(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".MAP", ".map", ".json"});
  const Loaded loaded = load(invocation);
  const Problem problem(loaded.graph, settings);
  const Choice choice = choose_method(problem, Task::map);
  ProgressBar bar(settings);
  BestStateResult result = choice.method->map(problem, bar.monitor());
  bar.clear();
  const double seconds = bar.seconds();
  if (bar.was_interrupted()) result.warnings.emplace_back("interrupted: this is the best state so far");

  const std::vector<Value> assignment = whole_assignment(loaded.graph, result.assignment);
  std::vector<Value> shown;
  std::vector<std::string> names;
  for (VariableId v : loaded.query) {
    shown.push_back(assignment[v]);
    if (loaded.queried || !loaded.model.variable_names.empty())
      names.push_back(loaded.model.variable_name(v));
  }
  JsonObject object = json_envelope(invocation, result.warnings, choice.because);
  object.add("method", std::string(choice.method->name));
  if (!names.empty()) object.add("variables", names);
  object.add_raw("assignment", json_array(shown));
  object.add("log_score", result.log_score);
  object.add("optimal", result.optimal);
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", seconds);

  if (!settings.out.empty()) {
    if (ends_with(settings.out, ".json"))
      write_file(settings.out, object.text());
    else
      write_map(assignment, settings.out);
  }
  if (!settings.report.empty())
    write_file(settings.report, map_page(invocation, loaded, choice, result, seconds, object.text()));
  print_warnings(settings, result.warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  constexpr std::size_t most_rows = 60;
  TextTable table({"VARIABLE", "STATE"});
  for (std::size_t r = 0; r < loaded.query.size() && (loaded.queried || r < most_rows); ++r) {
    const VariableId v = loaded.query[r];
    table.row({loaded.model.variable_name(v), loaded.model.state_name(v, assignment[v])});
  }
  table.print();
  if (!loaded.queried && loaded.query.size() > most_rows)
    print_text(fmt::format("... and {} more variables: --out FILE.MAP or --json has all\n",
                           loaded.query.size() - most_rows));
  print_text(fmt::format("\nlog score {:.10g} ({})\nmethod {}{}, {:.3f} s\n", result.log_score,
                         result.optimal ? "proven optimal" : "not proven optimal", choice.method->name,
                         choice.because.empty() ? "" : " (" + choice.because + ")", seconds));
  return 0;
}

}  // namespace drover::app
