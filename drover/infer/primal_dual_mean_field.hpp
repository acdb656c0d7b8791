// Mean field over the variables and the duals of a spin graph.
//
// Source: Mescheder, Nowozin, Geiger 2016, section 5.3. q(x, t) is a product over variables and duals
// (compile/dual.hpp); with m_i = E_q[s_i] and tau_e = E_q[t_e]
//
//   bound(q) = E_q[log p~(x, t)] + H(q) <= log Z,
//   tau_e = tanh(strength_e / 2 (m_i + sign_e m_j)),      all duals at once,
//   log-odds of q_i(1) = field_i + sum over pairs e of i of (+-) strength_e tau_e,      all variables at
//   once.
//
// Either half maximises the bound given the other, so it never falls, although all variables move together:
// no colouring, no damping. The bound lies below that of ordinary mean field at the same q_i (the duals are
// approximated as well), so ordinary updates (infer/mean_field.hpp) finish the work from where this ends.
//
// When it fails: as mean field does, and it moves more slowly where couplings are strong.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/dual.hpp"

namespace drover {

class PrimalDualMeanField {
 public:
  explicit PrimalDualMeanField(SpinEdges graph);

  std::size_t size() const { return graph_.size(); }
  std::size_t dual_count() const { return graph_.edges.size(); }

  /// tau given p_i = q_i(1).
  void update_duals(std::span<const double> p, std::span<double> tau) const;
  /// p given tau; returns the largest change of a probability.
  double update_variables(std::span<const double> tau, std::span<double> p) const;
  double bound(std::span<const double> p, std::span<const double> tau) const;

 private:
  SpinEdges graph_;
  std::vector<SpinDual> duals_;
};

}  // namespace drover
