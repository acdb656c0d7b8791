// The vector loops of message passing between spins, in double (Highway: one binary, the processor's widest
// registers). Numbers are in units of log 2, so that 2^x needs no multiplication.
//
//   f(P, W) = (|P + W| - |P - W|) / 2 + log2 (1 + 2^-|P + W|) / (1 + 2^-|P - W|)
//
// It is odd in P and in W. With E = 2^-|P| and C = 2^-|W|, which is known beforehand, M the larger and N the
// smaller,
//
//   |f| = min(|P|, |W|) - log2 (1 + N/M) / (1 + M N) = min(|P|, |W|) - (2 / log 2) atanh t,
//   t   = N (1 - M^2) / (2 M + N (1 + M^2)),   0 <= t <= 1/3:
//
// one exponential, one division, and no digits lost where pairs are weak. Strong pairs, |W| > 600, have both
// E and C raised by 2^(|W| - 600): N/M stays, and M^2 is nothing where N/M is something.
//
// No calls: 2^x is a polynomial of degree 10 on [-1/2, 1/2] (relative error 2.2e-16 before rounding) times a
// power of two, atanh(t) / t one of degree 9 in t^2 (error 1.4e-16). With the roundings of both, f is right
// to 2e-15 + 2^-52 min(|P|, |W|).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/infer/semiring.hpp"

namespace drover {

/// Arrays that vectors run over are as long as whole ones of this many numbers.
inline constexpr std::size_t spin_unit = 8;

constexpr double log_of_two = 0.693147180559945309417;

/// Beyond this (40 in natural units) a log odds is certain to every digit of a double.
constexpr double spin_certain = 58;

/// The size of weights from which they count as strong in the formula above.
constexpr double spin_raised = 600;

/// Of a change as it is measured.
constexpr double spin_change_unit(bool sum) {
  return sum ? log_of_two / 4 : 1.0;
}

/// The weights W of pairs as the kernels read them: -|W|, and C with the sign of W.
struct SpinWeights {
  std::vector<double> minus_size, decay;
  bool strong = false;  ///< some |W| exceeds spin_certain

  SpinWeights() = default;
  explicit SpinWeights(std::size_t count) : minus_size(count, 0.0), decay(count, 1.0) {}
  /// `weight` in natural units.
  void set(std::size_t place, double weight);
};

/// next[e] = damping old[e] + (1 - damping) f(incoming[e], W[begin + e]) for count messages; old may be next.
/// Returns the largest change before damping, as SpinEngine measures it.
double send_spin_messages(Semiring semiring, const double* incoming, const SpinWeights& weights,
                          std::size_t begin, std::size_t count, double damping, const double* old,
                          double* next);

/// Up to four edges of a variable with all that message passing between it and its neighbours reads and writes, in
/// three cache lines; places without an edge have weight 0 and hold 0. A variable has one such box or several in a
/// row, of which the first knows the rest.
inline constexpr std::size_t spin_box = 4;
struct alignas(64) SpinBox {
  double received[spin_box] = {};         ///< what comes along the edge ...
  double sent[spin_box] = {};             ///< ... and the other way
  double proposed[spin_box] = {};         ///< what would be sent now
  double minus_size[spin_box] = {};       ///< the weight, as in SpinWeights
  double decay[spin_box] = {1, 1, 1, 1};  ///< likewise
  std::uint32_t reverse[spin_box] = {};   ///< the place of the edge at the other variable: 4 box + edge
  double own = 0;                         ///< b
  std::uint32_t first = 0, boxes = 1;     ///< of the variable
};

/// New proposals of variables, given by their first boxes; changes[4 b + e] becomes that of edge e of box b.
/// `appearance` has rho at such places, or is null.
void propose_spin_rows(Semiring semiring, bool strong, SpinBox* boxes, const double* appearance,
                       std::span<const std::uint32_t> rows, float* changes);

/// Of numbers that are not negative in blocks of 64: largest[b] becomes that of block b, for some blocks.
inline constexpr std::size_t spin_block = 64;
void largest_of_blocks(const float* values, std::span<const std::uint32_t> blocks, float* largest);
/// The places of all numbers in some blocks that are above a limit, block by block; returns how many.
std::size_t places_above(const float* values, std::span<const std::uint32_t> blocks, float limit,
                         std::uint32_t* places);

/// Both messages of the pairs (i, i + distance), i < count, from the beliefs B, in place: forward[i] goes to
/// i + distance, backward[i] to i; their weights are W[begin + i]. Arrays have whole vectors, with weight 0
/// where there is no pair. Returns the largest change.
double send_along_diagonal(Semiring semiring, const SpinWeights& weights, std::size_t begin, double* forward,
                           double* backward, std::size_t count, const double* beliefs, std::size_t distance,
                           double damping);

/// sums[i] += values[i], with appearance appearance[i] values[i].
void add_to_beliefs(const double* values, const double* appearance, std::size_t count, double* sums);

}  // namespace drover
