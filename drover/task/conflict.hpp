// Evidence that cannot be: the smallest set of observations that cannot hold together.
//
// A set of observations is possible when some state has no zero factor (drover/infer/support.hpp decides it,
// by a SAT solver in the end). Halving gives a set of which none can be left out (QuickXplain: U. Junker,
// AAAI 2004), with few trials when it is small. Then all smaller sets are tried, smallest first, as far as a
// fixed amount of work goes, so that most answers are the smallest there is, and say so.
#pragma once

#include <string>

#include "drover/core/run_control.hpp"
#include "drover/task/stated.hpp"

namespace drover {

struct Conflict {
  Observations observations;  ///< cannot hold together; empty: the evidence is possible, or the model is not
  bool smallest = false;      ///< proven: no set with fewer observations is impossible
};

Conflict find_conflict(const Stated& stated, const RunControl& control = no_control());
/// A sentence; empty when there is no conflict.
std::string conflict_text(const Conflict& conflict, const Names& names);
/// Raises bad_data with the sentence when there is one.
void fail_if_conflict(const Stated& stated, const Names& names, const RunControl& control);

}  // namespace drover
