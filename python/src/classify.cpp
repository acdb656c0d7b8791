// A classifier of binary inputs learnt from a stream of rows, for drover.sklearn.HerdingClassifier.
#include <pybind11/pybind11.h>

#include "arrays.hpp"
#include "data.hpp"
#include "drover/classify/online_logistic.hpp"
#include "python_run.hpp"

namespace drover::python {

namespace {

// Rows of (inputs, label); returns the weights (input, class) and the biases.
py::tuple learn_stream(const py::object& rows, std::uint32_t classes) {
  const auto values = numbers<std::uint16_t>(rows, "rows");
  if (values.ndim() != 2 || values.shape(1) < 2)
    throw Error(ErrorKind::usage, "rows: expected inputs and a label");
  const auto inputs = static_cast<std::size_t>(values.shape(1) - 1);
  const std::vector<std::uint32_t> cardinalities(inputs, 2);
  for (py::ssize_t r = 0; r < values.shape(0); ++r)
    for (py::ssize_t c = 0; c < values.shape(1); ++c)
      if (values.at(r, c) >= (c + 1 < values.shape(1) ? 2U : classes))
        throw Error(ErrorKind::usage,
                    "rows: expected inputs of 0 and 1, and labels below the number of classes");
  PythonRun run;
  OnlineLogistic learner = run([&](const RunControl& control) {
    OnlineLogistic online(cardinalities, classes);
    for (py::ssize_t r = 0; r < values.shape(0); ++r) {
      const std::uint16_t* row = values.data() + static_cast<std::size_t>(r) * (inputs + 1);
      online.learn({row, inputs}, row[inputs]);
      if (r % 1024 == 0) fail_if_stopped(control, "the classifier");
    }
    return online;
  });
  run.raise_if_interrupted();
  const LinearClassifier& found = learner.classifier();
  return py::make_tuple(
      adopt(found.weights, {static_cast<py::ssize_t>(inputs), static_cast<py::ssize_t>(classes)}),
      adopt(found.biases));
}

}  // namespace

void bind_classify(py::module_& module) {
  module.def("_learn_stream", &learn_stream, py::arg("rows"), py::arg("classes"));
}

}  // namespace drover::python
