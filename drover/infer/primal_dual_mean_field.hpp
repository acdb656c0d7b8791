// Mean field over the variables and the duals of a spin graph, plain or over a forest.
//
// Source: Mescheder, Nowozin, Geiger 2016, section 5.3 (trees as in 5.4). q(x, t) = q(x) prod_e q_e(t_e) with
// the duals of compile/dual.hpp, and q(x) a product over variables or, with a forest, any distribution of
// trees; pairs of the forest keep their exact form and have no dual. With m_i = E_q[s_i] and tau_e = E_q[t_e]
//
//   bound(q) = E_q[log p~(x, t)] + H(q) <= log Z,
//   tau_e = tanh(strength_e / 2 (m_i + sign_e m_j)),      all duals at once,
//   q(x) ~ exp(sum_i x_i (field_i + sum over duals e of i of (+-) strength_e tau_e) + sum over the forest of
//              J_e s_i s_j),      all variables at once: by sum-product up and down the forest.
//
// Either half maximises the bound given the other, so it never falls, although all variables move together:
// no colouring, no damping. With the duals summed out, E_q[log p~(x)] + H(q) at the same q(x) is no lower
// (Jensen). On a forest everything is exact.
//
// When it fails: as mean field does, and it moves more slowly where couplings are strong. Ordinary updates
// (infer/mean_field.hpp) finish the plain form's work from where it ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/dual.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/spin_forest.hpp"

namespace drover {

class PrimalDualMeanField {
 public:
  explicit PrimalDualMeanField(SpinEdges graph, bool forest = false,
                               const RunControl& control = no_control());

  struct Beliefs {
    std::vector<double> p;                ///< q_i(1)
    std::vector<double> if_one, if_zero;  ///< q(x_i = 1 | x_parent = 1) and 0; roots: p
    std::vector<double> tau;              ///< per edge; not used for those of the forest
  };

  std::size_t size() const { return graph_.size(); }
  /// Pairs of the forest.
  std::size_t forest_size() const { return forest_.size; }

  /// Independent variables with these probabilities of 1, undecided duals.
  Beliefs start(std::span<const double> p) const;
  void update_duals(Beliefs& q) const;
  /// Returns the largest change of a probability.
  double update_variables(Beliefs& q) const;
  double bound(const Beliefs& q) const;
  /// With the duals summed out; minus infinity, a bound that says nothing, when the control ends it.
  double ordinary_bound(const Beliefs& q, const RunControl& control = no_control()) const;

 private:
  double expected_score_of_forest(const Beliefs& q) const;
  /// Counts its steps.
  double covariance(const Beliefs& q, std::uint32_t i, std::uint32_t j, std::size_t& steps) const;

  SpinEdges graph_;
  std::vector<SpinDual> duals_;
  SpinForest forest_;
  std::vector<std::uint32_t> depth_;
};

}  // namespace drover
