// The energy models that are learnt: binary variables, biases and pair weights, some variables hidden.
//
//   log p~(x) = sum_i bias_i x_i + sum over edges of weight_e x_first x_second,     x in {0, 1}
//
// Visible variables come first. An Ising model has no hidden variables, a Boltzmann machine has edges between
// all variables, a restricted one (RBM) only between visible and hidden ones. The edges stay, weights and
// biases are what is learnt; a SpinGraph (compile/spin_graph.hpp) is made of them whenever a sampler needs
// it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/model/model.hpp"

namespace drover {

enum class MachineKind { ising, boltzmann, rbm };

template <>
struct ChoiceNames<MachineKind> {
  static constexpr std::array names = {std::pair{MachineKind::ising, std::string_view("ising")},
                                       std::pair{MachineKind::boltzmann, std::string_view("boltzmann")},
                                       std::pair{MachineKind::rbm, std::string_view("rbm")}};
};

struct BinaryMachine {
  MachineKind kind = MachineKind::ising;
  std::uint32_t visible = 0;
  std::uint32_t hidden = 0;
  std::vector<VariableId> first, second;  ///< of every edge, first < second, each pair once
  std::vector<float> weights;             ///< of the edges; an RBM's are ordered (visible, hidden)
  std::vector<float> biases;              ///< of all variables

  std::size_t variables() const { return biases.size(); }
  std::size_t edges() const { return weights.size(); }
};

/// All pairs; every weight and bias zero.
BinaryMachine complete_machine(MachineKind kind, std::uint32_t visible, std::uint32_t hidden);
/// All pairs of a visible and a hidden variable.
BinaryMachine restricted_machine(std::uint32_t visible, std::uint32_t hidden);

Model to_model(const BinaryMachine& machine);

}  // namespace drover
