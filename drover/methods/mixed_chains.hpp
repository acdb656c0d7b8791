// Two samplers in turns on the same chains. Each leaves the model's distribution as it is, and so does one after
// the other: what one moves slowly the other may move fast, and then the two together are faster than either.
//
// The turns are of equal work (sweep_cost.hpp), and long enough that handing the states over is a small part of
// it. Estimates come from the draws of the first: its sweeps are those that are counted here. Kernels whose state
// is more than the variables (replicas of other temperatures) keep the rest between their turns.
#pragma once

#include "drover/methods/method.hpp"

namespace drover {

/// As Method::enter, with the chains of both; options.chains must be given.
RunFacts enter_mixture(const Method& first, const Method& second, const Problem& problem,
                       const ChainOptions& options, const RunControl& control, const UseChains& use);

}  // namespace drover
