// Primal-dual Gibbs sampling of a few chains on any graph (Potts pairs, tables of any arity, hard zeros), on several
// ranks: TreePrimalDual without a forest, with one exchange a sweep.
//
// As PrimalDualSpread: the duals of a factor that lies on several ranks are drawn on each of them, from the same random
// numbers, and never travel; the variables on the border do, once a sweep, in units of sixteen. TreePrimalDual steps
// sixteen chains at once, and all of them travel: a byte per chain and variable, two where there are more than 256
// states. Log scores are worked out by rank 0. Bit for bit the chains of one process.
//
// Temperature 1 only.
#pragma once

#include <vector>

#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/spread/spread_plan.hpp"

namespace drover {

class PrimalDualMixtureSpread {
 public:
  using State = TreePrimalDual::State;

  /// The graph must outlive the kernel. `starts` as in TreePrimalDual.
  PrimalDualMixtureSpread(const Graph& graph, std::vector<std::vector<Value>> starts, const Ranks& ranks);

  std::size_t size() const { return kernel_.size(); }
  std::uint32_t lanes() const { return kernel_.lanes(); }
  std::size_t entry_count() const { return own_entries_.size(); }
  std::size_t all_entries() const { return kernel_.entry_count(); }
  std::span<const std::uint32_t> own_entries() const { return own_entries_; }
  const Ranks& ranks() const { return ranks_; }

  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    return kernel_.start(seed, first_chain);
  }
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }
  void gather(State& state) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  /// The same values on every rank.
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const {
    kernel_.write(state, lane, values);
  }
  void log_scores(const State& state, std::span<double> scores) const;
  /// Raises misfit for other temperatures than 1.
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  const TreePrimalDual& kernel() const { return kernel_; }
  std::size_t exchanges_per_sweep() const { return drover::exchanges_per_sweep(exchanges_); }
  std::size_t bytes_per_sweep() const { return drover::bytes_per_sweep(exchanges_); }

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const;
  std::size_t words_per_unit() const;
  void load(const State& state, std::uint32_t unit, std::uint64_t* words) const;
  void store(State& state, std::uint32_t unit, const std::uint64_t* words) const;

  const Ranks& ranks_;
  TreePrimalDual kernel_;
  bool wide_;
  std::vector<std::uint32_t> own_units_, own_entries_;
  TreePrimalDual::Share share_;
  std::vector<VariableId> boundary_, inner_;
  UnitExchanges exchanges_;  ///< of the one colour
};

}  // namespace drover
