// drover convert: one model format to another.
#include "app/convert.hpp"

#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/compile/graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "drover/io/model_file.hpp"

namespace drover::app {

namespace {

Divide usual_divide = divide_by_reach;

int run_convert(const Call& call, const Output& output, const PartsOptions& parts) {
  const std::string &from = call.arguments[0], &to = call.arguments[1];
  check_one_document(output.json, {to});
  const bool into_parts = is_parts_folder(to);
  for (const char* option : {"parts", "duals"})
    if (!into_parts && call.was_given(option))
      throw Error(ErrorKind::usage, fmt::format("--{} is for a folder: TO must end with a slash", option));
  if (!goes_on_alone()) return 0;
  const Model model = read_model(from, run_control());
  if (into_parts) {
    write_parts(model, to, parts, run_control(), usual_divide);
  } else {
    compile(model, {}, PairTables::recognised,
            run_control());  // the one validator: a file that cannot mean anything is not passed on
    write_model(model, to, run_control());
  }
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

void set_usual_divide(Divide divide) {
  usual_divide = std::move(divide);
}

Command convert_command() {
  auto output = std::make_shared<Output>();
  auto parts = std::make_shared<PartsOptions>();
  Command command{
      "convert",
      "read one model format and write another",
      {{"FROM", "the file to read"},
       {"TO",
        "the file to write, or a folder (with a slash at its end) for the parts of a model for several ranks",
        false, false, true}},
      "drover convert models/sprinkler.bif sprinkler.uai",
      {},
      [output, parts](const Call& call) { return run_convert(call, *output, *parts); }};
  command.shared = true;  // ranks divide what rank 0 writes
  describe(command.options, *parts);
  describe(command.options, *output, "", false);
  command.options.remove("config");
  return command;
}

}  // namespace drover::app
