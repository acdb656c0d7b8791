// Primal-dual Gibbs sampling of one long chain on any spin graph, vectorised over pairs and over variables.
//
// Source: Mescheder, Nowozin, Geiger 2016, section 5.1. Variables and duals form a bipartite graph
// (dual_spin_graph() in compile/dual.hpp), so that chromatic Gibbs with the two colours "duals" and
// "variables" is the primal-dual sampler: two branch-free passes per sweep, each shared by all threads, on
// any graph and without looking for a colouring. The marginal of the variables is exactly p.
//
// Use it for one chain on a big graph that has no colouring of few colours (dense graphs). On sparse graphs
// GibbsSpinChain mixes better per sweep and per second. At temperatures other than 1 it runs plain scalar
// code.
#pragma once

#include "drover/compile/dual.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"

namespace drover {

class PrimalDualChain {
 public:
  using State = GibbsSpinChain::State;

  explicit PrimalDualChain(const SpinGraph& graph);

  std::size_t size() const { return spins_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const { return joint_.start(seed, first_chain); }
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    joint_.set_inverse_temperatures(state, inverse_temperatures);
  }

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const;

  SpinEdges spins_;
  GibbsSpinChain joint_;  ///< over variables and duals
};

}  // namespace drover
