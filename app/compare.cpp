// drover compare: how far two sets of samples are apart.
#include "drover/task/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/report/compare_page.hpp"

namespace drover::app {

namespace {

struct Compare {
  DataOptions data;
  Limits limits;
  Output output;
};

void print_compare_result(const CompareResult& result) {
  const auto log_text = [](double value) {
    return value > 0 ? fmt::format("{:.3f}", std::log(value)) : value == 0 ? "none: MMD^2 is 0" : "unknown";
  };
  print_text(
      fmt::format("{} and {} rows of {} variables\n\n", result.rows[0], result.rows[1], result.variables));
  print_text(fmt::format("log MMD^2                       {}   (two halves of the first: {})\n",
                         log_text(result.squared_mmd), log_text(result.halves_of_first)));
  print_text(fmt::format("means: largest difference       {:.5f}\n", result.mean_difference_max));
  print_text(fmt::format("means: root mean square         {:.5f}\n", result.mean_difference_rms));
  print_text(fmt::format("pairs: root mean square         {:.5f}\n", result.pair_difference_rms));
  print_text("\n" + judge(result).text + "\n");
}

int run_compare(const Call& call, Compare& compare_call) {
  const Output& output = compare_call.output;
  check_outputs(output, {".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(compare_call.limits);
  compare_call.data.constant_columns = true;
  CompareResult result =
      compare(read_rows(call.arguments[0], compare_call.data, run_control()),
              read_rows(call.arguments[1], compare_call.data, run_control()), run_control());
  OptionList data_options;
  describe(data_options, compare_call.data);
  add_options(data_options, result.provenance.options);
  add_limits(compare_call.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings, [&] { return to_json(result); }, {},
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_compare_result(result);
  return 0;
}

}  // namespace

Command compare_command() {
  auto compare_call = std::make_shared<Compare>();
  Command command{
      "compare",
      "how far two sets of samples are apart: MMD, single and pair statistics",
      {{"A", "a data table (.csv, .tsv, .npz, IDX) or draws (.csv, .npz, .nc)"}, {"B", "another"}},
      "drover compare models/garden.csv models/garden.csv",
      {},
      [compare_call](const Call& call) { return run_compare(call, *compare_call); }};
  describe(command.options, compare_call->data);
  describe(command.options, compare_call->limits);
  describe(command.options, compare_call->output, "write the result here: .json", true);
  return command;
}

}  // namespace drover::app
