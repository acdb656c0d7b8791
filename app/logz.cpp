// drover logz: the logarithm of the partition function.
#include <fmt/format.h>

#include <cmath>

#include "app/commands.hpp"
#include "app/page.hpp"
#include "app/task_run.hpp"
#include "drover/io/result_files.hpp"

namespace drover::app {

int run_logz(const Invocation& invocation) {
  check_outputs(invocation.settings, {".PR", ".pr", ".json"});
  const auto run = run_task(invocation, Task::logz,
                            [](const Method& method, const Problem& problem, const Monitor& monitor,
                               const Loaded&) { return method.logz(problem, monitor); });
  const LogZResult& result = run.result;
  if (!std::isfinite(result.log_z))
    throw Error(ErrorKind::misfit,
                fmt::format("method {} gave no finite log Z: the log factors of this model are "
                            "beyond its arithmetic",
                            run.choice.method->name));

  JsonObject object = json_envelope(invocation, result.warnings, run.choice.because);
  object.add("method", std::string(run.choice.method->name));
  object.add("log_z", result.log_z);
  object.add("lower", result.lower);
  object.add("upper", result.upper);
  object.add("mcse", result.mcse);
  object.add("exact", result.exact);
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", run.seconds);

  const bool wants_text = deliver(
      invocation, result, object, [&](const std::string& path) { write_pr(result.log_z, path); },
      [&](const std::string& json) {
        return logz_page(invocation, run.loaded, run.choice, result, run.seconds, json);
      });
  if (!wants_text) return 0;
  constexpr double log_ten = 2.302585092994045684;
  print_text(fmt::format("log Z     {:.12g}", result.log_z));
  if (!result.exact) {
    if (!std::isnan(result.mcse)) print_text(fmt::format(" ± {:.2g}", result.mcse));
    if (!std::isnan(result.lower) && !std::isnan(result.upper))
      print_text(fmt::format("   between {:.10g} and {:.10g}", result.lower, result.upper));
    else if (!std::isnan(result.lower))
      print_text(fmt::format("   at least {:.10g}", result.lower));
    else if (!std::isnan(result.upper))
      print_text(fmt::format("   at most {:.10g}", result.upper));
  }
  print_text(fmt::format("\nlog10 Z   {:.12g}\nmethod {}, {}, {:.3f} s\n", result.log_z / log_ten,
                         run.method_text(), result.exact ? "exact" : "estimated", run.seconds));
  return 0;
}

}  // namespace drover::app
