#include "drover/model/binary_machine.hpp"

#include <array>

namespace drover {

BinaryMachine complete_machine(MachineKind kind, std::uint32_t visible, std::uint32_t hidden) {
  BinaryMachine machine;
  machine.kind = kind;
  machine.visible = visible;
  machine.hidden = hidden;
  const std::uint32_t n = visible + hidden;
  for (VariableId i = 0; i < n; ++i)
    for (VariableId j = i + 1; j < n; ++j) {
      machine.first.push_back(i);
      machine.second.push_back(j);
    }
  machine.weights.assign(machine.first.size(), 0.0F);
  machine.biases.assign(n, 0.0F);
  return machine;
}

BinaryMachine restricted_machine(std::uint32_t visible, std::uint32_t hidden) {
  BinaryMachine machine;
  machine.kind = MachineKind::rbm;
  machine.visible = visible;
  machine.hidden = hidden;
  for (VariableId i = 0; i < visible; ++i)
    for (VariableId j = 0; j < hidden; ++j) {
      machine.first.push_back(i);
      machine.second.push_back(visible + j);
    }
  machine.weights.assign(machine.first.size(), 0.0F);
  machine.biases.assign(std::size_t{visible} + hidden, 0.0F);
  return machine;
}

Model to_model(const BinaryMachine& machine) {
  Model model;
  model.cardinalities.assign(machine.variables(), 2);
  std::vector<double> bias(machine.biases.begin(), machine.biases.end());
  if (machine.kind == MachineKind::rbm) {
    model.dense_layers.push_back({0, machine.visible, machine.visible, machine.hidden,
                                  std::vector<double>(machine.weights.begin(), machine.weights.end())});
  } else {
    // w x x' = w/4 (s s' + s + s' + 1), and w/4 (s + 1) is a bias of w/2.
    for (std::size_t e = 0; e < machine.edges(); ++e) {
      const double w = machine.weights[e];
      model.spin_pairs.add(machine.first[e], machine.second[e], w / 4);
      bias[machine.first[e]] += w / 2;
      bias[machine.second[e]] += w / 2;
      model.log_constant -= w / 4;
    }
  }
  for (VariableId i = 0; i < machine.variables(); ++i)
    model.unaries.add(i, std::array<double, 2>{0, bias[i]});
  return model;
}

}  // namespace drover
