// The few names every folder shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace drover {

using VariableId = std::uint32_t;  ///< index of a variable, from 0
using Value = std::uint16_t;       ///< a state of a variable, 0 .. cardinality - 1

inline constexpr std::uint32_t max_cardinality = 65535;
inline constexpr VariableId no_variable = std::numeric_limits<VariableId>::max();
inline constexpr double log_zero = -std::numeric_limits<double>::infinity();

}  // namespace drover
