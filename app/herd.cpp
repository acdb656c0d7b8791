// drover herd: pseudo-samples from the moments of a data table or of a moments file.
#include "drover/task/herd.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/moments.hpp"
#include "drover/report/herd_page.hpp"

namespace drover::app {

namespace {

struct Herd {
  HerdOptions options;
  DataOptions data;
  Limits limits;
  Output output;
};

void print_herd_result(const HerdResult& result) {
  print_text(
      fmt::format("{} of {}, {}; search {}, {:.3f} s\n"
                  "largest moment error {} ({}), weight norm {:.4g}\n{}\n",
                  counted(result.samples, "pseudo-sample"), counted(result.variables(), "variable"),
                  counted(result.features, "feature"), choice_name(result.search), result.provenance.seconds,
                  error_text(result.moment_error_max, 3), result.worst.front().feature, result.weight_norm,
                  judge(result).text));
  if (result.dropped_rows > 0)
    print_text(counted(result.dropped_rows, "row") + " left out because a value was missing\n");
  if (const auto& found = result.classification)
    print_text(fmt::format(
        "{} from the other columns: error {:.4g} on {} test rows (always the most frequent class: {:.4g})\n",
        found->column, found->error, found->test_rows, found->majority_error));
  for (const HerdExpectation& one : result.expectations)
    print_text(fmt::format("P({}) = {:.6g}{}\n", one.query, one.probability,
                           std::isfinite(one.in_data) ? fmt::format("   (data {:.6g})", one.in_data) : ""));
  if (result.count_distribution.empty()) return;
  const bool with_data = !result.data_count_distribution.empty();
  TextTable table({"ONES", "P(k)", with_data ? "DATA" : ""});
  for (std::size_t k = 0; k < result.count_distribution.size(); ++k)
    table.row({std::to_string(k), fmt::format("{:.5f}", result.count_distribution[k]),
               with_data ? fmt::format("{:.5f}", result.data_count_distribution[k]) : ""});
  print_text("\n");
  table.print();
}

int run_herd(const Call& call, Herd& herd_call) {
  const Output& output = herd_call.output;
  const std::string& path = call.arguments[0];
  check_outputs(output, {".npz", ".csv", ".csv.gz", ".nc", ".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  apply(herd_call.limits);
  herd_call.options.input = path;
  StateFileSink sink(output.out.ends_with(".json") ? "" : output.out);
  HerdResult result;
  OptionList data_options;
  describe(data_options, herd_call.data);
  if (is_moments_file(path)) {
    for (const Option& option : data_options.options())
      if (call.was_given(option.name))
        throw OptionError(option.name, option.text(), "a data table, and " + path + " has moments");
    result = herd(read_moments(path, run_control()), herd_call.options, sink, run_control());
  } else {
    result =
        herd(read_data_table(path, herd_call.data, run_control()), herd_call.options, sink, run_control());
    add_options(data_options, result.provenance.options);
  }
  sink.finish(result);
  add_limits(herd_call.limits, result.provenance.options);
  const bool wants_text = deliver(
      output, result.provenance.warnings,
      [&] {
        JsonObject object = to_json(result);
        if (!output.out.empty()) object.add("out", output.out);
        return object;
      },
      [](const std::string&) {},  // written already
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_herd_result(result);
  return 0;
}

}  // namespace

Command herd_command() {
  auto herd_call = std::make_shared<Herd>();
  Command command{
      "herd",
      "pseudo-samples from moments, by herding; no model is fitted",
      {{"INPUT", "a data table (.csv, .tsv, .npz, IDX; text and IDX also .gz) or a moments file"}},
      "drover herd models/garden.csv --query \"rain=1,lawn=wet\"",
      {},
      [herd_call](const Call& call) { return run_herd(call, *herd_call); }};
  describe(command.options, herd_call->options);
  describe(command.options, herd_call->data);
  describe(command.options, herd_call->limits);
  describe(command.options, herd_call->output,
           "write the pseudo-samples here (.npz, .csv, .csv.gz, .nc), or the result (.json)", true);
  return command;
}

}  // namespace drover::app
