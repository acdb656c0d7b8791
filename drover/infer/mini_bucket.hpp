// An upper bound of log Z by elimination in tables of bounded size: weighted mini-buckets.
//
// Sources: R. Dechter and I. Rish, Mini-buckets, J. ACM 50 (2003); Q. Liu and A. Ihler, Bounding the
// partition function using Hoelder's inequality, ICML 2011.
//
// Eliminating v sums the product of all functions with v. Where their joint table would be too large they are
// split into R groups f_1 .. f_R of smaller tables, and by Hoelder's inequality, with w_r = 1 / R,
//
//   sum_v f_1 f_2 .. f_R  <=  prod_r ( sum_v f_r^(1 / w_r) )^w_r.
//
// Before that the groups are made alike (moment matching): any function of v may be moved from one group to
// another, and  f_r <- f_r (mu / mu_r)^w_r  with mu_r(v) = sum over the rest of f_r^(1 / w_r) and log mu the
// mean of the log mu_r makes the bound tight in v alone.
//
// Everything is in logs. A value of v that one group excludes is excluded in all. Where no group had to be
// split the result is log Z itself.
//
// When it fails: tables of 2^i entries bound well where the treewidth is not much above i; the work is about
// 2^i entries per variable.
#pragma once

#include <span>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct MiniBucketBound {
  double upper = 0;        ///< of log Z
  bool exact = false;      ///< nothing was split: upper is log Z
  std::size_t splits = 0;  ///< buckets that were split
  double entries = 0;      ///< of all tables
};

/// Tables have at most 2^log2_entries entries, unless a factor alone has more. `order` names every variable
/// of the graph, which has no gates. The control's end raises stopped.
MiniBucketBound mini_bucket_bound(const Graph& graph, std::span<const VariableId> order, double log2_entries,
                                  const RunControl& control = no_control());

}  // namespace drover
