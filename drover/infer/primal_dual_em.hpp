// A most probable state of a spin graph by EM over its duals.
//
// Source: Mescheder, Nowozin, Geiger 2016, section 5.3. With the duals t_e (compile/dual.hpp) as hidden data
//
//   E:  tau_e = E[t_e | x] = (1 - 2 noise_e) s_i where s_i = sign_e s_j, and 0 elsewhere,
//   M:  x = argmax of E[log p~(x, t)] = sum_i x_i (field_i + sum over pairs e of i of (+-) strength_e tau_e),
//
// all variables at once, in any order and without colours. EM never lowers log p~(x). With a forest, pairs of
// a spanning forest of the strongest couplings keep their exact form and the M step is max-product over it:
// also monotone, and it sees further.
//
// When it fails: it stops at a local optimum, and a weak one: the pull of a dual towards the present state is
// stronger than the coupling it stands for, so the plain form is stuck wherever iterated modes would be, and
// earlier. The forest helps much.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/dual.hpp"
#include "drover/infer/spin_forest.hpp"

namespace drover {

class PrimalDualEm {
 public:
  explicit PrimalDualEm(SpinEdges graph, bool forest = false, const RunControl& control = no_control());

  const SpinEdges& graph() const { return graph_; }
  /// Pairs of the forest.
  std::size_t forest_size() const { return forest_.size; }

  /// One E and one M step. Ties keep a variable's value.
  void step(std::span<Value> x) const;

  struct Climb {
    double log_score;
    std::uint64_t steps;
  };
  /// Steps until log p~ no longer rises.
  Climb climb(std::vector<Value>& x) const;

 private:
  void maximise_over_forest(std::span<double> log_odds, std::span<Value> x) const;

  SpinEdges graph_;
  std::vector<SpinDual> duals_;
  SpinForest forest_;
};

}  // namespace drover
