// drover bench: what this machine does, in variable updates per nanosecond.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/task/kernel_rates.hpp"

namespace drover::app {

namespace {

int run_bench(const Output& output) {
  const KernelRates rates = kernel_rates(run_control());
  if (output.json) {
    print_json(to_json(rates));
    return 0;
  }
  print_text(fmt::format("instruction set: {}\n", rates.instruction_set));
  TextTable table(
      {"KERNEL", "GRAPH", "UPDATES/NS", "TIMES THE PLAIN LOOP", "WITH SUMS", "COMMAND", "NOT KERNEL"});
  const auto shown = [](double value, const char* format) {
    return std::isnan(value) ? "" : fmt::format(fmt::runtime(format), value);
  };
  for (const KernelRate& row : rates.rows)
    table.row({row.kernel, row.graph, shown(row.rate, "{:.3f}"), shown(row.ratio, "{:.1f}"),
               shown(row.summed_rate, "{:.3f}"), shown(row.run_rate, "{:.3f}"),
               shown(100 * row.machinery, "{:.0f} %")});
  table.print();
  return 0;
}

}  // namespace

Command bench_command() {
  auto output = std::make_shared<Output>();
  auto limits = std::make_shared<Limits>();
  Command command{"bench",
                  "measure this machine: updates per nanosecond of the samplers",
                  {},
                  "drover bench",
                  {},
                  [output, limits](const Call&) {
                    apply(*limits);
                    return run_bench(*output);
                  }};
  describe_threads(command.options, *limits);
  describe(command.options, *output, "", false);
  command.options.remove("config");
  return command;
}

}  // namespace drover::app
