// Gibbs sampling of one chain on any spin graph, on several ranks: GibbsSpinChain with an exchange per
// colour.
//
// Chromatic Gibbs (Gonzalez, Low, Gretton, Guestrin 2011): after the units of a colour are drawn, those on
// the border go to the ranks that read them, as bits, while the inner ones are drawn. A sweep costs as many
// exchanges as there are colours; where these are many and messages slow, PrimalDualSpread needs one. Bit for
// bit the chain of one process.
//
// Use it when one chain is too much for one machine. When there are more chains than ranks, give each rank
// some.
#pragma once

#include "drover/sample/spread/spin_spread.hpp"

namespace drover {

class GibbsSpinSpread {
 public:
  using State = GibbsSpinChain::State;

  GibbsSpinSpread(const SpinGraph& graph, const Ranks& ranks)
      : GibbsSpinSpread(graph, colour_variables(graph.offsets, graph.neighbour), ranks) {}

  std::size_t size() const { return spread_.kernel().size(); }
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
  /// The same values on every rank.
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const {
    spread_.kernel().write(state, lane, values);
  }
  void log_scores(const State& state, std::span<double> scores) const {
    WholeSum::Parts parts = spread_.kernel().score_of(state, spread_.own_units()).parts();
    ranks().add_up(parts);
    scores[0] = spread_.kernel().log_constant() + WholeSum::of(parts).value();
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    spread_.kernel().set_inverse_temperatures(state, inverse_temperatures);
  }

  const SpinSpread& spread() const { return spread_; }

 private:
  GibbsSpinSpread(const SpinGraph& graph, const Colouring& colouring, const Ranks& ranks)
      : spread_(graph, colouring, std::vector<bool>(colouring.count(), false), graph, ranks) {}

  SpinSpread spread_;
};

}  // namespace drover
