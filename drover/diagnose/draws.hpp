// The draws of one scalar, seen but not owned: what every diagnostic takes.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"

namespace drover {

/// The figure of what cannot be diagnosed.
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Chain after chain: draw t of chain c is data[c * draws + t].
struct Draws {
  const double* data = nullptr;
  std::size_t chains = 0;
  std::size_t draws = 0;

  std::size_t size() const { return chains * draws; }
  std::span<const double> chain(std::size_t c) const { return {data + c * draws, draws}; }
  std::span<const double> all() const { return {data, size()}; }
};

/// Draws that own their values.
struct DrawsBuffer {
  std::vector<double> values;
  std::size_t chains = 0;
  std::size_t draws = 0;

  Draws view() const { return {values.data(), chains, draws}; }
};

/// What cannot be diagnosed: no chain, fewer than `least_draws` draws a chain, a NaN or an infinity, or one
/// value throughout. Every diagnostic is NaN for such draws.
inline constexpr std::size_t least_draws = 4;
bool undiagnosable(Draws draws);

/// Every chain cut into its first and its last half; the middle draw of an odd number belongs to neither.
DrawsBuffer split_chains(Draws draws, const RunControl& control = no_control());

/// W, the mean over chains of the variance within a chain (divisor draws - 1), and the variance of the chain
/// means (divisor chains - 1; 0 for one chain). A chain of one value has variance exactly 0.
struct ChainMoments {
  double within = 0;
  double variance_of_means = 0;
};
ChainMoments chain_moments(Draws draws);

}  // namespace drover
