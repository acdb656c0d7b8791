// Where the chains of a race begin: far apart, so that chains which agree have forgotten it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/methods/method.hpp"

namespace drover {

/// States of positive probability: likely ones (climbs of iterated_modes.hpp), all variables at their first
/// and at their last state where that is possible, and random ones, in turn. `count` of them, in this order:
/// the best climb, all first, all last, random, the second best climb, random, random, random, the third ...
std::vector<std::vector<Value>> race_starts(const Problem& problem, std::size_t count);

/// How many of so many chains share a start.
std::uint32_t chains_per_start(std::uint32_t chains);

}  // namespace drover
