// The module drover._core: drover/task for Python. No algorithm is here; each file binds one part.
#include <pybind11/pybind11.h>

#include "answers.hpp"
#include "data.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/core/option_list.hpp"
#include "drover/core/version.hpp"
#include "python_run.hpp"
#include "stated_model.hpp"

namespace drover::python {

namespace {

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return "UsageError";
    case ErrorKind::bad_data:
      return "DataError";
    case ErrorKind::cannot_read:
      return "ReadError";
    case ErrorKind::cannot_write:
      return "WriteError";
    case ErrorKind::misfit:
      return "MisfitError";
    case ErrorKind::stopped:
      return "StoppedError";
    case ErrorKind::internal:
    case ErrorKind::interrupted:
      break;
  }
  return "Error";
}

void raise(ErrorKind kind, const std::string& message) {
  const py::object type = py::module_::import("drover._errors").attr(class_of(kind));
  PyErr_SetString(type.ptr(), message.c_str());
}

}  // namespace

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr caught) {
    try {
      if (caught) std::rethrow_exception(caught);
    } catch (const OptionError& error) {
      raise(error.kind(), keyword_of(error.name()) + "=" + error.value() + ": expected " + error.expected());
    } catch (const Error& error) {
      raise(error.kind(), error.what());
    }
  });
}

}  // namespace drover::python

PYBIND11_MODULE(_core, module) {
  using namespace drover::python;
  module.doc() = "The library drover, for Python.";
  watch_forks();
  bind_errors(module);
  py::options options;
  options.disable_function_signatures();
  py::class_<StatedModel> model(
      module, "Model",
      "Variables and factors over them: p(x) is proportional to the product of the factors.\n\n"
      "Parameters\n----------\nvariables : dict, list of int, or int\n"
      "    Names with their states (a list of names, or how many); or the number of states of each "
      "variable,\n"
      "    or how many binary variables.\n");
  bind_model(module, model);
  bind_answers(module);
  bind_questions(module, model);
  bind_runs(module, model);
  bind_tasks(module);
  bind_dynamic(module);
  bind_classify(module);
  bind_text(module);
  bind_tag(module);
  bind_live(module);
  module.def("_rhat_text", &drover::rhat_text, py::arg("rhat"));
  module.attr("__version__") = drover::version();
}
