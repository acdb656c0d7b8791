// drover methods: every method, its tasks and where it comes from.
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "drover/core/version.hpp"
#include "drover/task/model_info.hpp"

namespace drover::app {

namespace {

int run_methods(const Output& output) {
  if (output.json) {
    std::vector<std::string> list;
    for (const MethodDescription& method : list_methods()) {
      std::vector<std::string> tasks;
      for (Task task : method.tasks) tasks.emplace_back(task_name(task));
      JsonObject one;
      one.add("name", method.name);
      one.add("tasks", tasks);
      one.add("summary", method.summary);
      one.add("source", method.source);
      list.push_back(one.line());
    }
    Provenance provenance;
    provenance.question = "methods";
    JsonObject object = json_of(provenance);
    object.add_raw("methods", json_list(list));
    print_json(object);
    return 0;
  }
  TextTable table({"METHOD", "TASKS", "WHAT IT IS"});
  for (const MethodDescription& method : list_methods()) {
    std::string names;
    for (Task task : method.tasks) names += (names.empty() ? "" : " ") + std::string(task_name(task));
    table.row({std::string(method.name), names, std::string(method.summary)});
  }
  table.print();
  return 0;
}

}  // namespace

Command methods_command() {
  auto output = std::make_shared<Output>();
  Command command{"methods", "list every method, its tasks and its source",         {}, "drover methods",
                  {},        [output](const Call&) { return run_methods(*output); }};
  describe(command.options, *output, "", false);
  command.options.remove("config");
  return command;
}

}  // namespace drover::app
