// The weights of herded Gibbs and their one rule, in whole numbers.
//
//   two states:  x = [w > 0],          w += pi(1) - x,    w starts anywhere in (pi(1) - 1, pi(1)]
//   K states:    x = argmax_k w_k,     w += pi - e_x,     w starts with sum zero
//
// A weight remembers how far the visits so far are behind their probabilities, so rounding must not pile up:
// weights and probabilities are multiples of 2^-30 (two states) or 2^-26 (more), and their sums are exact.
// What is herded is the probability rounded to that multiple; a probability below half of it counts as zero.
//
// Bounds. Two states: w stays in (-1, 1] whatever sequence of probabilities comes, so over any stretch the
// ones differ from their summed probability by less than 1. K states: the weights sum to zero and the chosen
// one is the largest, so w_k >= -1; by the argument for the cup game (Dietz and Sleator 1987: the largest j
// weights average at most 1/j more than the largest j + 1) w_k <= 1 + 1/2 + ... + 1/(K-1) + the start, below
// 14 for 65535 states: 2^26 leaves room to 32.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>

#include "drover/core/random.hpp"
#include "drover/core/types.hpp"

namespace drover {

inline constexpr std::int32_t herded_one = 1 << 30;         ///< probability 1 of a variable of two states
inline constexpr std::int32_t herded_states_one = 1 << 26;  ///< probability 1 of one with more states

/// Weights that one configuration of the neighbours needs.
inline std::uint32_t herded_weight_count(std::uint32_t states) {
  return states == 2 ? 1 : states;
}

/// Spreads the bits of a key (the finaliser of SplitMix64: Steele, Lea and Flood 2014).
inline std::uint64_t herded_mix(std::uint64_t key) {
  key += 0x9E3779B97F4A7C15U;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9U;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EBU;
  return key ^ (key >> 31);
}

inline std::int32_t herded_probability(double p) {
  return static_cast<std::int32_t>(std::lround(p * herded_one));
}

/// Rounds sums of the first k probabilities instead of each one, so that the total is exactly one.
inline void herded_probabilities(std::span<const double> p, std::span<std::int32_t> rounded) {
  double sum = 0;
  std::int32_t before = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    sum += p[k];
    const auto after =
        std::min(static_cast<std::int32_t>(std::lround(sum * herded_states_one)), herded_states_one);
    rounded[k] = after - before;
    before = after;
  }
  *std::max_element(rounded.begin(), rounded.end()) += before > 0 ? herded_states_one - before : 0;
}

/// Log weights less that of the first possible state, in multiples of 1e-9: equal for equal conditionals, in
/// whatever order the terms were added.
inline void herded_round_logs(std::span<double> logs) {
  const auto first = std::find_if(logs.begin(), logs.end(), [](double l) { return l != log_zero; });
  if (first == logs.end()) return;
  const double base = *first;
  for (double& l : logs) l = std::round((l - base) * 1e9) + 0.0;  // no negative zero
}

/// The first weight of a binary variable in a configuration: uniform in (p - 1, p], a function of its
/// arguments.
inline std::int32_t herded_start(const Random& random, std::uint32_t chain, VariableId variable,
                                 std::uint64_t key, std::int32_t probability) {
  const std::uint32_t word = random.block(chain, key, variable)[0];
  return probability - static_cast<std::int32_t>(word >> 2);
}

/// The first weights of a variable of more states, near where the rule itself would lead: one state, drawn
/// from the probabilities, has the largest weight, so that it is the first one chosen; the others lie up to 1
/// below it, uniformly, since a state falls by 1 when it is chosen and then climbs back. Their mean is zero;
/// so is the weight of a state of probability zero.
inline void herded_start(const Random& random, std::uint32_t chain, VariableId variable, std::uint64_t key,
                         std::span<const std::int32_t> probabilities, std::span<std::int32_t> weights) {
  const Random::Block words = random.block(chain, key, variable);
  const std::uint64_t place = (std::uint64_t{words[0]} << 32) | words[1];
  std::int32_t target = static_cast<std::int32_t>(words[2] >> 6);  // below herded_states_one
  std::int64_t sum = 0, possible = 0;
  bool first_chosen = false;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    weights[k] = probabilities[k] > 0 ? -static_cast<std::int32_t>(herded_mix(place + k) >> 38) : 0;
    if (!first_chosen && probabilities[k] > 0 && (target -= probabilities[k]) < 0) {
      first_chosen = true;
      weights[k] = 4;  // above all others even if one of them is 0 and the mean is rounded
    }
    sum += weights[k];
    possible += probabilities[k] > 0 ? 1 : 0;
  }
  if (possible == 0) return;
  std::int64_t left = sum;
  for (std::size_t k = 0; k < weights.size(); ++k)
    if (probabilities[k] > 0) {
      const std::int64_t part = left / possible--;
      weights[k] -= static_cast<std::int32_t>(part);
      left -= part;
    }
}

/// One visit of a binary variable.
inline Value herd(std::int32_t& weight, std::int32_t probability) {
  const bool x = weight > 0;
  weight += probability - (x ? herded_one : 0);
  return x;
}

/// One visit of a variable of more states; never a state of probability zero, ties to the lowest.
inline Value herd(std::span<std::int32_t> weights, std::span<const std::int32_t> probabilities) {
  std::size_t best = 0;
  while (probabilities[best] == 0) ++best;
  for (std::size_t k = best + 1; k < weights.size(); ++k)
    if (probabilities[k] > 0 && weights[k] > weights[best]) best = k;
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] += probabilities[k];
  weights[best] -= herded_states_one;
  return static_cast<Value>(best);
}

}  // namespace drover
