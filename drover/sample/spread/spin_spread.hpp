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
  void sweep(State& state, std::uint64_t sweep, float* sums) const;
  void gather(State& state) const;
  void read(const State& state, std::span<Value> values) const;

  /// What leaves this rank in a sweep.
  std::size_t bytes_per_sweep() const;
  std::size_t messages_per_sweep() const;
  /// Exchanges of a sweep: colours that travel.
  std::size_t exchanges_per_sweep() const;

 private:
  const Ranks& ranks_;
  std::vector<bool> twice_;           ///< by colour
  std::vector<std::uint32_t> owner_;  ///< of every unit
  SpreadPlan plan_;
  std::vector<std::uint32_t> own_variables_;
  std::unique_ptr<GibbsSpinChain> kernel_;
  std::vector<std::unique_ptr<UnitExchange>> exchanges_;  ///< by colour; null where nothing ever travels
};

}  // namespace drover
