// drover logz: the logarithm of the partition function.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/load.hpp"
#include "app/output.hpp"
#include "app/page.hpp"
#include "app/progress.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/result_files.hpp"
#include "drover/methods/method.hpp"

namespace drover::app {

int run_logz(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".PR", ".pr", ".json"});
  const Loaded loaded = load(invocation);
  const Problem problem(loaded.graph, settings);
  const Choice choice = choose_method(problem, Task::logz);
  ProgressBar bar(settings);
  LogZResult result = choice.method->logz(problem, bar.monitor());
  bar.clear();
  const double seconds = bar.seconds();
  if (bar.was_interrupted()) result.warnings.emplace_back("interrupted: this is the result so far");

  JsonObject object = json_envelope(invocation, result.warnings, choice.because);
  object.add("method", std::string(choice.method->name));
  object.add("log_z", result.log_z);
  object.add("lower", result.lower);
  object.add("upper", result.upper);
  object.add("mcse", result.mcse);
  object.add("exact", result.exact);
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", seconds);

  if (!settings.out.empty()) {
    if (ends_with(settings.out, ".json"))
      write_file(settings.out, object.text());
    else
      write_pr(result.log_z, settings.out);
  }
  if (!settings.report.empty())
    write_file(settings.report, logz_page(invocation, loaded, choice, result, seconds, object.text()));
  print_warnings(settings, result.warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  constexpr double log_ten = 2.302585092994045684;
  print_text(fmt::format("log Z     {:.12g}", result.log_z));
  if (!result.exact)
    print_text(
        fmt::format(" ± {:.2g}   between {:.10g} and {:.10g}", result.mcse, result.lower, result.upper));
  print_text(fmt::format("\nlog10 Z   {:.12g}\nmethod {}{}, {}, {:.3f} s\n", result.log_z / log_ten,
                         choice.method->name, choice.because.empty() ? "" : " (" + choice.because + ")",
                         result.exact ? "exact" : "estimated", seconds));
  return 0;
}

}  // namespace drover::app
