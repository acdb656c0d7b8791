// The questions about a model, as methods of Model.
#include <pybind11/stl.h>

#include "asked.hpp"
#include "data.hpp"
#include "drover/core/error.hpp"
#include "drover/io/evidence.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "python_answers.hpp"
#include "python_run.hpp"

namespace drover::python {

namespace {

// Keywords that are no options of the library: progress, and query, which takes names or numbers.
py::dict without_own(const py::kwargs& keywords, const NamedModel& named, Asked& asked, bool has_query) {
  py::dict rest;
  for (const auto& [key, value] : keywords) {
    const std::string name = py::str(key);
    if (name == "progress")
      asked.progress = py::reinterpret_borrow<py::object>(value);
    else if (name == "query" && has_query)
      asked.query = value.is_none() ? std::vector<VariableId>() : named.variables(value);
    else
      rest[key] = value;
  }
  return rest;
}

void describe(OptionList& list, Asked& asked, Task task) {
  describe(list, asked.options, task);
  describe(list, asked.limits);
  list.add("evidence", "FILE", "observed variables, as a UAI evidence file", asked.evidence);
  if (task == Task::sample)
    list.add("out", "FILE", "write the draws here instead of keeping them: .npz, .csv, .csv.gz or .nc",
             asked.out);
}

}  // namespace

Asked ask(const NamedModel& named, Task task, const py::object& observed, const py::kwargs& keywords) {
  Asked asked;
  if (keywords.size() > 0) {
    const py::dict rest = without_own(keywords, named, asked, task == Task::marginals || task == Task::map);
    if (rest.size() > 0) {
      OptionList list;
      describe(list, asked, task);
      set_options(list, rest);
      if (!asked.evidence.empty()) asked.options.evidence = read_evidence(named.model, asked.evidence);
    }
  }
  observe(named, observed, asked.options);
  asked.options.input = named.source;
  return asked;
}

namespace {

template <class Answer, class Question>
AboutModel<Answer> answer(const StatedModel& stated, Asked& asked, Question question) {
  const std::shared_ptr<const NamedModel> named = stated.share();
  PythonRun run(asked.limits, asked.progress);
  AboutModel<Answer> result(
      run([&](const RunControl& control) { return question(named->model, asked.options, control); }), named,
      false);
  result.interrupted = run.interrupted();
  result.query = asked.query;
  if (asked.limits.time) result.provenance.options["time"] = *asked.limits.time;
  if (result.interrupted) warn("InterruptedWarning", "interrupted: this is the result so far");
  return result;
}

PythonMarginals ask_marginals(const StatedModel& stated, const py::object& observed,
                              const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::marginals, observed, keywords);
  PythonMarginals result = answer<Marginals>(stated, asked, &marginals);
  if (!result.exact && !result.converged && !result.interrupted)
    warn("ConvergenceWarning", judge(result).text);
  return result;
}

PythonBestState ask_best_state(const StatedModel& stated, const py::object& observed,
                               const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::map, observed, keywords);
  return answer<BestState>(stated, asked, &best_state);
}

PythonLogZ ask_log_z(const StatedModel& stated, const py::object& observed, const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::logz, observed, keywords);
  return answer<LogZ>(stated, asked, &log_z);
}

Draws ask_sample(const StatedModel& stated, const py::object& samples, const py::object& observed,
                 const py::kwargs& keywords) {
  if (!samples.is_none()) keywords["samples"] = samples;
  Asked asked = ask(*stated, Task::sample, observed, keywords);
  ArraySink kept;
  AboutModel<Samples> result = answer<Samples>(
      stated, asked, [&](const Model& model, const InferenceOptions& options, const RunControl& control) {
        if (asked.out.empty()) return sample(model, options, kept, control);
        DrawFileSink file(asked.out);
        Samples all = sample(model, options, file, control);
        file.finish(all);
        return all;
      });
  Draws draws;
  static_cast<AboutModel<Samples>&>(draws) = std::move(result);
  draws.arrays = std::move(kept.arrays);
  draws.out = asked.out;
  if (!draws.independent && !is_converged(draws.Samples::diagnostics) && !draws.interrupted)
    warn("ConvergenceWarning", judge(draws).text);
  return draws;
}

PythonModelInfo ask_info(const StatedModel& stated, const py::object& observed, const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::marginals, observed, keywords);
  const std::shared_ptr<const NamedModel> named = stated.share();
  PythonRun run(asked.limits, asked.progress);
  return {run([&](const RunControl& control) { return model_info(named->model, asked.options, control); })};
}

py::list options_of(const std::string& task) {
  const std::optional<Task> found = choice_named<Task>(task);
  if (!found) throw Error(ErrorKind::usage, "expected marginals, map, logz or sample");
  Asked asked;
  OptionList list;
  describe(list, asked, *found);
  return options_as_list(list);
}

py::list methods() {
  py::list all;
  for (const MethodDescription& method : list_methods()) {
    py::dict one;
    one["name"] = std::string(method.name);
    one["summary"] = std::string(method.summary);
    one["source"] = std::string(method.source);
    py::list tasks;
    for (Task task : method.tasks) tasks.append(std::string(task_name(task)));
    one["tasks"] = tasks;
    all.append(one);
  }
  return all;
}

constexpr const char* observed_doc =
    "\n\nParameters\n----------\nobserve : dict, optional\n    Variables by name or number, each with its "
    "state by name or number.\n"
    "**options\n    Every option of the command: method, seed, time, threads, ...; help(drover.options) "
    "lists them.\n"
    "    `progress`: False, or a function that is called with what is known so far.\n";

}  // namespace

void bind_questions(py::module_& module, py::class_<StatedModel>& model) {
  using namespace py::literals;
  const auto doc = [](const char* what) { return std::string(what) + observed_doc; };
  model
      .def("marginals", &ask_marginals, "observe"_a = py::none(),
           doc("The probability of every state of every variable, given what was observed.").c_str())
      .def("map", &ask_best_state, "observe"_a = py::none(),
           doc("A most probable state, given what was observed.").c_str())
      .def("logz", &ask_log_z, "observe"_a = py::none(),
           doc("The logarithm of the partition function.").c_str())
      .def("sample", &ask_sample, "samples"_a = py::none(), "observe"_a = py::none(),
           doc("Draws of the model, given what was observed; `samples` in all.").c_str())
      .def("info", &ask_info, "observe"_a = py::none(),
           doc("What the model is, and which methods fit it.").c_str());
  module.def("options", &options_of, "task"_a,
             "The options of a task: (keyword, meaning, value, choices, what happens without) of each.\n\n"
             "Parameters\n----------\ntask : {\"marginals\", \"map\", \"logz\", \"sample\"}\n");
  module.def("methods", &methods, "Every method: name, summary, source, tasks.");
}

}  // namespace drover::python
