// What the commands that answer a question about a model share: load, choose a method, run it under a
// progress bar.
#pragma once

#include <utility>

#include "app/load.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/methods/method.hpp"

namespace drover::app {

template <class Result>
struct TaskRun {
  Loaded loaded;
  Choice choice;
  Result result;
  double seconds;

  /// "gibbs (because ...)"
  std::string method_text() const {
    return std::string(choice.method->name) + (choice.because.empty() ? "" : " (" + choice.because + ")");
  }
};

/// `call(method, problem, monitor, loaded)` does the work and returns the result.
template <class Call>
auto run_task(const Invocation& invocation, Task task, Call call) {
  Loaded loaded = load(invocation);
  const Problem problem(loaded.graph, invocation.settings);
  const Choice choice = choose_method(problem, task);
  ProgressBar bar(invocation.settings);
  auto result = [&] {
    try {
      return call(*choice.method, problem, bar.monitor(), loaded);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::stopped && bar.was_interrupted())
        throw Error(ErrorKind::interrupted, error.what());
      throw;
    }
  }();
  bar.clear();
  const auto unused = unused_options(*choice.method, task, invocation.settings);
  result.warnings.insert(result.warnings.end(), unused.begin(), unused.end());
  result.warnings.insert(result.warnings.begin(), loaded.model.warnings.begin(), loaded.model.warnings.end());
  if (bar.was_interrupted()) result.warnings.emplace_back("interrupted: this is the result so far");
  return TaskRun<decltype(result)>{std::move(loaded), choice, std::move(result), bar.seconds()};
}

/// Writes --out (JSON by its extension, else through `write_own`) and --report, then prints warnings and,
/// with --json, the object. Returns whether a table for people is still wanted.
template <class WriteOwn, class MakePage>
bool deliver(const Invocation& invocation, const RunFacts& facts, const JsonObject& object,
             WriteOwn write_own, MakePage make_page) {
  const Settings& settings = invocation.settings;
  if (ends_with(settings.out, ".json"))
    write_file(settings.out, object.text());
  else if (!settings.out.empty())
    write_own(settings.out);
  if (!settings.report.empty()) write_file(settings.report, make_page(object.text()));
  print_warnings(settings, facts.warnings);
  if (settings.json) print_json(object);
  return !settings.json && !is_standard_output(settings.out) && !is_standard_output(settings.report);
}

}  // namespace drover::app
