// A model that changes while it is sampled: drover/_dynamic.py talks to the library's stream of edits in its
// JSON lines.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "data.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/run/edit_stream.hpp"
#include "drover/sample/dual/dynamic_model.hpp"
#include "python_run.hpp"
#include "stated_model.hpp"

namespace drover::python {

namespace {

class DynamicTalk {
 public:
  DynamicTalk(const StatedModel& stated, std::uint64_t seed, double half_life) {
    const std::shared_ptr<const NamedModel> shared = stated.share();
    PythonRun run;
    model_ = run([&](const RunControl& control) {
      const Graph graph = compile(shared->model, {}, PairTables::recognised, control);
      if (graph.size() != graph.model_size())
        throw Error(ErrorKind::misfit, "a DynamicModel takes no variables of a single state");
      const std::string why_not = DynamicModel::why_not(graph);
      if (!why_not.empty())
        throw Error(ErrorKind::misfit, "a DynamicModel cannot run this model: " + why_not);
      return std::make_unique<DynamicModel>(graph, seed, half_life, control);
    });
    run.raise_if_interrupted();
    stream_ = std::make_unique<EditStream>(*model_, stated->model.variable_names, EditStreamOptions{},
                                           [this](std::string_view answer) { answer_ = answer; });
  }

  /// One line of JSON in, one (or none) out.
  std::string ask(const std::string& line) {
    PythonRun run;
    stream_->set_should_stop([&] { return run.control().should_stop(); });
    answer_.clear();
    std::string answer = run([&](const RunControl&) {
      stream_->take(line);
      return answer_;
    });
    if (run.interrupted()) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw py::error_already_set();
    }
    return answer;
  }

  std::size_t variable_count() const { return model_->variable_count(); }
  std::size_t factor_count() const { return model_->factor_count(); }
  std::uint64_t sweeps() const { return model_->sweeps(); }
  StatedModel model() const { return StatedModel(model_->model()); }

 private:
  std::unique_ptr<DynamicModel> model_;
  std::unique_ptr<EditStream> stream_;
  std::string answer_;
};

}  // namespace

void bind_dynamic(py::module_& module) {
  py::class_<DynamicTalk>(module, "_DynamicTalk")
      .def(py::init<const StatedModel&, std::uint64_t, double>())
      .def("ask", &DynamicTalk::ask)
      .def("model", &DynamicTalk::model)
      .def_property_readonly("variables", &DynamicTalk::variable_count)
      .def_property_readonly("factors", &DynamicTalk::factor_count)
      .def_property_readonly("sweeps", &DynamicTalk::sweeps);
}

}  // namespace drover::python
