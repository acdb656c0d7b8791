// What every rank gives, on every rank.
#pragma once

#include <string>
#include <vector>

#include "drover/core/ranks.hpp"

namespace drover {

/// By rank. Collective.
std::vector<std::string> all_gather(const Ranks& ranks, std::string bytes);

}  // namespace drover
