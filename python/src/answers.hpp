// The answers of drover/task as Python objects: properties that are views of the answer's own memory.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "answer_text.hpp"
#include "arrays.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/provenance.hpp"
#include "options.hpp"
#include "stated_model.hpp"

namespace drover::python {

/// An answer about a model, with the model and how it was asked.
template <class Answer>
struct AboutModel : Answer {
  AboutModel() = default;
  AboutModel(Answer answer, std::shared_ptr<const NamedModel> about, bool was_interrupted)
      : Answer(std::move(answer)), model(std::move(about)), interrupted(was_interrupted) {}
  std::shared_ptr<const NamedModel> model;
  std::vector<VariableId> query;  ///< variables to show; empty: all
  bool interrupted = false;
};

/// For methods that touch nothing of Python and may take long: its lock is released meanwhile.
using Unlocked = py::call_guard<py::gil_scoped_release>;

/// A method that is written in Python: the module is imported at the first call.
inline auto forward(const char* module, const char* function) {
  return [module, function](const py::object& self, const py::args& args, const py::kwargs& kwargs) {
    return py::module_::import(module).attr(function)(self, *args, **kwargs);
  };
}

inline std::string path_of(const py::object& path) {
  return py::str(py::module_::import("os").attr("fspath")(path));
}

/// What every answer has: where it comes from and how far it can be relied on.
template <class Class>
void bind_provenance(Class& c) {
  using Answer = typename Class::type;
  const auto word = [&c](const char* name, std::string Provenance::*field, const char* doc) {
    c.def_property_readonly(
        name, [field](const Answer& a) { return a.provenance.*field; }, doc);
  };
  word("method", &Provenance::method, "The method that was used.");
  word("because", &Provenance::because, "Why this method; empty when it was asked for.");
  word("input", &Provenance::input, "What the model or the data are called.");
  c.def_property_readonly(
       "seed", [](const Answer& a) { return a.provenance.seed; }, "The seed of all randomness.")
      .def_property_readonly(
          "seconds", [](const Answer& a) { return a.provenance.seconds; }, "How long it took.")
      .def_property_readonly(
          "warnings", [](const Answer& a) { return a.provenance.warnings; }, "Plain sentences.")
      .def_property_readonly(
          "options", [](const Answer& a) { return to_python(a.provenance.options); },
          "The options as they were resolved: with these the same run can be made again.")
      .def_property_readonly(
          "details", [](const Answer& a) { return to_python(a.provenance.details); },
          "What only this method has to say.")
      .def_property_readonly(
          "verdict", [](const Answer& a) { return std::string(choice_name(judge(a).verdict)); },
          "How far the answer can be relied on: good, caution or bad.")
      .def_property_readonly(
          "verdict_text", [](const Answer& a) { return judge(a).text; },
          "The verdict in a plain sentence or two.")
      .def("_repr_html_", forward("drover._html", "of_answer"));
}

/// For answers that have a page.
template <class Class>
void bind_report(Class& c) {
  c.def("report", forward("drover._html", "report"),
        "Write the answer as a self-contained HTML page, and open it.\n\n"
        "Parameters\n----------\npath : path, optional\n    Without it, a temporary file.\nopen : bool\n  "
        "  Whether to open it in a browser.\n\n"
        "Returns\n-------\nstr\n    The path.\n");
}

/// {variable: state, or an array of likelihoods}.
py::dict evidence_dict(const NamedModel& named, const Observations& observed);

/// What answers about a model have in common.
template <class Class>
void bind_model_answer(Class& c) {
  using Answer = typename Class::type;
  bind_provenance(c);
  bind_report(c);
  c.def_property_readonly(
       "interrupted", [](const Answer& a) { return a.interrupted; },
       "Whether Ctrl-C ended the run, so that this is the result so far.")
      .def_property_readonly(
          "model", [](const Answer& a) { return StatedModel(a.model); }, "The model that was asked.")
      .def_property_readonly(
          "names",
          [](const Answer& a) {
            py::list names;
            for (std::size_t v = 0; v < a.variables; ++v)
              names.append(a.names.variable(static_cast<VariableId>(v)));
            return names;
          },
          "The names of the variables.")
      .def_property_readonly(
          "variables", [](const Answer& a) { return a.variables; }, "How many variables there are.")
      .def_property_readonly(
          "sweeps", [](const Answer& a) { return a.sweeps; }, "Sweeps after burn-in, or iterations.")
      .def_property_readonly(
          "burn_in", [](const Answer& a) { return a.burn_in; }, "Sweeps discarded first.")
      .def_property_readonly(
          "chains", [](const Answer& a) { return a.chains; },
          "How many chains ran; 0 when the method has none.")
      .def_property_readonly(
          "updates", [](const Answer& a) { return a.updates; }, "Updates of single variables in all.")
      .def_property_readonly(
          "evidence", [](const Answer& a) { return evidence_dict(*a.model, a.evidence); },
          "What was observed: states, and likelihoods of soft evidence.")
      .def_property_readonly(
          "interventions", [](const Answer& a) { return evidence_dict(*a.model, a.set); },
          "Variables that were set from outside, by `do`.");
}

py::dict to_python(const Diagnostics& diagnostics);
py::dict to_python(const Trace& trace);

void bind_answers(py::module_& module);
void bind_joint_answers(py::module_& module);

}  // namespace drover::python
