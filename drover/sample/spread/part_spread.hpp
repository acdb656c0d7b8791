// One chain on several ranks of which none has the whole graph: Gibbs sampling by colours, or primal-dual
// sampling where the graph has duals.
//
// The graph was laid out in units of 64 variables as GibbsSpinChain lays it out, and divided; a rank holds the
// units that it draws and room for the bits of those that it reads. Units keep their numbers in the whole,
// which their random numbers belong to: bit for bit the chain of one process that has it all. Duals are drawn
// by every rank that needs them, as in PrimalDualSpread.
//
// Nothing here is as large as the whole graph: no rank ever has a whole state. So the chain has no best state
// and no draws, and starts where start() says.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "drover/sample/spread/spin_spread.hpp"

namespace drover {

/// What a rank holds. Units are called by their place in `graph`.
struct HeldPart {
  std::size_t variables = 0;  ///< of the whole, without duals
  GibbsSpinChain::Held graph;
  SpreadPlan plan;
  std::vector<bool> twice;                   ///< by colour: duals
  std::vector<std::uint32_t> own_variables;  ///< in order; entries are beside them
  /// With duals the log score is the sum of these: by position, a variable's field and a pair's coupling ...
  std::vector<float> terms;
  /// ... of those duals whose first variable is drawn here; by unit, a bit each.
  std::vector<std::uint64_t> counted;
};

class PartSpread {
 public:
  using State = GibbsSpinChain::State;
  static constexpr bool in_parts = true;  ///< nobody has a whole state

  PartSpread(HeldPart part, const Ranks& ranks);

  std::size_t size() const { return part_.variables; }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return part_.own_variables.size(); }
  std::size_t all_entries() const { return size(); }
  std::span<const std::uint32_t> own_entries() const { return part_.own_variables; }
  const Ranks& ranks() const { return ranks_; }

  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    return kernel_.start(seed, first_chain);
  }
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    kernel_.set_inverse_temperatures(state, inverse_temperatures);
  }
  // What would need a whole state does nothing.
  void gather(State&) const {}
  void read(const State&, std::uint32_t, std::span<Value>) const {}
  void write(State&, std::uint32_t, std::span<const Value>) const {}

  /// What leaves this rank in a sweep, and in how many exchanges.
  std::size_t bytes_per_sweep() const { return drover::bytes_per_sweep(exchanges_); }
  std::size_t exchanges_per_sweep() const { return drover::exchanges_per_sweep(exchanges_); }

 private:
  void run(State& state, std::uint64_t sweep, float* sums) const {
    sweep_shares(kernel_, part_.plan, part_.twice, exchanges_, state, sweep, sums);
  }
  WholeSum score_of(const State& state) const;

  const Ranks& ranks_;
  HeldPart part_;  ///< but for its graph, which the kernel has
  GibbsSpinChain kernel_;
  UnitExchanges exchanges_;
};

}  // namespace drover
