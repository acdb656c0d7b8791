// What every sampler is: a const Kernel and an explicit, copyable State holding a batch of chains (its
// lanes).
//
// Chain c of a run lives in lane c % lanes() of the State started with first_chain = c - c % lanes(). All
// randomness is a function of (seed, chain, sweep, site), so a State plus the sweep number is a checkpoint
// and nothing depends on threads or on how chains are grouped into batches. Chains that lie beyond those
// asked for are simply not read.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

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

template <class K>
concept Kernel = std::copyable<typename K::State> &&
    requires(const K kernel, typename K::State state, std::span<Value> values, std::span<const Value> fixed,
             std::span<double> scores, ConditionalSums sums, std::span<const float> temperatures,
             CountingArchive archive) {
  { kernel.size() } -> std::convertible_to<std::size_t>;         // variables
  { kernel.lanes() } -> std::convertible_to<std::uint32_t>;      // chains in a State
  { kernel.entry_count() } -> std::convertible_to<std::size_t>;  // of ConditionalSums, per lane
  { kernel.start(std::uint64_t{1}, std::uint32_t{0}) } -> std::same_as<typename K::State>;
  // One sweep of every lane; the second form also adds the conditional distribution that each
  // variable was drawn from.
  kernel.sweep(state, std::uint64_t{0});
  kernel.sweep(state, std::uint64_t{0}, sums);
  kernel.read(state, std::uint32_t{0}, values);
  kernel.write(state, std::uint32_t{0}, fixed);
  // log p~ of every lane at temperature 1, in double.
  kernel.log_scores(state, scores);
  // Raises the log-factors of lane l to inverse_temperatures[l]; hard zeros stay.
  kernel.set_inverse_temperatures(state, temperatures);
  state.visit(archive);
};

}  // namespace drover
