// drover diagnose: R-hat, effective sample size and autocorrelation of a draws file.
#include "drover/task/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/report/diagnose_page.hpp"

namespace drover::app {

namespace {

struct Diagnose {
  Limits limits;
  Output output;
};

std::string shown_number(const char* format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

void print_diagnose_result(const DiagnoseResult& result) {
  const std::string size = counted(result.chains, "chain") + " of " + counted(result.draws, "draw");
  const std::size_t variables = result.names.size();
  if (variables == 0) {
    print_text(size + "; no variables\n");
    return;
  }
  constexpr std::size_t most_rows = 60;
  TextTable table({"VARIABLE", "MEAN", "R-HAT", "ESS BULK", "ESS TAIL", "MCSE", "LAG-1"});
  for (std::size_t v = 0; v < std::min(most_rows, variables); ++v) {
    const VariableDiagnosis& one = result.diagnostics.variables[v];
    table.row({result.names[v], shown_number("{:.5g}", one.mean), rhat_text(one.rhat), ess_text(one.ess_bulk),
               ess_text(one.ess_tail), error_text(one.mcse), shown_number("{:.3f}", one.autocorrelation)});
  }
  table.print();
  if (variables > most_rows)
    print_text(fmt::format("... and {}: --json or --out FILE.json has all\n",
                           counted(variables - most_rows, "more variable")));
  print_text(fmt::format("\n{}\n{}\n", size, judge(result).text));
}

int run_diagnose(const Call& call, Diagnose& diagnose_call) {
  const Output& output = diagnose_call.output;
  check_outputs(output, {".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(diagnose_call.limits);
  DiagnoseResult result =
      diagnose(read_draws(call.arguments[0], run_control()), call.arguments[0], run_control());
  add_limits(diagnose_call.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings, [&] { return to_json(result); }, {},
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_diagnose_result(result);
  return 0;
}

}  // namespace

Command diagnose_command() {
  auto diagnose_call = std::make_shared<Diagnose>();
  Command command{"diagnose",
                  "R-hat, effective sample size and autocorrelation of a draws file",
                  {{"DRAWS", "a draws file: .npz, .csv, .nc"}},
                  "drover diagnose draws.npz",
                  {},
                  [diagnose_call](const Call& call) { return run_diagnose(call, *diagnose_call); }};
  describe(command.options, diagnose_call->limits);
  describe(command.options, diagnose_call->output, "write the result here: .json", true);
  return command;
}

}  // namespace drover::app
