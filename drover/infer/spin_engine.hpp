// Messages between binary variables joined by pairs, as one number each: what the vector engines share.
//
//   log p~ = sum_i b_i x_i + sum over pairs of J s s',   x in {0, 1}, s = 2x - 1
//   m        = log m(1) - log m(0)                                            the message, as log odds
//   B_i      = b_i + sum over the neighbours k of rho_ki m_ki                 the belief
//   m_ij    <- f(B_i - m_ji, 2 J_ij / rho_ij)
//   f(P, W)  = log (e^(P + W) + 1) / (e^P + e^W)                              sum-product
//            = (|P + W| - |P - W|) / 2 + log (1 + e^-|P + W|) / (1 + e^-|P - W|)
//   f(P, W)  = (|P + W| - |P - W|) / 2                                        max-product
//
// This is belief_propagation.hpp for such graphs, rho = 1 unless reweighted; |m| <= |W|, so nothing
// overflows. Inside the engines everything is in units of log 2 (spin_kernels.hpp).
//
// An engine holds the messages and updates them by one schedule. The change it reports is an upper bound of
// what belief_propagation.hpp measures: a difference of probabilities |s(m) - s(m')| <= |m - m'| / 4 for
// sums, relative to the larger of 1 and the message for maxima. All engines give the same bits for any number
// of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/core/types.hpp"
#include "drover/infer/semiring.hpp"

namespace drover {

enum class MessageSchedule { flooding, sequential, residual };

/// Asked every few milliseconds of work; false ends the iteration where it is.
using GoOn = std::function<bool()>;

struct SpinProblem {
  Semiring semiring = Semiring::sum;
  std::vector<double> log_odds;               ///< b of every variable
  std::vector<VariableId> first, second;      ///< of every pair
  std::vector<double> coupling;               ///< J / rho of every pair
  std::vector<double> appearance;             ///< rho of every pair; empty means 1
  std::vector<double> to_first;               ///< messages to begin with, from second to first; empty means 0
  std::vector<double> to_second;              ///< likewise, from first to second
  const RunControl* control = &no_control();  ///< ends the making of an engine, by Error stopped

  std::size_t variables() const { return log_odds.size(); }
  std::size_t pairs() const { return first.size(); }
};

struct SpinPairMessages {
  std::vector<double> to_first, to_second;  ///< of every pair
};

class SpinEngine {
 public:
  virtual ~SpinEngine() = default;

  /// As many messages as there are, by the engine's schedule; returns the largest change. `tolerance` is
  /// where the residual schedule has nothing left to do.
  virtual double iterate(double damping, double tolerance, const GoOn& go_on) = 0;
  virtual SpinPairMessages messages() const = 0;
  /// B of every variable.
  virtual std::vector<double> log_odds() const = 0;
};

/// The engine for a schedule. `order` lists the variables for the sequential one: breadth first, it is exact
/// on a forest after one iteration.
std::unique_ptr<SpinEngine> spin_engine(const SpinProblem& problem, MessageSchedule schedule,
                                        std::span<const VariableId> order);

}  // namespace drover
