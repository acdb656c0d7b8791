// A cycle among the arcs of what claims to be a Bayesian network.
#pragma once

#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

/// A variable, its parent, that one's parent and so on, until the first comes again (it is last, too); empty when there is
/// no cycle. `parents` are those of each variable.
std::vector<VariableId> find_cycle(std::span<const std::vector<VariableId>> parents);

}  // namespace drover
