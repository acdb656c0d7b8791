// Generalised Swendsen-Wang: cluster moves with an acceptance step, for any strictly positive model.
//
// Source: Barbu and Zhu: Generalizing Swendsen-Wang to sampling arbitrary posterior probabilities, 2005.
// Pairs of variables that like to agree (spins also: to differ) become bonds with probability q_e where they
// do. Given the bonds, every cluster in turn proposes a value, each equally likely (for spins: to
// turn or not), and accepts with probability
//
//   min(1, p(x') / p(x) * prod over satisfied cut pairs of x' of (1 - q_e) / the same of x),
//
// where a cut pair joins the cluster to another without a bond. That is a Metropolis step on p(x, bonds), so
// p is left unchanged whatever q is. Here 1 - q_e = exp(-w_e) with w_e what agreement gains in the pair on
// average; for Ising and Potts models the cut cancels and only fields, other factors and repulsion are left
// to accept.
//
// Rao-Blackwell: a variable adds the probability of either outcome of its cluster's step, for the values
// before the step and proposed. Use it where swendsen-wang does not fit: frustrated couplings, general pair
// tables, factors of any order. Unary zeros are honoured; other hard zeros are not allowed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/cluster_bonds.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/single_chain.hpp"

namespace drover {

class GeneralizedSwendsenWang : public SingleChainKernel {
 public:
  /// Clusters that would change, and those that did.
  using Totals = Moves;

  struct State : SingleChainState {
    std::vector<std::uint32_t> parents;
    std::vector<std::uint32_t> order, begin, next;  ///< members of clusters, cluster after cluster
    std::vector<std::uint32_t> visited;             ///< factor -> last step that looked at it
  };

  /// Requires tables without hard zeros. The graph must outlive the kernel.
  explicit GeneralizedSwendsenWang(const Graph& graph);
  explicit GeneralizedSwendsenWang(Graph&&) = delete;

  std::size_t entry_count() const { return conditional_offsets_.back(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  Moves sweep(State& state, std::uint64_t sweep) const { return run(state, sweep, nullptr); }
  Moves sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    return run(state, sweep, sums.sums.data());
  }

 private:
  /// A factor of two or more variables, and the bond it makes, if any.
  struct Factor {
    std::uint32_t scope_begin, scope_end;
    std::uint32_t table = 0;    ///< of the graph's tables, when it is not a bond
    bool is_pair_gain = false;  ///< log factor = gain where satisfied
    std::uint32_t flip = 0;
    float gain = 0;
    float bond_strength = 0;  ///< w_e; zero: it makes no bonds
  };

  Moves run(State& state, std::uint64_t sweep, float* sums) const;
  void make_clusters(State& state, std::uint64_t sweep) const;
  bool satisfied(const Factor& factor, const std::vector<Value>& values) const;
  double factor_score(const Factor& factor, const State& state) const;
  double cluster_score(State& state, std::uint32_t first, std::uint32_t last, std::uint32_t stamp) const;
  void turn(State& state, std::uint32_t first, std::uint32_t last, Value move) const;

  std::vector<Factor> factors_;
  std::vector<VariableId> scopes_;
  std::vector<std::size_t> factor_offsets_;
  std::vector<std::uint32_t> factors_of_;
  std::vector<std::size_t> conditional_offsets_;
};

}  // namespace drover
