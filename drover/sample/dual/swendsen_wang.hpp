// Swendsen-Wang cluster sampling of one chain, whole or partial, for spin and Potts models with any fields.
//
// Sources: Swendsen and Wang 1987; Higdon 1998 (partial); Mescheder, Nowozin, Geiger 2016, section 4.3 (both
// as duality, the remainder dualised). A pair that gains w when satisfied is, up to a constant and with a =
// exp(-w), the table with 1 where satisfied and a elsewhere. For 0 <= alpha <= 1 - a it is a mixture
//
//   alpha [satisfied]  +  remainder with 1 - alpha where satisfied and a elsewhere,
//   remainder = M M^T up to a constant,  M = c where x = theta, s elsewhere,  rho = s / c solving
//   (2 rho + (K-2) rho^2) / (1 + (K-1) rho^2) = a' = a / (1 - alpha).
//
// A sweep draws for every pair either a bond (both variables then move together) or a dual theta in 0 .. K-1
// (then each variable gains log(c/s) at theta, independently), and then a new value for every cluster of
// bonds from the sum of its fields. alpha = share (1 - a): share 1 is Swendsen-Wang, whose remainder needs no
// dual; 0 < share < 1 is partial Swendsen-Wang with its K + 1 dual states (three for spins): smaller
// clusters, which helps where strong fields or frustration make whole clusters a burden. share 0 is the
// primal-dual sampler. Repulsive spin pairs are satisfied by opposite spins; that is exact for any signs, but
// clusters say little where couplings are frustrated.
//
// Rao-Blackwell: a variable adds the probabilities that its cluster was drawn with. Threads share all passes
// of a large graph; sums of fields are whole numbers (fixed point), so that no order of adding changes a bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/cluster_bonds.hpp"
#include "drover/compile/graph.hpp"
#include "drover/sample/dual/bond_law.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/single_chain.hpp"

namespace drover {

class SwendsenWang : public SingleChainKernel {
 public:
  struct State : SingleChainState {
    std::vector<std::uint32_t> parents;
    std::vector<Value> duals;         ///< per bond; bonded for a bond
    std::vector<std::int64_t> gains;  ///< per entry of a cluster's root
    std::vector<float> probabilities;
    std::vector<Value> moves;
  };

  /// Requires spin pairs and attractive Potts pairs only (no tables); the graph must outlive the kernel.
  explicit SwendsenWang(const Graph& graph, double share = 1);
  explicit SwendsenWang(Graph&&, double share = 1) = delete;

  std::size_t entry_count() const { return conditional_offsets_.back(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }

  /// Clusters of the last sweep.
  static std::size_t cluster_count(const State& state);
  /// log of the probability that the last sweep, one with sums, drew the values of all clusters with.
  double log_cluster_probability(const State& state) const;

 private:
  static constexpr Value bonded = 0xffff;

  void run(State& state, std::uint64_t sweep, float* sums) const;
  BondLaw law_of(std::size_t bond, double inverse_temperature) const;
  void draw_bonds(State& state, std::uint64_t sweep, std::size_t begin, std::size_t end) const;
  void gather_unaries(State& state, std::size_t begin, std::size_t end) const;
  void gather_duals(State& state, std::size_t begin, std::size_t end) const;
  void draw_clusters(State& state, std::uint64_t sweep, std::size_t begin, std::size_t end,
                     bool wanted) const;
  Value relative(const State& state, std::size_t variable) const;
  std::int64_t fixed(double gain) const;

  double share_;
  bool has_fields_ = false;
  bool has_zeros_ = false;
  double scale_ = 1;  ///< of fixed-point gains
  std::vector<ClusterBond> bonds_;
  std::vector<BondLaw> laws_;  ///< at temperature 1
  std::vector<std::size_t> conditional_offsets_;
};

}  // namespace drover
