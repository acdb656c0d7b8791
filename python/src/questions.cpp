// The questions about a model, as methods of Model.
#include <pybind11/stl.h>

#include <cmath>

#include "arrays.hpp"
#include "asked.hpp"
#include "data.hpp"
#include "drover/core/error.hpp"
#include "drover/io/cases.hpp"
#include "drover/io/evidence.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "python_answers.hpp"
#include "python_run.hpp"

namespace drover::python {

namespace {

// One set of variables, or a list of them.
std::vector<std::vector<std::string>> sets_of(const NamedModel& named, py::handle value) {
  const auto is_one = [](py::handle part) { return py::isinstance<py::str>(part) || is_whole_number(part); };
  if (is_one(value)) return {named.keys(value)};
  bool all_sets = true;
  for (py::handle part : value) all_sets &= !is_one(part);
  if (!all_sets) return {named.keys(value)};
  std::vector<std::vector<std::string>> sets;
  for (py::handle part : value) sets.push_back(named.keys(part));
  return sets;
}

// Keywords that are no options of the library, or that take more than words: false when it is another.
bool set_own(const NamedModel& named, Task task, std::string_view name, py::handle value, Asked& asked) {
  const bool marginals = task == Task::marginals, none = value.is_none();
  if (name == "progress")
    asked.progress = py::reinterpret_borrow<py::object>(value);
  else if (name == "do")
    asked.options.intervene = set_from_outside(named, value);
  else if (name == "query" && (marginals || task == Task::map))
    asked.query = none ? std::vector<VariableId>() : named.variables(value);
  else if (name == "joint" && marginals)
    asked.options.joint = none ? std::vector<std::vector<std::string>>() : sets_of(named, value);
  else if (name == "rows" && marginals)
    asked.rows = py::reinterpret_borrow<py::object>(value);
  else if (name == "target" && marginals)
    asked.target = none ? "" : named.key(named.variable(value));
  else
    return false;
  return true;
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
    py::dict rest;
    for (const auto& [key, value] : keywords)
      if (!set_own(named, task, std::string(py::str(key)), value, asked)) rest[key] = value;
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

PythonMarginals ask_marginals(const StatedModel& stated, Asked& asked) {
  PythonMarginals result = answer<Marginals>(stated, asked, &marginals);
  if (!result.exact && !result.converged && !result.interrupted)
    warn("ConvergenceWarning", judge(result).text);
  return result;
}

// Rows as drover/_rows.py has them: where they are, or states by number (-1: not observed) and likelihoods.
PythonRows ask_rows(const StatedModel& stated, Asked& asked) {
  if (!asked.options.joint.empty())
    throw Error(ErrorKind::usage, "joint goes with one question, not with rows");
  const std::shared_ptr<const NamedModel> named = stated.share();
  const auto parts =
      py::module_::import("drover._rows").attr("prepared")(stated, asked.rows).cast<py::tuple>();
  const std::string path = parts[0].is_none() ? "" : parts[0].cast<std::string>();
  const auto columns = parts[1].cast<std::vector<VariableId>>();
  const auto states = numbers<std::int32_t>(parts[2], "rows");
  std::vector<std::pair<VariableId, py::array_t<double, py::array::c_style | py::array::forcecast>>> soft;
  for (py::handle part : parts[3])
    soft.emplace_back(part[py::int_(0)].cast<VariableId>(), numbers<double>(part[py::int_(1)], "rows"));

  PythonRun run(asked.limits, asked.progress);
  PythonRows result;
  static_cast<CaseAnswers&>(result) = run([&](const RunControl& control) {
    std::vector<Observations> rows;
    if (!path.empty()) {
      rows = read_cases(named->model, path).rows;
    } else {
      rows.resize(static_cast<std::size_t>(states.shape(0)));
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::int32_t* row = states.data() + r * columns.size();
        for (std::size_t c = 0; c < columns.size(); ++c)
          if (row[c] >= 0) rows[r].add(columns[c], static_cast<Value>(row[c]));
        for (const auto& [v, likelihoods] : soft) {
          const auto count = static_cast<std::size_t>(likelihoods.shape(1));
          const std::span<const double> likelihood(likelihoods.data() + r * count, count);
          if (!std::isnan(likelihood[0])) rows[r].add_likelihood(v, likelihood);
        }
      }
    }
    return answer_cases(named->model, rows, asked.query, asked.options, control);
  });
  result.model = named;
  result.index = parts[4];
  result.interrupted = run.interrupted();
  if (asked.limits.time) result.provenance.options["time"] = *asked.limits.time;
  if (result.interrupted)
    warn("InterruptedWarning", "interrupted: these are the answers of the first rows");
  else if (result.not_converged > 0)
    warn("ConvergenceWarning", judge(result).text);
  return result;
}

py::object ask_marginals_or_rows(const StatedModel& stated, const py::object& observed,
                                 const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::marginals, observed, keywords);
  return asked.rows.is_none() ? py::cast(ask_marginals(stated, asked)) : py::cast(ask_rows(stated, asked));
}

PythonJoint ask_joint(const StatedModel& stated, const py::object& variables, const py::object& observed,
                      const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::marginals, observed, keywords);
  asked.options.joint = {stated->keys(variables)};
  return PythonJoint(ask_marginals(stated, asked));
}

PythonBestState ask_best_state(const StatedModel& stated, const py::object& observed,
                               const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::map, observed, keywords);
  return answer<BestState>(stated, asked, &best_state);
}

PythonBestStates ask_best_states(const StatedModel& stated, std::uint64_t count, const py::object& observed,
                                 const py::kwargs& keywords) {
  keywords["best"] = count;
  PythonBestStates result(ask_best_state(stated, observed, keywords));
  if (result.states.empty()) result.states.push_back({result.assignment, result.log_score});
  return result;
}

PythonBestValues ask_best_values(const StatedModel& stated, const py::object& variables,
                                 const py::object& observed, const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::map, observed, keywords);
  const std::vector<std::string> of = stated->keys(variables);
  return answer<BestValues>(
      stated, asked, [&](const Model& model, const InferenceOptions& options, const RunControl& control) {
        return best_values(model, of, options, control);
      });
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
  if (!draws.converged && !draws.interrupted) warn("ConvergenceWarning", judge(draws).text);
  return draws;
}

PythonModelInfo ask_info(const StatedModel& stated, const py::object& observed, const py::kwargs& keywords) {
  Asked asked = ask(*stated, Task::marginals, observed, keywords);
  const std::shared_ptr<const NamedModel> named = stated.share();
  PythonRun run(asked.limits, asked.progress);
  PythonModelInfo result = run([&](const RunControl& control) {
    PythonModelInfo info{model_info(named->model, asked.options, control), {}};
    if (!asked.target.empty()) info.about = about_target(named->model, asked.target, asked.options, control);
    return info;
  });
  run.raise_if_interrupted();
  return result;
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
    "observe : dict, optional\n    Variables by name or number, each with its state by name or number, or "
    "with "
    "soft evidence:\n    how likely what was seen is in each state, as an array or a dict. None and NaN: not "
    "observed.\n"
    "**options\n    Every option of the command: method, seed, time, threads, ...; help(drover.options) "
    "lists them.\n"
    "    `progress`: False, or a function that is called with what is known so far.\n";

}  // namespace

void bind_questions(py::module_& module, py::class_<StatedModel>& model) {
  using namespace py::literals;
  const auto doc = [](const char* what, const char* first = "", const char* more = "") {
    return std::string(what) + "\n\nParameters\n----------\n" + first + observed_doc + more;
  };
  model
      .def("marginals", &ask_marginals_or_rows, "observe"_a = py::none(),
           doc("The probability of every state of every variable, given what was observed.", "",
               "    `query`: the variables to show, or to answer for.\n"
               "    `joint`: lists of variables whose joint distributions are wanted too.\n"
               "    `rows`: many rows of evidence, answered at once: a DataFrame, a dict of columns, a list "
               "of "
               "dicts, an\n    array with a column for each variable, or the path of a .csv file; None and "
               "NaN "
               "are not observed.\n    What `observe` says holds in every row.\n\n"
               "Returns\n-------\nMarginals, or RowMarginals of rows\n")
               .c_str())
      .def("joint", &ask_joint, "variables"_a, "observe"_a = py::none(),
           doc("The joint distribution of some variables, given what was observed.",
               "variables : list of names or numbers\n", "\nReturns\n-------\nJoint\n")
               .c_str())
      .def("map", &ask_best_state, "observe"_a = py::none(),
           doc("A most probable state of all variables, given what was observed.", "",
               "\nReturns\n-------\nBestState\n")
               .c_str())
      .def("n_best", &ask_best_states, "count"_a, "observe"_a = py::none(),
           doc("The most probable states of all variables, best first.", "count : int\n    How many.\n",
               "\nReturns\n-------\nBestStates\n")
               .c_str())
      .def("marginal_map", &ask_best_values, "variables"_a, "observe"_a = py::none(),
           doc("The most probable values of some variables, the others summed out.",
               "variables : list of names or numbers\n", "\nReturns\n-------\nBestValues\n")
               .c_str())
      .def("logz", &ask_log_z, "observe"_a = py::none(),
           doc("The logarithm of the partition function.", "", "\nReturns\n-------\nLogZ\n").c_str())
      .def("sample", &ask_sample, "samples"_a = py::none(), "observe"_a = py::none(),
           doc("Draws of the model, given what was observed.",
               "samples : int, optional\n    How many in all; without it, as many as the method takes.\n",
               "\nReturns\n-------\nDraws\n")
               .c_str())
      .def("info", &ask_info, "observe"_a = py::none(),
           doc("What the model is, and which methods fit it.", "",
               "    `target`: a variable; what others would tell about it, and which entries of tables it "
               "hangs "
               "on.\n\nReturns\n-------\nModelInfo\n")
               .c_str());
  module.def("options", &options_of, "task"_a,
             "The options of a task: (keyword, meaning, value, choices, what happens without) of each.\n\n"
             "Parameters\n----------\ntask : {\"marginals\", \"map\", \"logz\", \"sample\"}\n");
  module.def("methods", &methods, "Every method: name, summary, source, tasks.");
}

}  // namespace drover::python
