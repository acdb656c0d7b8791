// drover info: sizes, structure, and which methods fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/plural.hpp"
#include "drover/task/model_info.hpp"
#include "drover/task/target.hpp"

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
  TextTable table({"METHOD", "TASK", "FITS", "MEMORY", "WHY NOT"});
  for (const MethodFit& method : info.methods)
    table.row({method.name, std::string(task_name(method.task)), method.fits() ? "yes" : "no",
               method.peak_memory > 0 ? fmt::format("{:.0f} MB", method.peak_memory / 1e6) : "",
               method.why_not});
  table.print();
}

std::string derivative_text(double derivative) {
  const bool shows = std::abs(derivative) >= 0.00005 || derivative == 0;
  return shows ? fmt::format("{:+.4f}", derivative) : fmt::format("{:+.0e}", derivative);
}

void print_target(const TargetAnswer& answer) {
  constexpr std::size_t most_rows = 20;
  const std::string name = answer.names.variable(answer.target);
  TextTable asked({"ASK NEXT", fmt::format("NATS ABOUT {}", name)});
  for (std::size_t k = 0; k < answer.information.size() && k < most_rows; ++k)
    asked.row({answer.names.variable(answer.information[k].variable),
               fmt::format("{:.6f}", answer.information[k].mutual_information)});
  asked.print();
  print_text(fmt::format("the uncertainty of {} is {:.6f} nats\n\n", name, answer.entropy));
  std::vector<std::string> header = {"TABLE ENTRY", "VALUE"};
  for (std::size_t t = 0; t < answer.probabilities.size(); ++t)
    header.push_back(fmt::format("d P({}={})", name, answer.names.state(answer.target, t)));
  TextTable entries(header);
  for (std::size_t k = 0; k < answer.sensitivity.size() && k < most_rows; ++k) {
    const Sensitivity& one = answer.sensitivity[k];
    // The largest come first: what follows has no bearing on the target either.
    if (std::ranges::all_of(one.derivatives, [](double derivative) { return derivative == 0; })) break;
    const std::size_t last = one.variables.size() - 1;
    const auto text = [&](std::size_t v) {
      return answer.names.variable(one.variables[v]) + "=" +
             answer.names.state(one.variables[v], one.states[v]);
    };
    std::string entry = text(last);
    for (std::size_t v = 0; v < last; ++v) entry += (v > 0 || answer.by_logarithm ? ", " : " | ") + text(v);
    std::vector<std::string> cells = {entry, fmt::format("{:.6g}", one.entry)};
    for (double derivative : one.derivatives) cells.push_back(derivative_text(derivative));
    entries.row(cells);
  }
  entries.print();
  print_text(answer.by_logarithm ? "per unit of the entry's logarithm\n"
                                 : "per unit of the entry; the others of its row share the rest\n");
  if (std::max(answer.information.size(), answer.sensitivity.size()) > most_rows)
    print_text("--json has all\n");
}

int run_info(const Call& call, Question& question, const std::string& target) {
  const ProgressBar bar(question.output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  ModelInfo info = model_info(loaded.model, question.options, run_control());
  add_settings(question, info.provenance.options);
  std::optional<TargetAnswer> about;
  if (!target.empty()) {
    about = about_target(loaded.model, target, question.options, run_control());
    info.provenance.options["target"] = target;
  }
  print_warnings(question.output.quiet, info.provenance.warnings);
  if (question.output.json) {
    JsonObject object = to_json(info);
    if (about) add_json(*about, object);
    print_json(object);
    return 0;
  }
  if (about)
    print_target(*about);
  else
    print_tables(info);
  return 0;
}

}  // namespace

Command info_command() {
  auto question = std::make_shared<Question>();
  auto target = std::make_shared<std::string>();
  Command command{"info",
                  "sizes, structure, and which methods fit",
                  {model_argument()},
                  "drover info models/sprinkler.bif",
                  {},
                  [question, target](const Call& call) { return run_info(call, *question, *target); }};
  describe_evidence(command.options, *question);
  command.options.add(
      "target", "NAME",
      "what to ask next: the information of every other variable about this one, and how much "
      "its probability hangs on each table entry (exact)",
      *target);
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
