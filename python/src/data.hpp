// Tables of data from Python: arrays, frames and files.
#pragma once

#include <pybind11/pybind11.h>

#include "drover/io/data_table.hpp"
#include "drover/run/limits.hpp"
#include "stated_model.hpp"

namespace drover::python {

namespace py = pybind11;

/// What Python has, as it can be read without the interpreter: see prepared().
struct PreparedData {
  std::string path, text;
  std::vector<double> numbers;
  std::vector<std::string> names;

  DataTable table(const DataOptions& options, const RunControl& control) const;
};

/// By drover/_data.py: a path, an array of numbers, or a text with a header.
PreparedData prepared(const py::object& data, const py::object& names);

/// Takes `progress` out of the keywords.
py::object take_progress(py::dict& keywords);
/// Takes `names` out of the keywords.
py::object take(py::dict& keywords, const char* name);

void warn(const char* category, const std::string& text);

void bind_tasks(py::module_& module);
void bind_dynamic(py::module_& module);
void bind_classify(py::module_& module);
void bind_text(py::module_& module);
void bind_tag(py::module_& module);
void bind_live(py::module_& module);
void bind_runs(py::module_& module, py::class_<StatedModel>& model);

}  // namespace drover::python
