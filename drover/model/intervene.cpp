#include "drover/model/intervene.hpp"

#include <fmt/format.h>

#include "drover/core/error.hpp"

namespace drover {

Model intervene(const Model& model, const Observations& set) {
  if (model.kind != ModelKind::bayes)
    throw Error(ErrorKind::misfit,
                "an intervention needs a Bayesian network, in which every variable has a table given its "
                "parents: this model is a Markov network");
  if (set.likelihoods.size() > 0)
    throw Error(ErrorKind::usage, fmt::format("variable {} can be set to one state, not to likelihoods",
                                              model.variable_name(set.likelihoods.variables[0])));
  Model cut = model;
  std::vector<bool> is_set(model.variable_count(), false);
  for (std::size_t e = 0; e < set.size(); ++e) {
    const VariableId v = set.variables[e];
    if (is_set[v])
      throw Error(ErrorKind::usage, fmt::format("variable {} is set twice", model.variable_name(v)));
    is_set[v] = true;
  }
  cut.unaries = {};
  for (std::size_t f = 0; f < model.unaries.size(); ++f)
    if (!is_set[model.unaries.variables[f]])
      cut.unaries.add(model.unaries.variables[f], model.unaries.values(f));
  cut.tables.scope_offsets.assign(1, 0);
  cut.tables.scopes.clear();
  cut.tables.table_of.clear();
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    const auto scope = model.tables.scope(f);
    if (!is_set[scope.back()]) cut.tables.add_factor(scope, model.tables.table_of[f]);
  }
  cut.gates = {};
  for (std::size_t g = 0; g < model.gates.size(); ++g)
    if (!model.gates.has_child(g) || !is_set[model.gates.child(g)]) cut.gates.add_copy(model.gates, g);
  for (std::size_t e = 0; e < set.size(); ++e) {
    std::vector<double> point(model.cardinalities[set.variables[e]], log_zero);
    point[set.values[e]] = 0;
    cut.unaries.add(set.variables[e], point);
  }
  return cut;
}

}  // namespace drover
