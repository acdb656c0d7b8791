// drover convert: one model format to another.
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/compile/graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/io/model_file.hpp"

namespace drover::app {

namespace {

int run(const Call& call, const Output& output) {
  const std::string &from = call.arguments[0], &to = call.arguments[1];
  check_one_document(output.json, {to});
  const Model model = read_model(from, run_control());
  compile(model, {}, PairTables::recognised,
          run_control());  // the one validator: a file that cannot mean anything is not passed on
  write_model(model, to);
  if (!output.json) return 0;
  Provenance provenance;
  provenance.question = "convert";
  provenance.input = from;
  provenance.warnings = model.warnings;
  JsonObject object = json_of(provenance);
  object.add("written", to);
  object.add("variables", model.variable_count());
  object.add("factors", model.factor_count());
  print_json(object);
  return 0;
}

}  // namespace

Command convert_command() {
  auto output = std::make_shared<Output>();
  Command command{"convert",
                  "read one model format and write another",
                  {{"FROM", "the file to read"}, {"TO", "the file to write", false, false, true}},
                  "drover convert models/sprinkler.bif sprinkler.uai",
                  {},
                  [output](const Call& call) { return run(call, *output); }};
  describe(command.options, *output, "", false);
  command.options.remove("config");
  return command;
}

}  // namespace drover::app
