// An upper bound of log Z from many forests, and the marginals that belong to it.
//
// Source: Wainwright, Jaakkola and Willsky, A new class of upper bounds on the log partition function, 2005.
//
// Take forests T of factors that together contain every factor; rho_a is the share of those with a. Any split
// of the model's log-factors theta = average over T of theta_T, with theta_T on the factors of T, gives
//
//   log Z(theta) <= average over T of log Z(theta_T),
//
// because log Z is convex, and every term is exact. Tree-reweighted message passing (belief_propagation.hpp
// with these rho) finds the best split; what its messages say is then evaluated forest by forest, so that the
// bound holds whether or not they have converged:
//
//   unary of T:   u_i + sum_a rho_a m_ai - sum over a in T of m_ai,     factor of T:  theta_a / rho_a.
//
// Works for factors of any number of variables; a forest takes a factor when its variables are not joined
// yet.
#pragma once

#include <limits>
#include <vector>

#include "drover/infer/belief_propagation.hpp"

namespace drover {

/// Forests that together contain every factor; by use, the least used factors first.
struct ForestCover {
  std::vector<std::vector<char>> forests;  ///< per forest and factor: whether it is in
  std::vector<double> appearance;          ///< rho of every factor
};
/// Without forests when `go_on` said no before every factor was in one.
ForestCover cover_by_forests(const FactorGraph& graph, std::uint64_t seed, std::size_t least = 16,
                             const GoOn& go_on = {});

struct TreeReweighted {
  double upper = std::numeric_limits<double>::infinity();  ///< a bound of log Z, always
  Distributions marginals;
  bool converged = false;
  std::uint64_t iterations = 0;
  double largest_change = 0;
  std::size_t forests = 0;
};

/// Without forests, and so without a result, when `go_on` said no before there were any. The bound takes about as
/// long as four iterations for every forest; it is infinite when `go_on_to_bound` said no on the way.
TreeReweighted tree_reweighted(const Graph& graph, const BeliefOptions& options, std::uint64_t seed,
                               const OnIteration& on_iteration = {}, const GoOn& go_on = {},
                               const GoOn& go_on_to_bound = {});

}  // namespace drover
