// A chain of GibbsSpinChain on several ranks: the way of drawing that Gibbs sampling and primal-dual sampling
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/spread/spread_plan.hpp"

namespace drover {

/// One sweep, colour by colour: what others wait for, its exchange begun, the rest while it travels. `sums`
/// may be null; colours drawn `twice` are of duals, which have none.
void sweep_shares(const GibbsSpinChain& kernel, const SpreadPlan& plan, const std::vector<bool>& twice,
                  const UnitExchanges& exchanges, GibbsSpinChain::State& state, std::uint64_t sweep,
                  float* sums);

/// These units of the variables of `pairs`, and how many pairs lie between two of them.
WorkGraph unit_graph(const SpinGraph& pairs, const GibbsSpinChain::Places& places,
                     std::span<const std::uint32_t> units);

class SpinSpread {
 public:
  using State = GibbsSpinChain::State;

  /// `graph` is what is sampled from, its first variables those of `pairs`; colours marked in `twice` are of
  /// duals, which are drawn on every rank that needs them. Units of the variables of `pairs` are divided so
  /// that few pairs lie between two ranks.
  SpinSpread(const SpinGraph& graph, Colouring colouring, std::vector<bool> twice, const SpinGraph& pairs,
             const Ranks& ranks);

  const Ranks& ranks() const { return ranks_; }
  /// The variables that this rank draws, in order.
  std::span<const std::uint32_t> own_variables() const { return own_variables_; }
  /// Their units.
  std::span<const std::uint32_t> own_units() const { return plan_.own; }
  bool owns(std::uint32_t variable) const {
    return owner_[kernel_->places().position_of[variable] / 64] == ranks_.rank();
  }
  const GibbsSpinChain& kernel() const { return *kernel_; }

  /// One sweep; `sums` (by own variable) may be null.
  void sweep(State& state, std::uint64_t sweep, float* sums) const {
    sweep_shares(*kernel_, plan_, twice_, exchanges_, state, sweep, sums);
  }
  void gather(State& state) const;
  void read(const State& state, std::span<Value> values) const;

  std::size_t bytes_per_sweep() const { return drover::bytes_per_sweep(exchanges_); }
  std::size_t messages_per_sweep() const { return drover::messages_per_sweep(exchanges_); }
  std::size_t exchanges_per_sweep() const { return drover::exchanges_per_sweep(exchanges_); }
  /// The share of its units that are drawn while messages travel.
  double inner_share() const;

 private:
  const Ranks& ranks_;
  std::vector<bool> twice_;           ///< by colour
  std::vector<std::uint32_t> owner_;  ///< of every unit
  SpreadPlan plan_;
  std::vector<std::uint32_t> own_variables_;
  std::unique_ptr<GibbsSpinChain> kernel_;
  UnitExchanges exchanges_;
};

}  // namespace drover
