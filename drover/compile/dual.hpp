// Positive factorisations of pair factors: each pair becomes a mixture over one hidden binary variable (its
// dual), given which its two variables are independent.
//
// Source: Mescheder, Nowozin, Geiger: Probabilistic duality for parallel Gibbs sampling without graph
// colouring, 2016, section 4.1. With w = log p00 p11 / (p01 p10) >= 0 (else the rows are swapped) and
// a = exp(-w/2), a strictly positive table is, up to a scaling of its rows and columns,
//
//   [[1, a], [a, 1]] = M M^T,  M = [[c, s], [s, c]],  c^2 + s^2 = 1,  2 c s = a,
//   s^2 = a^2 / (2 (1 + r)),  log(c / s) = w/2 + log(1 + r),  r = sqrt(1 - a^2).
//
// Written so, nothing cancels: the factorisation keeps its relative precision for weak and for extreme
// couplings. A pair of determinant zero (w = 0) needs no dual; its dual is a fair coin that carries nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"

namespace drover {

/// p(x1, x2) = exp(log_constant) sum over theta in {0, 1} of
///   exp(alpha1 x1 + alpha2 x2 + theta (q + beta1 x1 + beta2 x2)),   x1, x2 in {0, 1}.
struct TableDual {
  double alpha1 = 0, alpha2 = 0;
  double q = 0;
  double beta1 = 0, beta2 = 0;
  double log_constant = 0;
  bool needed = false;  ///< false when the table is a product: beta1 = beta2 = 0
};

/// Of a strictly positive table log p(x1, x2) at 2 x1 + x2.
TableDual dual_of_table(std::span<const double, 4> log_values);

/// exp(J s1 s2) = exp(log_constant) sum over t in {-1, +1} of exp(strength / 2 * t (s1 + sign s2)), where
/// sign = flip ? -1 : 1. Given both spins t is s1 up to noise: it differs from s1 with probability `noise`
/// when s1 = sign s2, and is a fair coin otherwise. Given t the log-odds of s1 gain strength * t, those of s2
/// gain sign * strength * t.
struct SpinDual {
  bool flip = false;
  double noise = 0.5;
  double strength = 0;
  double log_constant = 0;
};

SpinDual dual_of_coupling(double coupling);

/// A spin graph as a list of its pairs, for samplers that visit pairs:
///   log p~(x) = log_constant + sum_i field_i x_i + sum over edges of coupling s_i s_j.
struct SpinEdges {
  struct Edge {
    std::uint32_t first, second;  ///< first < second
    float coupling;               ///< never zero
  };
  double log_constant = 0;
  std::vector<float> field;
  std::vector<Edge> edges;  ///< ordered by first, then second

  std::size_t size() const { return field.size(); }
};

SpinEdges spin_edges(const SpinGraph& graph);

/// Variables and duals as one bipartite spin graph (a restricted Boltzmann machine): the variables first,
/// then the dual of edge e at size() + e. Its marginal over the variables is p, constant included.
SpinGraph dual_spin_graph(const SpinEdges& graph);

}  // namespace drover
