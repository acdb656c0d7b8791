// drover learn: trains an Ising model, a Boltzmann machine or an RBM on rows of zeros and ones.
#include "drover/task/learn.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/io/model_file.hpp"
#include "drover/report/learn_page.hpp"
#include "drover/report/score_page.hpp"
#include "drover/task/score.hpp"

namespace drover::app {

namespace {

struct Learn {
  LearnOptions options;
  DataOptions data;
  std::optional<std::uint32_t> image_width;
  Limits limits;
  Output output;
};

struct Scoring {
  ScoreOptions options;
  DataOptions data;
  Limits limits;
  Output output;
};

MachineKind kind_of(const std::string& word) {
  if (const auto kind = choice_named<MachineKind>(word)) return *kind;
  throw Error(ErrorKind::usage, fmt::format("learn '{}': expected ising, boltzmann or rbm", word));
}

void print_learn_result(const LearnResult& result, const std::string& out) {
  const BinaryMachine& machine = result.machine;
  print_text(fmt::format("{} of {} visible and {} hidden variables, {}, from {}\n", choice_name(machine.kind),
                         machine.visible, machine.hidden, counted(machine.edges(), "weight"),
                         counted(result.rows, "row")));
  if (result.dropped_rows > 0)
    print_text(counted(result.dropped_rows, "row") + " left out because a value was missing\n");
  print_text(fmt::format("{}\n{} in {:.2f} s ({})", method_text(result.provenance),
                         counted(result.fit.iterations, "iteration"), result.provenance.seconds,
                         result.fit.ended));
  if (!result.fit.objective.empty())
    print_text(fmt::format("; {} {:.5g}", result.objective, result.fit.objective.back()));
  print_text(fmt::format("\n{}\nwritten to {}\n", judge(result).text, out));
}

int run_score(const Call& call, Scoring& scoring) {
  if (!goes_on_alone()) return 0;
  const Output& output = scoring.output;
  check_outputs(output, {".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(scoring.limits);
  scoring.data.constant_columns = true;
  const std::string &model = call.arguments[0], &data = call.arguments[1];
  ScoreOptions& options = scoring.options;
  options.input = data;
  const DataTable table = read_data_table(data, scoring.data, run_control());
  const bool is_machine = model.ends_with(".drv") || model.ends_with(".drv.gz");
  ScoreResult result = is_machine ? score(read_machine(model, run_control()), table, options, run_control())
                                  : score(read_model(model, run_control()), table, options, run_control());
  result.provenance.input = model;
  OptionList data_options;
  describe(data_options, scoring.data);
  add_options(data_options, result.provenance.options);
  add_limits(scoring.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings, [&] { return to_json(result); }, [](const std::string&) {},
      [&](const std::string& json) { return page_of(result, json); });
  if (!wants_text) return 0;
  print_text(fmt::format("mean log-likelihood {} ± {} (by the rows), {}\nlog Z {}{}\n{}\n{}, {:.3f} s\n",
                         log_text(result.log_likelihood, 7), error_text(result.spread_error),
                         counted(result.rows, "row"), log_text(result.log_z),
                         result.exact ? " (exact)" : " ± " + error_text(result.log_z_mcse),
                         judge(result).text, method_text(result.provenance), result.provenance.seconds));
  return 0;
}

int run_learn(const Call& call, Learn& learn_call) {
  const Output& output = learn_call.output;
  LearnOptions& options = learn_call.options;
  options.kind = kind_of(call.arguments[0]);
  options.input = call.arguments[1];
  if (output.out.empty()) throw Error(ErrorKind::usage, "drover learn needs --out FILE.drv");
  check_outputs(output, {".drv", ".drv.gz"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(learn_call.limits);
  learn_call.data.constant_columns = true;
  LearnResult result =
      learn(read_data_table(call.arguments[1], learn_call.data, run_control()), options, run_control());
  if (!speaks()) return 0;
  OptionList data_options;
  describe(data_options, learn_call.data);
  add_options(data_options, result.provenance.options);
  add_limits(learn_call.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings,
      [&] {
        JsonObject object = to_json(result);
        object.add("out", output.out);
        return object;
      },
      [&](const std::string& path) { write_machine(path, machine_file(result)); },
      [&](const std::string& json) { return page_of(result, json, learn_call.image_width); });
  if (wants_text) print_learn_result(result, output.out);
  return 0;
}

}  // namespace

Command learn_command() {
  auto learn_call = std::make_shared<Learn>();
  Command command{"learn",
                  "train a model on binary data: ising, boltzmann (both all pairs) or rbm",
                  {{"KIND", "ising, boltzmann or rbm"},
                   {"DATA", "rows of zeros and ones (.csv, .tsv, .npz, IDX), or made so with --binarise"}},
                  "drover learn ising models/garden.csv --columns rain,sprinkler --out garden.drv",
                  {},
                  [learn_call](const Call& call) { return run_learn(call, *learn_call); }};
  command.shared = true;
  describe(command.options, learn_call->options);
  describe(command.options, learn_call->data);
  command.options.add("image-width", "N", "the report shows rows as images of this width",
                      learn_call->image_width, {1, 1e6}, "the square root of the columns, if it is whole");
  describe(command.options, learn_call->limits);
  describe(command.options, learn_call->output, "write the model here: .drv or .drv.gz", true);
  return command;
}

Command learn_score_command() {
  auto scoring = std::make_shared<Scoring>();
  Command command{"learn score",
                  "how likely data are under a model",
                  {{"MODEL", "a learnt model (.drv), or any model file"},
                   {"DATA", "rows (.csv, .tsv, .npz, IDX); columns are matched by name, else in order"}},
                  "drover learn score garden.drv models/garden.csv --columns rain,sprinkler",
                  {},
                  [scoring](const Call& call) { return run_score(call, *scoring); }};
  describe(command.options, scoring->options);
  describe(command.options, scoring->data);
  describe(command.options, scoring->limits);
  describe(command.options, scoring->output, "write the result here: .json", true);
  return command;
}

}  // namespace drover::app
