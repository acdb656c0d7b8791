// MPLP: a state and an upper bound of its score, by coordinate descent on the dual of the local-polytope
// relaxation.
//
// Source: Globerson and Jaakkola, Fixing max-product, NIPS 2007 (one factor at a time).
//
//   b_i(k)    = u_i(k) + sum over factors a of delta_ai(k)
//   dual      = sum_i max b_i + sum_a max over x_a of ( theta_a(x_a) - sum_i delta_ai(x_i) )   >= best score
//   update a:   delta_ai(k) = -(b_i - delta_ai)(k) + max over x_a with x_i = k of
//               ( theta_a + sum over j in a of (b_j - delta_aj) ) / |a|
//
// Every update lowers the dual or leaves it. When the dual equals the score of a decoded state, that state is
// proven best. When it fails: the dual may stop above the best score (a relaxation gap), or at a point that
// coordinate descent cannot leave.
//
// Hard zeros: a value whose max-marginal in some factor is zero is impossible; its delta is minus infinity
// and stays so.
#pragma once

#include "drover/infer/belief_propagation.hpp"

namespace drover {

struct MplpOptions {
  std::uint64_t iterations = 1000;  ///< of every factor once
  double tolerance = 1e-9;          ///< stops when the dual falls by less, relative to its size
};

struct MplpResult {
  std::vector<Value> state;  ///< the best decoded
  double log_score = log_zero;
  double upper = 0;
  bool optimal = false;    ///< the bound meets the score
  bool converged = false;  ///< the dual no longer falls
  std::uint64_t iterations = 0;
};

MplpResult mplp(const Graph& graph, const MplpOptions& options, const OnIteration& on_iteration = {});

/// Whether a bound proves a score, up to rounding.
bool bound_meets(double upper, double log_score);

}  // namespace drover
