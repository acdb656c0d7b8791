// drover methods: every method, its tasks and where it comes from.
#include "drover/methods/method.hpp"

#include "app/commands.hpp"
#include "app/output.hpp"

namespace drover::app {

int run_methods(const Invocation& invocation) {
  constexpr Task tasks[] = {Task::marginals, Task::map, Task::logz, Task::sample};
  if (invocation.settings.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Method& method : all_methods()) {
      nlohmann::ordered_json names = nlohmann::ordered_json::array();
      for (Task task : tasks)
        if (method.does(task)) names.push_back(std::string(task_name(task)));
      list.push_back({{"name", std::string(method.name)},
                      {"tasks", names},
                      {"summary", std::string(method.summary)},
                      {"source", std::string(method.source)}});
    }
    JsonObject object = json_envelope(invocation, {});
    object.add("methods", list);
    print_json(object);
    return 0;
  }
  TextTable table({"METHOD", "TASKS", "WHAT IT IS"});
  for (const Method& method : all_methods()) {
    std::string names;
    for (Task task : tasks)
      if (method.does(task)) names += (names.empty() ? "" : " ") + std::string(task_name(task));
    table.row({std::string(method.name), names, std::string(method.summary)});
  }
  table.print();
  return 0;
}

}  // namespace drover::app
