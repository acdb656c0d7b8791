// Primal-dual Gibbs sampling of one chain on any spin graph, on several ranks: PrimalDualChain with one
// exchange a sweep.
//
// Source: Mescheder, Nowozin, Geiger 2016, which has the promise: variables and duals are two colours
// whatever the graph. The dual of a pair that lies between two ranks is drawn on both of them, from the same
// random numbers and so with the same outcome; it never travels. What travels are the variables on the
// border, once a sweep, as bits. Gibbs sampling (GibbsSpinSpread) needs an exchange per colour. Bit for bit
// the chain of one process.
//
// Temperature 1 only.
#pragma once

#include "drover/compile/dual.hpp"
#include "drover/sample/spread/spin_spread.hpp"

namespace drover {

class PrimalDualSpread {
 public:
  using State = GibbsSpinChain::State;

  PrimalDualSpread(const SpinGraph& graph, const Ranks& ranks);

  std::size_t size() const { return spins_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return spread_.own_variables().size(); }
  std::size_t all_entries() const { return size(); }
  std::span<const std::uint32_t> own_entries() const { return spread_.own_variables(); }
  const Ranks& ranks() const { return spread_.ranks(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    return spread_.kernel().start(seed, first_chain);
  }
  void sweep(State& state, std::uint64_t sweep) const { spread_.sweep(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    spread_.sweep(state, sweep, sums.sums.data());
  }
  void gather(State& state) const { spread_.gather(state); }
  void read(const State& state, std::uint32_t, std::span<Value> values) const { spread_.read(state, values); }
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const {
    spread_.kernel().write(state, lane, values);
  }
  void log_scores(const State& state, std::span<double> scores) const;
  /// Raises misfit for other temperatures than 1.
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  const SpinSpread& spread() const { return spread_; }

 private:
  SpinEdges spins_;
  SpinSpread spread_;
};

}  // namespace drover
