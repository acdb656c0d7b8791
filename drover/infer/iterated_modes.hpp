// Iterated conditional modes: coordinate ascent to a state that no change of a single variable improves.
//
// Source: J. Besag, On the statistical analysis of dirty pictures, J. R. Statist. Soc. B 48 (1986).
//
//   x_v <- argmax_k  local_v(k),   local_v(k) = sum of the log-factors that contain v, at x_v = k
//
// Variables wait in a first-in first-out queue, at first all of them in order; a change sends the neighbours
// back to its end. The local sums are kept and corrected at every change, so a visit costs O(states) and a
// change O(degree * states): 10^6 variables are no trouble, and neither is a dense graph. Kept sums drift by
// rounding; so they only nominate a change, and a fresh sum decides it.
//
// Scores are compared first by the number of hard zeros, then by the finite part; so a start outside the
// support climbs towards it, and one inside never leaves it. Equally good values: the lowest; no move on a
// tie.
//
// When it fails: it stops at the first local optimum, which may be far below the best state. With hard zeros
// it may stop outside the support (log score minus infinity): that says nothing about the model.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/factor_lists.hpp"

namespace drover {

/// The local optimum that one climb ended in.
struct Climb {
  double log_score = log_zero;
  std::uint64_t changes = 0;  ///< variables moved to a better value
  std::uint64_t visits = 0;   ///< variables looked at
  bool complete = true;       ///< no: the control ended it
};

/// Prepared once for a graph (which must outlive it); climbs from any number of states, from any thread.
class IteratedModes {
 public:
  /// Sees the assignment after each change, and which variable changed.
  using OnChange = std::function<void(std::span<const Value>, VariableId)>;

  /// Of a model with more than `most_kept` values in all, local sums are not kept: those of a variable are then made
  /// each time it is looked at, which takes about as long as correcting them at every change of a neighbour. Raises
  /// stopped (interrupted) when the control ends it.
  explicit IteratedModes(const Graph& graph, const RunControl& control = no_control(),
                         std::size_t most_kept = std::size_t{1} << 24);
  explicit IteratedModes(Graph&&, const RunControl& = no_control(), std::size_t = 0) = delete;

  /// Improves `assignment` in place until no single change improves it, or until the control ends it.
  Climb climb(std::span<Value> assignment, const OnChange& on_change = {},
              const RunControl& control = no_control()) const;

 private:
  struct Ascent;

  const Graph& graph_;
  PairLists spins_;
  PairLists potts_;
  TableLists table_lists_;
  std::vector<double> tolerances_;  ///< per variable, the rounding error of a fresh local sum
  bool has_zeros_;
  bool keeps_;  ///< local sums
};

}  // namespace drover
