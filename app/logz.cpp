// drover logz: the logarithm of the partition function.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/figures.hpp"
#include "drover/io/result_files.hpp"
#include "drover/report/pages.hpp"

namespace drover::app {

namespace {

std::string_view what_it_is(const LogZ& answer) {
  if (answer.exact) return "exact";
  return answer.bound == Bound::lower ? "at least" : answer.bound == Bound::upper ? "at most" : "estimated";
}

std::string table(const LogZ& answer) {
  constexpr double log_ten = 2.302585092994045684;
  std::string text = "log Z     " + log_text(answer.log_z, 12);
  if (!answer.exact && std::isfinite(answer.mcse)) text += " ± " + error_text(answer.mcse);
  text += fmt::format("   ({})\nlog10 Z   {}\n", what_it_is(answer), log_text(answer.log_z / log_ten, 12));
  if (std::isfinite(answer.interval_lower))
    text +=
        fmt::format("95 %      {} to {}\n", log_text(answer.interval_lower), log_text(answer.interval_upper));
  if (!answer.exact && (std::isfinite(answer.lower) || std::isfinite(answer.upper)))
    text += fmt::format("certified {}{}{}\n",
                        std::isfinite(answer.lower) ? "at least " + log_text(answer.lower) : "",
                        std::isfinite(answer.lower) && std::isfinite(answer.upper) ? ", " : "",
                        std::isfinite(answer.upper) ? "at most " + log_text(answer.upper) : "");
  return text + fmt::format("{}, {:.3f} s\n", method_text(answer.provenance), answer.provenance.seconds);
}

int run_logz(const Call& call, Question& question) {
  const Output& output = question.output;
  check_outputs(output, {".PR", ".pr", ".json"}, "", call.arguments);
  const ProgressBar bar(output.quiet);
  const Loaded loaded = load(question, call.arguments[0]);
  LogZ answer = log_z(loaded.model, question.options, run_control());
  if (!speaks()) return 0;
  add_settings(question, answer.provenance.options);
  const bool wants_text = deliver(
      output, answer.provenance.warnings, [&] { return to_json(answer); },
      [&](const std::string& path) { write_pr(answer.log_z, path); },
      [&](const std::string& json) { return page_of(answer, json); });
  if (wants_text) print_text(table(answer));
  return 0;
}

}  // namespace

Command logz_command() {
  auto question = std::make_shared<Question>();
  Command command{"logz",
                  "the logarithm of the partition function",
                  {model_argument()},
                  "drover logz models/grid-3x3.uai",
                  {},
                  [question](const Call& call) { return run_logz(call, *question); }};
  command.shared = true;
  describe_evidence(command.options, *question);
  describe(command.options, question->options, Task::logz);
  describe(command.options, question->limits);
  describe(command.options, question->output, "write log10 Z here: .PR (UAI) or .json", true);
  return command;
}

}  // namespace drover::app
