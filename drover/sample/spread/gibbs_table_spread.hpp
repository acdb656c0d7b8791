// Gibbs sampling of one chain on any graph (Potts pairs, tables of any arity, hard zeros), on several ranks:
// GibbsTableChain with an exchange per colour.
//
// Four groups of sixteen variables are what is divided among the ranks; a group on a border travels as one
// byte per variable, two where there are more than 256 states. Log scores are worked out by rank 0, in the
// order of one process. Bit for bit the chain of one process.
#pragma once

#include <memory>
#include <vector>

#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/spread/spread_plan.hpp"

namespace drover {

class GibbsTableSpread {
 public:
  using State = GibbsTableChain::State;

  /// The graph must outlive the kernel. Fixed scan only.
  GibbsTableSpread(const Graph& graph, GibbsTableChain::Options options, const Ranks& ranks);

  std::size_t size() const { return kernel_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return own_entries_.size(); }
  std::size_t all_entries() const { return kernel_.entry_count(); }
  std::span<const std::uint32_t> own_entries() const { return own_entries_; }
  const Ranks& ranks() const { return ranks_; }

  State start(std::uint64_t seed, std::uint32_t chain) const { return kernel_.start(seed, chain); }
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
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    kernel_.set_inverse_temperatures(state, inverse_temperatures);
  }

  std::size_t colours() const { return kernel_.colours(); }
  /// What leaves this rank in a sweep.
  std::size_t bytes_per_sweep() const { return drover::bytes_per_sweep(exchanges_); }
  std::size_t messages_per_sweep() const { return drover::messages_per_sweep(exchanges_); }
  std::size_t exchanges_per_sweep() const { return drover::exchanges_per_sweep(exchanges_); }

 private:
  using Ranges = std::vector<GibbsTableChain::GroupRange>;
  void run(State& state, std::uint64_t sweep, float* sums) const;
  void load(const State& state, std::uint32_t group, std::uint64_t* words) const;
  void store(State& state, std::uint32_t group, const std::uint64_t* words) const;

  const Ranks& ranks_;
  GibbsTableChain kernel_;
  bool wide_;
  std::vector<std::uint32_t> own_groups_, own_entries_;
  std::vector<Ranges> boundary_, inner_;  ///< by colour
  UnitExchanges exchanges_;
};

}  // namespace drover
