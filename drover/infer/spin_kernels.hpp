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

/// The same measure of one change.
double spin_message_change(Semiring semiring, double sent, double old);

/// Both messages of the pairs (i, i + distance), i < count, from the beliefs B, in place: forward[i] goes to
/// i + distance, backward[i] to i; their weights are W[begin + i]. Arrays have whole vectors, with weight 0
/// where there is no pair. Returns the largest change.
double send_along_diagonal(Semiring semiring, const SpinWeights& weights, std::size_t begin, double* forward,
                           double* backward, std::size_t count, const double* beliefs, std::size_t distance,
                           double damping);

/// sums[i] += values[i], with appearance appearance[i] values[i].
void add_to_beliefs(const double* values, const double* appearance, std::size_t count, double* sums);

}  // namespace drover
