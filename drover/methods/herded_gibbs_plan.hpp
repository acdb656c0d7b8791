// From the settings of a run to the tables of herded Gibbs.
#pragma once

#include <string>

#include "drover/methods/method.hpp"
#include "drover/sample/herded/herded_gibbs_plan.hpp"

namespace drover {

/// 16 chains, and 4 for large models.
std::uint32_t default_herded_chains(const Problem& problem);

/// What options.herded means for this problem: tables and a bound of their memory, for the chains and
/// sweeps that the task would run.
HerdedPlan herded_plan(const Problem& problem, Task task);

/// "dense", "bins:64", ...
std::string herded_share_text(const HerdedPlan& plan);

}  // namespace drover
