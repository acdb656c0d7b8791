// drover sample: draws to a file.
#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/report/pages.hpp"
#include "drover/task/draw_file_sink.hpp"

namespace drover::app {

namespace {

int run_sample(const Call& call, Question& question) {
  const Output& output = question.output;
  if (output.out.empty())
    throw Error(ErrorKind::usage, "drover sample needs --out FILE (.npz, .csv, .csv.gz, .nc or -)");
  check_outputs(output, {".npz", ".csv", ".csv.gz", ".nc", "-"}, question.options.checkpoint.file,
                call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  DrawFileSink sink(output.out);
  Samples answer = sample(loaded.model, question.options, sink, run_control());
  if (!speaks()) return 0;
  sink.finish(answer);
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings,
      [&] {
        JsonObject object = to_json(answer);
        object.add("out", output.out);
        return object;
      },
      [](const std::string&) {},  // the draws are there already
      [&](const std::string& json) { return page_of(answer, json); });
  if (!wants_text) return 0;
  print_text(fmt::format("{} of {} from {} in {}\n{}, {:.3f} s\n", counted(answer.draws, "draw"),
                         counted(answer.variables, "variable"), counted(answer.chains, "chain"), output.out,
                         method_text(answer.provenance), answer.provenance.seconds));
  if (!answer.independent)
    print_text(
        diagnostics_text(answer.diagnostics) +
        "\n(of the probabilities that states were drawn from, over all sweeps; drover diagnose judges the "
        "kept states themselves)\n");
  print_text(judge(answer).text + "\n");
  return 0;
}

}  // namespace

Command sample_command() {
  auto question = std::make_shared<Question>();
  Command command{"sample",
                  "draws, to .npz, .csv or .nc",
                  {model_argument()},
                  "drover sample models/grid-3x3.uai --samples 1000 --out draws.npz",
                  {},
                  [question](const Call& call) { return run_sample(call, *question); }};
  command.shared = true;
  describe_evidence(command.options, *question);
  describe(command.options, question->options, Task::sample);
  describe(command.options, question->limits);
  describe(command.options, question->output,
           "write the draws here: .npz, .csv, .csv.gz or .nc; - is the standard output, as CSV", true);
  return command;
}

}  // namespace drover::app
