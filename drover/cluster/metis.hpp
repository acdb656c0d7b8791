// Units of work divided by METIS.
#pragma once

#include <cstdint>
#include <vector>

#include "drover/core/ranks.hpp"

namespace drover {

/// The part of every unit: about equal work, little to tell one another. In stretches where METIS fails.
std::vector<std::uint32_t> metis_parts(const WorkGraph& graph, std::uint32_t parts);

}  // namespace drover
