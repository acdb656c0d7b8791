// drover info: sizes, structure, and which methods fit.
#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/plural.hpp"
#include "drover/task/model_info.hpp"

namespace drover::app {

namespace {

void print_tables(const ModelInfo& info) {
  TextTable facts({"", ""});
  facts.row({"variables", fmt::format("{} ({} free)", info.variables, info.free_variables)});
  facts.row(
      {"factors", fmt::format("{} stated; as run: {}, {}, {}, {}", info.factors,
                              counted(info.spin_pairs, "spin pair"), counted(info.potts_pairs, "Potts pair"),
                              counted(info.tables, "table"), counted(info.gates, "gate"))});
  facts.row({"states",
             fmt::format("at most {} per variable{}", info.max_cardinality, info.binary ? " (binary)" : "")});
  facts.row({"structure", fmt::format("{}, {}, {}", info.pairwise ? "pairwise" : "higher order",
                                      info.strictly_positive ? "strictly positive" : "with hard zeros",
                                      counted(info.colours, "colour"))});
  facts.row({"treewidth", info.width_known ? fmt::format("at most {}; exact inference needs about {:.3g} MB",
                                                         info.width, info.exact_bytes / 1e6)
                                           : fmt::format("above {} (search stopped)", info.width)});
  facts.row(
      {"herded Gibbs", fmt::format("weights ({}) of {} chains need up to {:.3g} MB", info.herded_gibbs_tables,
                                   info.herded_gibbs_chains, info.herded_gibbs_bytes / 1e6)});
  facts.print();
  print_text("\n");
  TextTable table({"METHOD", "TASK", "FITS", "WHY NOT"});
  for (const MethodFit& method : info.methods)
    table.row(
        {method.name, std::string(task_name(method.task)), method.fits() ? "yes" : "no", method.why_not});
  table.print();
}

int run(const Call& call, Question& question) {
  const ProgressBar bar(question.output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  ModelInfo info = model_info(loaded.model, question.options, run_control());
  add_settings(question, info.provenance.options);
  print_warnings(question.output.quiet, info.provenance.warnings);
  if (question.output.json)
    print_json(to_json(info));
  else
    print_tables(info);
  return 0;
}

}  // namespace

Command info_command() {
  auto question = std::make_shared<Question>();
  Command command{"info",
                  "sizes, structure, and which methods fit",
                  {model_argument()},
                  "drover info models/sprinkler.bif",
                  {},
                  [question](const Call& call) { return run(call, *question); }};
  describe_evidence(command.options, *question);
  InferenceOptions& options = question->options;
  command.options.add("memory-limit", "GB", "what methods may take", options.memory_limit, {1e-6, 1e6},
                      "half of the machine's memory");
  command.options.add_choice("share", "KIND", "which weights of herded-gibbs to predict the memory of",
                             options.herded.share, "dense where that fits, else hashed, else bins");
  describe_threads(command.options, question->limits);
  describe(command.options, question->output, "", false);
  return command;
}

}  // namespace drover::app
