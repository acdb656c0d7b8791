#include "drover/learn/binary_machine.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <array>

namespace drover {

std::string_view machine_kind_name(MachineKind kind) {
  constexpr std::string_view names[] = {"ising", "boltzmann", "rbm"};
  return names[static_cast<int>(kind)];
}

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

SpinGraph spin_graph(const BinaryMachine& machine) {
  SpinGraph graph;
  const std::size_t n = machine.variables(), edges = machine.edges();
  graph.bias = machine.biases;
  graph.offsets.assign(n + 1, 0);
  for (std::size_t e = 0; e < edges; ++e) {
    ++graph.offsets[machine.first[e] + 1];
    ++graph.offsets[machine.second[e] + 1];
  }
  for (std::size_t i = 0; i < n; ++i) graph.offsets[i + 1] += graph.offsets[i];
  graph.neighbour.resize(2 * edges);
  graph.weight.resize(2 * edges);
  // Edges ordered by (first, second) fill every row in ascending order when the smaller neighbours of all
  // rows are put in before the larger ones.
  std::vector<std::size_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
  const auto put = [&](VariableId row, VariableId other, float weight) {
    graph.neighbour[next[row]] = other;
    graph.weight[next[row]++] = weight;
  };
  for (std::size_t e = 0; e < edges; ++e) put(machine.second[e], machine.first[e], machine.weights[e]);
  for (std::size_t e = 0; e < edges; ++e) put(machine.first[e], machine.second[e], machine.weights[e]);
  return graph;
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

void measure(const BinaryMachine& machine, const BitBatch& batch, Statistics& statistics) {
  statistics.biases.resize(machine.variables());
  statistics.weights.resize(machine.edges());
  const float share = 1.0F / static_cast<float>(batch.rows);
  for (std::size_t i = 0; i < machine.variables(); ++i)
    statistics.biases[i] = share * static_cast<float>(count_ones(batch.column(i)));
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, machine.edges(), 16384), [&](const auto& range) {
    for (std::size_t e = range.begin(); e != range.end(); ++e)
      statistics.weights[e] = share * static_cast<float>(count_both(batch.column(machine.first[e]),
                                                                    batch.column(machine.second[e])));
  });
}

}  // namespace drover
