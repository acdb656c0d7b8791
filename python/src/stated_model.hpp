// A model as Python holds it: shared with the runs and results that read it, copied when it is edited while
// they do.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drover/model/model.hpp"
#include "drover/run/inference_options.hpp"

namespace drover::python {

namespace py = pybind11;

/// A model with an index of its names.
struct NamedModel {
  NamedModel(Model stated, std::string file) : model(std::move(stated)), source(std::move(file)) {}

  Model model;
  std::string source;  ///< the file it was read from, if any

  /// By name or number. Raises usage, with the nearest name.
  VariableId variable(py::handle key) const;
  std::optional<VariableId> named(const std::string& name) const;
  /// By name or number, names first: of states called 1, 2 and 3 the number 1 is the first.
  Value state(VariableId variable, py::handle key) const;
  std::vector<VariableId> variables(py::handle keys) const;
  /// A word that means the variable to the library.
  std::string key(VariableId variable) const { return model.variable_name(variable); }
  std::vector<std::string> keys(py::handle of) const;
  /// A state, a likelihood for each state (an array, or a dict of states), or nothing (None, NaN).
  void observe(VariableId variable, py::handle seen, Observations& evidence) const;
  /// As a word where the states have names, else as a number.
  py::object state_of(VariableId variable, Value value) const;

 private:
  mutable std::unordered_map<std::string, VariableId> index_;  ///< of the first `indexed_` names
  mutable std::size_t indexed_ = 0;                            ///< names are added, and never change
};

class StatedModel {
 public:
  explicit StatedModel(Model model, std::string source = "");
  explicit StatedModel(std::shared_ptr<const NamedModel> shared);

  const NamedModel& operator*() const { return *named_; }
  const NamedModel* operator->() const { return named_.get(); }
  std::shared_ptr<const NamedModel> share() const { return named_; }
  Model& edit();

 private:
  std::shared_ptr<NamedModel> named_;
};

/// A Bayesian network that is stated variable by variable.
class BayesNet : public StatedModel {
 public:
  BayesNet();
  explicit BayesNet(StatedModel stated) : StatedModel(std::move(stated)) {}
};

/// None, NaN, or what pandas and NumPy have for what is not there.
bool is_missing(py::handle value);

/// None, {name or number: state or number, or likelihoods}, or "name=state,...".
void observe(const NamedModel& named, py::handle observed, InferenceOptions& options);
/// The same, of interventions.
std::vector<std::pair<std::string, std::string>> set_from_outside(const NamedModel& named, py::handle set);

void bind_model(py::module_& module, py::class_<StatedModel>& model);
void bind_questions(py::module_& module, py::class_<StatedModel>& model);
void bind_errors(py::module_& module);

}  // namespace drover::python
