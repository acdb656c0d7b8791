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

#include <algorithm>

#include "drover/compile/dual.hpp"
#include "drover/core/parallel.hpp"
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

  /// On lattices, pairs in the same direction stand together, so that 64 of them read their ends as runs.
  static SpinEdges edges_by_direction(const SpinGraph& graph);
  /// The duals are one colour and are drawn first, the variables are the other.
  static Colouring duals_then_variables(std::size_t variables, std::size_t duals);
  /// The log score without its constant, of those fields whose variable, and those pairs whose first
  /// variable, is counted.
  template <class Counts>
  static WholeSum score_of(const SpinEdges& spins, const GibbsSpinChain::Places& places, const State& state,
                           Counts counts) {
    const auto value = [&](std::uint32_t variable) {
      const std::uint32_t position = places.position_of[variable];
      return state.words[position / 64] >> position % 64 & 1;
    };
    constexpr std::size_t block = 16384;
    const std::size_t longest = std::max(spins.size(), spins.edges.size());
    std::vector<WholeSum> sums((longest + block - 1) / block);
    parallel_for(std::size_t{0}, sums.size(), [&](std::size_t b) {
      for (std::size_t i = b * block; i < std::min(spins.size(), (b + 1) * block); ++i)
        if (counts(static_cast<std::uint32_t>(i)) && value(static_cast<std::uint32_t>(i)) == 1)
          sums[b].add(spins.field[i]);
      for (std::size_t e = b * block; e < std::min(spins.edges.size(), (b + 1) * block); ++e) {
        const SpinEdges::Edge& edge = spins.edges[e];
        if (counts(edge.first))
          sums[b].add(value(edge.first) == value(edge.second) ? edge.coupling : -edge.coupling);
      }
    });
    WholeSum total;
    for (const WholeSum& sum : sums) total.add(sum);
    return total;
  }

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const;

  SpinEdges spins_;
  GibbsSpinChain joint_;  ///< over variables and duals
};

}  // namespace drover
