#include "drover/model/model.hpp"

#include <cassert>

namespace drover {

std::string Model::variable_name(VariableId variable) const {
  if (variable < variable_names.size()) return variable_names[variable];
  return std::to_string(variable);
}

std::string Model::state_name(VariableId variable, Value value) const {
  if (variable < state_names.size() && value < state_names[variable].size())
    return state_names[variable][value];
  return std::to_string(value);
}

double log_score(const Model& model, std::span<const Value> assignment) {
  assert(assignment.size() == model.variable_count());
  double total = model.log_constant;
  for (std::size_t f = 0; f < model.unaries.size(); ++f)
    total += model.unaries.values(f)[assignment[model.unaries.variables[f]]];
  const auto& spins = model.spin_pairs;
  for (std::size_t f = 0; f < spins.size(); ++f)
    total +=
        assignment[spins.first[f]] == assignment[spins.second[f]] ? spins.couplings[f] : -spins.couplings[f];
  const auto& potts = model.potts_pairs;
  for (std::size_t f = 0; f < potts.size(); ++f)
    if (assignment[potts.first[f]] == assignment[potts.second[f]]) total += potts.couplings[f];
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    std::size_t index = 0;
    for (VariableId v : model.tables.scope(f)) index = index * model.cardinalities[v] + assignment[v];
    total += model.tables.values(f)[index];
  }
  for (const DenseLayer& layer : model.dense_layers)
    for (std::uint32_t i = 0; i < layer.visible_count; ++i)
      if (assignment[layer.first_visible + i] == 1)
        for (std::uint32_t j = 0; j < layer.hidden_count; ++j)
          if (assignment[layer.first_hidden + j] == 1)
            total += layer.weights[static_cast<std::size_t>(i) * layer.hidden_count + j];
  std::vector<Value> values;
  for (std::size_t g = 0; g < model.gates.size(); ++g) {
    values.clear();
    for (VariableId v : model.gates.scope(g)) values.push_back(assignment[v]);
    total += model.gates.log_value(g, values);
  }
  return total;
}

}  // namespace drover
