// A graph of binary variables and pairs, in the form the spin kernels run:
//
//   log p~(x) = log_constant + sum_i bias_i x_i + sum_(i<j) weight_ij x_i x_j,   x in {0, 1}.
//
// From unaries u_i(x) and couplings J_ij s_i s_j with s = 2x - 1:  weight_ij = 4 J_ij,
// bias_i = u_i(1) - u_i(0) - 2 sum_j J_ij,  log_constant = c + sum_i u_i(0) + sum J_ij.
// Sums are made in double and rounded to float once. Time is linear in the number of variables and pairs (but
// for the sorting of each row).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/model/binary_machine.hpp"

namespace drover {

struct SpinGraph {
  double log_constant = 0;
  std::vector<float> bias;
  std::vector<std::size_t> offsets;      ///< row i is offsets[i] .. offsets[i+1]; size + 1 entries
  std::vector<std::uint32_t> neighbour;  ///< ascending and distinct in each row
  std::vector<float> weight;             ///< of the pair; every pair stands in both rows

  std::size_t size() const { return bias.size(); }
  std::size_t degree(std::size_t variable) const { return offsets[variable + 1] - offsets[variable]; }
  std::span<const std::uint32_t> neighbours(std::size_t variable) const {
    return {neighbour.data() + offsets[variable], degree(variable)};
  }
  std::span<const float> weights(std::size_t variable) const {
    return {weight.data() + offsets[variable], degree(variable)};
  }
};

/// What of a SpinGraph belongs to no pair, before it is rounded. Requires graph.is_spin().
struct SpinTerms {
  double log_constant = 0;
  std::vector<double> bias;
};
SpinTerms spin_terms(const Graph& graph);

/// Requires graph.is_spin(). Several pairs of the same two variables become one.
SpinGraph spin_graph(const Graph& graph);

/// The same of a machine: its edges, in order of (first, second), each once.
SpinGraph spin_graph(const BinaryMachine& machine);

/// A bound of |f_i| for every variable and state: the largest |bias_i| + sum_j |weight_ij|.
double largest_field(const SpinGraph& graph);

}  // namespace drover
