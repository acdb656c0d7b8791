// Marginal MAP: the most probable values of some variables A, the others B summed out.
//
//   max over a of log sum over b of p~(a, b)
//
// Sources: Park and Darwiche, Complexity results and approximation strategies for MAP explanations, 2004;
// Dechter and Rish, Mini-buckets, 2003; Marinescu, Dechter and Ihler, AND/OR search for marginal MAP, 2014.
//
// Elimination with sums for B and maxima for A. When all of B goes before A the value is exact; where that
// order's tables are affordable, one pass answers. In any other order a maximum is taken inside a sum, which
// can only be larger: an upper bound, and the exact value once every variable of A is fixed. So branch and
// bound over A, best bound first after a dive, ends with the proof or is stopped with both bounds. When even
// that order's tables are too large they are split: the first part of a bucket is summed, the others are
// maximised (an upper bound) or minimised (a lower one).
//
// When it fails: the problem is harder than either of its halves (NP^PP-complete); gaps can stay wide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct MarginalMapOptions {
  double largest_table = 4e6;  ///< entries
  double exact_work = 1e9;     ///< of the constrained order, in table entries
  double work = 4e9;           ///< of branch and bound; unlimited with a time limit
};

struct MarginalMap {
  std::vector<Value> values;  ///< of the wanted variables, in their order
  /// log of the sum at `values`, between its own bounds when tables were split; and a bound of every other
  /// choice's.
  double lower = 0, upper_here = 0;
  double upper = 0;
  double log_z_lower = 0, log_z_upper = 0;
  bool optimal = false;
  bool exact_sums = false;  ///< no table was split
  std::uint64_t nodes = 0;  ///< 0 when the constrained order did
};

/// `wanted` are distinct free variables. Gates must be small enough for tables. Raises bad_data when Z = 0.
MarginalMap marginal_map(const Graph& graph, std::span<const VariableId> wanted,
                         const MarginalMapOptions& options, const RunControl& control);

}  // namespace drover
