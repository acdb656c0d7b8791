#include "stated_model.hpp"

#include <fmt/format.h>

#include "arrays.hpp"
#include "drover/core/error.hpp"
#include "drover/io/evidence.hpp"

namespace drover::python {

namespace {

std::uint32_t number_below(py::handle key, std::size_t count, const std::string& what) {
  const Py_ssize_t number = PyNumber_AsSsize_t(key.ptr(), nullptr);
  if (number < 0 || static_cast<std::size_t>(number) >= count)
    throw Error(ErrorKind::usage,
                count == 0 ? fmt::format("{} {}: there is none", what, number)
                           : fmt::format("{} {} is out of range: expected 0 to {}", what, number, count - 1));
  return static_cast<std::uint32_t>(number);
}

}  // namespace

VariableId NamedModel::variable(py::handle key) const {
  if (is_whole_number(key)) return number_below(key, model.variable_count(), "variable");
  const std::string name = py::str(key);
  if (index_.size() != model.variable_names.size()) {
    index_.clear();
    for (std::size_t v = 0; v < model.variable_names.size(); ++v)
      index_.emplace(model.variable_names[v], static_cast<VariableId>(v));
  }
  const auto found = index_.find(name);
  return found != index_.end() ? found->second : variables_named(model, std::vector{name}).front();
}

Value NamedModel::state(VariableId v, py::handle key) const {
  if (is_whole_number(key))
    return static_cast<Value>(number_below(key, model.cardinalities[v],
                                           fmt::format("state of variable {}:", model.variable_name(v))));
  const Observation observation{std::to_string(v), py::str(key)};
  // The library looks for the name of the variable first; a number is no name where there are none.
  if (model.variable_names.empty()) return evidence_of(model, {&observation, 1}).values.front();
  const Observation named{model.variable_names[v], observation.second};
  return evidence_of(model, {&named, 1}).values.front();
}

std::vector<VariableId> NamedModel::variables(py::handle keys) const {
  std::vector<VariableId> found;
  if (py::isinstance<py::str>(keys) || is_whole_number(keys)) return {variable(keys)};
  for (py::handle key : keys) found.push_back(variable(key));
  return found;
}

py::object NamedModel::state_of(VariableId variable, Value value) const {
  if (variable < model.state_names.size() && value < model.state_names[variable].size())
    return py::str(model.state_names[variable][value]);
  return py::int_(value);
}

StatedModel::StatedModel(Model model, std::string source)
    : named_(std::make_shared<NamedModel>(std::move(model), std::move(source))) {}

// Others read it too as long as they hold it, so edit() copies it first.
StatedModel::StatedModel(std::shared_ptr<const NamedModel> shared)
    : named_(std::const_pointer_cast<NamedModel>(std::move(shared))) {}

Model& StatedModel::edit() {
  if (named_.use_count() > 1) named_ = std::make_shared<NamedModel>(*named_);
  return named_->model;
}

BayesNet::BayesNet() : StatedModel(Model{}) {
  edit().kind = ModelKind::bayes;
}

void observe(const NamedModel& named, py::handle observed, InferenceOptions& options) {
  if (observed.is_none()) return;
  if (py::isinstance<py::str>(observed)) {
    options.observe = split_observations(observed.cast<std::string>());
    return;
  }
  if (!py::hasattr(observed, "items"))
    throw Error(ErrorKind::usage, "observed variables: expected a dict such as {\"lawn\": \"wet\"}");
  for (const py::handle item : observed.attr("items")()) {
    const auto pair = item.cast<py::tuple>();
    if (py::isinstance<py::str>(pair[0]) && py::isinstance<py::str>(pair[1])) {
      options.observe.emplace_back(pair[0].cast<std::string>(), pair[1].cast<std::string>());
      continue;
    }
    const VariableId v = named.variable(pair[0]);
    options.evidence.add(v, named.state(v, pair[1]));
  }
}

}  // namespace drover::python
