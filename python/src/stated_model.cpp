#include "stated_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

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

// Of Python or NumPy.
bool is_truth_value(py::handle key) {
  return PyBool_Check(key.ptr()) || std::string_view(Py_TYPE(key.ptr())->tp_name) == "numpy.bool_";
}

}  // namespace

bool is_missing(py::handle value) {
  if (value.is_none()) return true;
  if (PyFloat_Check(value.ptr())) return std::isnan(PyFloat_AS_DOUBLE(value.ptr()));
  const std::string_view type = Py_TYPE(value.ptr())->tp_name;
  return type.ends_with("NAType") || type.ends_with("NaTType") || type == "MaskedConstant";
}

VariableId NamedModel::variable(py::handle key) const {
  if (is_whole_number(key)) return number_below(key, model.variable_count(), "variable");
  const std::string name = py::str(key);
  const std::optional<VariableId> found = named(name);
  return found ? *found : variables_named(model, std::vector{name}).front();
}

std::optional<VariableId> NamedModel::named(const std::string& name) const {
  for (; indexed_ < model.variable_names.size(); ++indexed_)
    index_.emplace(model.variable_names[indexed_], static_cast<VariableId>(indexed_));
  const auto found = index_.find(name);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

Value NamedModel::state(VariableId v, py::handle key) const {
  const auto named = [&](const std::string& name) -> std::optional<Value> {
    if (v >= model.state_names.size()) return {};
    const auto found = std::ranges::find(model.state_names[v], name);
    if (found == model.state_names[v].end()) return {};
    return static_cast<Value>(found - model.state_names[v].begin());
  };
  if (is_truth_value(key)) {
    const bool yes = PyObject_IsTrue(key.ptr()) == 1;
    for (const char* name : yes ? std::array{"True", "true", "TRUE"} : std::array{"False", "false", "FALSE"})
      if (const auto found = named(name)) return *found;
    return static_cast<Value>(number_below(py::int_(yes ? 1 : 0), model.cardinalities[v],
                                           fmt::format("state of variable {}:", model.variable_name(v))));
  }
  if (is_whole_number(key)) {
    if (const auto found = named(py::str(key))) return *found;
    return static_cast<Value>(number_below(key, model.cardinalities[v],
                                           fmt::format("state of variable {}:", model.variable_name(v))));
  }
  Observations seen;
  const std::string text = py::str(key);
  add_observation(model, v, text, seen);
  if (seen.values.empty())
    throw Error(ErrorKind::usage,
                fmt::format("state of variable {}: expected one state, found the likelihoods {}",
                            model.variable_name(v), text));
  return seen.values.front();
}

std::vector<VariableId> NamedModel::variables(py::handle keys) const {
  std::vector<VariableId> found;
  if (py::isinstance<py::str>(keys) || is_whole_number(keys)) return {variable(keys)};
  for (py::handle key : keys) found.push_back(variable(key));
  return found;
}

std::vector<std::string> NamedModel::keys(py::handle of) const {
  std::vector<std::string> words;
  for (VariableId v : variables(of)) words.push_back(key(v));
  return words;
}

void NamedModel::observe(VariableId v, py::handle seen, Observations& evidence) const {
  if (is_missing(seen)) return;
  if (py::hasattr(seen, "items")) {
    std::vector<double> likelihood(model.cardinalities[v], 0.0);
    for (const py::handle item : seen.attr("items")()) {
      const auto pair = item.cast<py::tuple>();
      likelihood[state(v, pair[0])] = pair[1].cast<double>();
    }
    evidence.add_likelihood(v, likelihood);
  } else if (!py::isinstance<py::str>(seen) && py::hasattr(seen, "__len__") &&
             !(py::isinstance<py::array>(seen) && py::len(seen.attr("shape")) == 0)) {
    const std::string what = "soft evidence of variable " + model.variable_name(v);
    const auto likelihood = numbers<double>(seen, what.c_str());
    evidence.add_likelihood(v, {likelihood.data(), static_cast<std::size_t>(likelihood.size())});
  } else if (PyFloat_Check(seen.ptr()) && seen.attr("is_integer")().cast<bool>()) {
    evidence.add(v, state(v, py::int_(py::reinterpret_borrow<py::object>(seen))));
  } else {
    evidence.add(v, state(v, seen));
  }
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
    named.observe(named.variable(pair[0]), pair[1], options.evidence);
  }
}

std::vector<std::pair<std::string, std::string>> set_from_outside(const NamedModel& named, py::handle set) {
  if (set.is_none()) return {};
  if (py::isinstance<py::str>(set)) return split_observations(set.cast<std::string>());
  if (!py::hasattr(set, "items"))
    throw Error(ErrorKind::usage, "do: expected a dict such as {\"sprinkler\": \"on\"}");
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const py::handle item : set.attr("items")()) {
    const auto pair = item.cast<py::tuple>();
    const VariableId v = named.variable(pair[0]);
    const Value value = named.state(v, pair[1]);
    pairs.emplace_back(named.key(v), named.model.state_name(v, value));
  }
  return pairs;
}

}  // namespace drover::python
