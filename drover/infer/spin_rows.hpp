// Messages between spins of any graph, laid out by sender; flooding, and the sequential schedule by levels.
//
// Variables are rows in an order, the messages a row sends lie together, and each knows the place of its
// reverse. A row adds up what it receives (that is, the reverses of what it sends), subtracts each of them,
// and the differences of many rows are one contiguous stretch for the vector kernel. Beliefs are always added
// up anew, so nothing drifts.
//
// Sequential: with the variables in an order (breadth first, say), a variable's level is one more than the
// highest level among its neighbours before it. Nobody has a neighbour in his own level, so a level is sent
// at once and the result is that of one variable after the other: from the last level to the first every
// variable sends to those before it, then from the first to the last to those behind it. Every message is
// sent once in an iteration; on a forest in breadth-first order that is exact. On a square grid the levels
// are the anti-diagonals.
//
// When it is slow: a path has as many levels as variables, and each is a vector with one number.
#pragma once

#include "drover/infer/spin_engine.hpp"
#include "drover/infer/spin_kernels.hpp"

namespace drover {

/// The arrays; group 0 has the messages to levels behind, group 1 those to levels before. Without levels all
/// messages are in group 0.
struct SpinRows {
  Semiring semiring = Semiring::sum;
  std::vector<std::size_t> offsets[2];   ///< row r sends offsets[g][r] .. offsets[g][r + 1] in group g
  std::vector<std::uint32_t> reverse;    ///< of every message
  SpinWeights weights;                   ///< of every message
  std::vector<double> appearance;        ///< rho; empty means 1
  std::vector<double> message;           ///< in units of log 2
  std::vector<double> own;               ///< b by row, in units of log 2
  std::vector<VariableId> row_of;        ///< of every variable
  std::vector<std::uint32_t> to_second;  ///< of every pair: the message from first to second
  std::vector<std::size_t> levels;       ///< rows levels[l] .. levels[l + 1]; empty without levels

  std::size_t rows() const { return own.size(); }
  double belief(std::size_t row, const double* messages) const;
  SpinPairMessages pair_messages() const;
  std::vector<double> log_odds() const;
};

/// With `order`, levels; empty: the variables' own order and no levels.
SpinRows spin_rows(const SpinProblem& problem, std::span<const VariableId> order);

std::unique_ptr<SpinEngine> spin_flooding(const SpinProblem& problem);
std::unique_ptr<SpinEngine> spin_sequential(const SpinProblem& problem, std::span<const VariableId> order);

}  // namespace drover
