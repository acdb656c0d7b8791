// drover convert: one model format to another.
#include "app/commands.hpp"
#include "app/settings_output.hpp"
#include "drover/compile/graph.hpp"
#include "drover/io/model_file.hpp"

namespace drover::app {

int run_convert(const Invocation& invocation) {
  check_one_document(invocation.settings.json, {invocation.arguments.at(1)});
  const Model model = read_model(invocation.arguments.at(0));
  compile(model);  // the one validator: a file that cannot mean anything is not passed on
  write_model(model, invocation.arguments.at(1));
  if (invocation.settings.json) {
    SettingsObject object = json_envelope(invocation, {});
    object.add("written", invocation.arguments.at(1));
    object.add("variables", model.variable_count());
    object.add("factors", model.factor_count());
    print_json(object);
  }
  return 0;
}

}  // namespace drover::app
