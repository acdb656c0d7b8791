// How far two sets of samples are apart: maximum mean discrepancy, and the distance of their pair statistics.
//
// Source: A. Gretton, K. Borgwardt, M. Rasch, B. Schoelkopf, A. Smola, A kernel two-sample test, JMLR 13,
// 2012; the kernel as in M. Lazaro-Gredilla, A. Dedieu, D. George, Perturb-and-max-product, NeurIPS 2021:
//
//   MMD^2 = mean k(a, a') + mean k(b, b') - 2 mean k(a, b)
//   k(x, y) = exp(-(differing variables) / variables)
//
// over all pairs, a row with itself included (the biased form: never negative). Distances are whole numbers,
// so pairs are counted by distance and the exponential is taken once per distance: sums are exact, whatever
// the number of threads.
//
// When it fails: the kernel is nearly linear, so it sees the means of single variables and little else. Two
// sets with equal means and different dependence look alike. Hence the pair distance:
//
//   sqrt(mean over pairs i < j of (P_a(x_i = 1, x_j = 1) - P_b(x_i = 1, x_j = 1))^2)
//
// with one indicator per state for variables of more than two states (pairs of one variable left out).
//
// Cost: rows^2 * variables / 64 and variables^2 * rows / 64 operations on words, SIMD and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"

namespace drover {

/// Samples as bits. A binary variable takes one bit; when some variable has more states, every variable takes
/// one bit per state.
struct PackedSamples {
  std::size_t rows = 0;
  std::size_t variables = 0;
  std::size_t bits = 0;    ///< of a row
  std::size_t stride = 0;  ///< rows, rounded up to whole vectors
  std::uint32_t bits_per_difference = 1;
  std::vector<std::uint32_t> variable_of_bit;
  std::vector<std::uint64_t> words;  ///< bit b of row r: bit b % 64 of words[b / 64 * stride + r]
};

/// `values` is (row, variable).
PackedSamples pack_samples(std::span<const Value> values, std::span<const std::uint32_t> cardinalities);

/// Both sets must have the same variables and at least one row. Raises stopped (interrupted) when the control
/// ends it.
double squared_mmd(const PackedSamples& a, const PackedSamples& b, const RunControl& control = no_control());

/// The share of rows in which each bit is set.
std::vector<double> bit_means(const PackedSamples& samples);

/// The largest and the root mean square difference of the bit means, and the root mean square difference of
/// the pair statistics.
struct StatisticDistance {
  double mean_largest = 0;
  double mean_rms = 0;
  double pair_rms = 0;
};
StatisticDistance statistic_distance(const PackedSamples& a, const PackedSamples& b,
                                     const RunControl& control = no_control());

}  // namespace drover
