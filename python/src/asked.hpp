// What a question about a model was asked with.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "drover/run/inference_options.hpp"
#include "drover/run/limits.hpp"
#include "stated_model.hpp"

namespace drover::python {

struct Asked {
  InferenceOptions options;
  Limits limits;
  std::string evidence, out;
  py::object progress = py::none();
  std::vector<VariableId> query;
  py::object rows = py::none();  ///< of evidence
  std::string target;
};

/// From what was observed and the keywords.
Asked ask(const NamedModel& named, Task task, const py::object& observed, const py::kwargs& keywords);

}  // namespace drover::python
