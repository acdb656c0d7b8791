// What every sampler is: a const Kernel and an explicit, copyable State holding a batch of chains (its
// lanes).
//
// Chain c of a run lives in lane c % lanes() of the State started with first_chain = c - c % lanes(). All
// randomness is a function of (seed, chain, sweep, site), so a State plus the sweep number is a checkpoint
// and nothing depends on threads or on how chains are grouped into batches. Chains that lie beyond those
// asked for are simply not read.
//
// A State holds what the next sweep needs. What a sweep has to tell besides (how many proposals were
// accepted) it returns: its Info. A kernel that has some names the type that adds it up, K::Totals; Gibbs
// kernels, where every variable is drawn anew and nothing can be refused, return nothing.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "drover/core/ranks.hpp"
#include "drover/core/types.hpp"

namespace drover {

/// Where the conditionals of a sweep are added up (Rao-Blackwell): one float per entry and lane, lane
/// fastest. Entry e is (variable v, value k) with e = entry_offset[v] + k; a binary variable has the single
/// entry k = 1.
struct ConditionalSums {
  std::span<float> sums;
};

/// Archive is called as archive(vector) or archive(number) for every member of a State.
struct CountingArchive {
  std::size_t members = 0;
  template <class Member>
  void operator()(Member&) {
    ++members;
  }
};

/// Proposals of a sweep, or of many.
struct Moves {
  std::uint64_t proposed = 0;
  std::uint64_t accepted = 0;

  void add(const Moves& other) {
    proposed += other.proposed;
    accepted += other.accepted;
  }
  /// 0 when there were no proposals.
  double acceptance() const {
    return proposed > 0 ? static_cast<double>(accepted) / static_cast<double>(proposed) : 0;
  }
  template <class Archive>
  void visit(Archive& archive) {
    archive(proposed);
    archive(accepted);
  }
};

/// The totals of kernels whose sweeps tell nothing.
struct NoTotals {
  void add(const NoTotals&) {}
  template <class Archive>
  void visit(Archive&) {}
};

template <class K>
struct TotalsOfKernel {
  using type = NoTotals;
};
template <class K>
requires requires {
  typename K::Totals;
}
struct TotalsOfKernel<K> {
  using type = typename K::Totals;
};
/// What adds up the Info of a kernel's sweeps; zero when made, adds an Info or other totals, goes into
/// checkpoints.
template <class K>
using TotalsOf = typename TotalsOfKernel<K>::type;

/// Calls sweep() and adds up what it tells.
template <class K, class... Arguments>
void sweep_and_tell(const K& kernel, TotalsOf<K>& totals, Arguments&&... arguments) {
  if constexpr (std::is_same_v<TotalsOf<K>, NoTotals>)
    kernel.sweep(arguments...);
  else
    totals.add(kernel.sweep(arguments...));
}

template <class K>
concept Kernel = std::copyable<typename K::State> &&
    requires(const K kernel, typename K::State state, std::span<Value> values, std::span<const Value> fixed,
             std::span<double> scores, ConditionalSums sums, std::span<const float> temperatures,
             CountingArchive archive, TotalsOf<K> totals) {
  { kernel.size() } -> std::convertible_to<std::size_t>;         // variables
  { kernel.lanes() } -> std::convertible_to<std::uint32_t>;      // chains in a State
  { kernel.entry_count() } -> std::convertible_to<std::size_t>;  // of ConditionalSums, per lane
  { kernel.start(std::uint64_t{1}, std::uint32_t{0}) } -> std::same_as<typename K::State>;
  // One sweep of every lane; the second form also adds the conditional distribution that each
  // variable was drawn from.
  sweep_and_tell(kernel, totals, state, std::uint64_t{0});
  sweep_and_tell(kernel, totals, state, std::uint64_t{0}, sums);
  totals.add(totals);
  totals.visit(archive);
  kernel.read(state, std::uint32_t{0}, values);
  kernel.write(state, std::uint32_t{0}, fixed);
  // log p~ of every lane at temperature 1, in double.
  kernel.log_scores(state, scores);
  // Raises the log-factors of lane l to inverse_temperatures[l]; hard zeros stay.
  kernel.set_inverse_temperatures(state, temperatures);
  state.visit(archive);
};

/// A kernel whose chains each lie on all ranks: every rank draws a part of the variables. Its functions are
/// collective; a State holds all variables but is up to date on those of the rank and their neighbours.
template <class K>
concept SpreadKernel = Kernel<K> && requires(const K kernel, typename K::State state) {
  { kernel.ranks() } -> std::same_as<const Ranks&>;
  /// The entries that the sums of this rank are of, in order; entry_count() counts them.
  { kernel.own_entries() } -> std::convertible_to<std::span<const std::uint32_t>>;
  { kernel.all_entries() } -> std::convertible_to<std::size_t>;
  /// Brings the whole state to rank 0.
  kernel.gather(state);
};

}  // namespace drover
