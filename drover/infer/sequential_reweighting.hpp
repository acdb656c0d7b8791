// A lower bound of all costs near that of the linear relaxation, by passes over the variables in order.
//
// Sources: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, 2006 (TRW-S);
// Kolmogorov, A new look at reweighted message passing, 2015 (SRMP: factors of any number of variables).
//
//   forward, for v first to last:    u_v += min-marginals of every factor with an earlier variable
//                                    every factor with a later variable gets u_v / max(earlier, later)
//   backward, for v last to first:   the same with earlier and later exchanged
//
// where earlier and later count the factors of v that have such a variable. No step lowers the bound
// (SoftConsistency::bound), which ends at a point where neighbouring trees agree; for pairs that is usually
// within a few thousandths of the linear program's value. The costs stay where they were moved to, rounded:
// the consistency starts its search from the better bound.
#pragma once

#include "drover/core/run_control.hpp"
#include "drover/infer/soft_consistency.hpp"

namespace drover {

struct ReweightingOptions {
  std::uint64_t work = 1'000'000'000;  ///< table entries
  std::uint32_t iterations = 1000;
  double tolerance =
      1e-5;  ///< ends when an iteration gains less than this share of what is missing to `target`
  double target = infinite_cost;  ///< of a known state
};

struct Reweighting {
  double lower = 0;
  std::uint32_t iterations = 0;
};

/// To be called at level 0, after propagation.
Reweighting reweight_sequentially(SoftConsistency& consistency, std::span<const VariableId> order,
                                  const ReweightingOptions& options, const RunControl& control);

}  // namespace drover
