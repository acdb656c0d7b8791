// The linear-programming relaxation of the best state over the local polytope, solved by COIN-OR CLP.
//
// Sources: Wainwright and Jordan 2008; the compact form of pairs: Lazaro-Gredilla, Dedieu and George,
// Perturb-and-max-product, NeurIPS 2021, appendix D.
//
//   variables   p_i(k) for k >= 1 (p_i(0) is what is left of 1); for pairs w x_i x_j of binary variables one
//               q_ij; for tables one q_a(x_a) per entry that is not zero
//   pairs       w > 0: q <= p_i, q <= p_j;    w < 0: q >= p_i + p_j - 1, q >= 0   (the others cannot bind)
//   tables      sum of q_a = 1, and the sum over x_a with x_i = k is p_i(k)
//   maximise    the expected log score: an upper bound of every score; when p is integral, the best state
//               itself
//
// Size: a column per pair and table entry. CLP's simplex takes minutes beyond some 10^5 columns.
#pragma once

#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct LpResult {
  std::vector<Value> state;  ///< the largest p_i(k) of every variable
  double log_score = 0;
  double upper = 0;
  bool integral = false;  ///< every p is 0 or 1, so the state is a best one
  bool solved = false;    ///< CLP reached an optimum (else it was stopped; no bound then)
  std::size_t columns = 0, rows = 0;
};

/// Gates must be small enough for tables (can_expand_gates). Raises bad_data when no state is possible, and
/// stopped when the program could not even be written; the simplex method ends within an iteration or two.
LpResult solve_lp_relaxation(const Graph& graph, const RunControl& control = no_control());

/// Columns the program would have.
double lp_columns(const Graph& graph);

}  // namespace drover
