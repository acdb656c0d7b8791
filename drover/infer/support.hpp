// Assignments of positive probability, for models with hard zeros.
//
// A state is in the support when no unary and no table is zero there: a constraint satisfaction problem.
// Three steps, each only when the one before did not settle it:
//   1. propagation: generalised arc consistency over the tables' zeros (Mackworth 1977);
//   2. randomised search with propagation, bounded backtracking and restarts (support_search.hpp);
//   3. the SAT solver CaDiCaL on a one-hot encoding (support_sat.hpp), which is complete.
// The answers depend on the graph and the seed only. Step 3 decides an NP-complete problem and has no time
// limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

/// Whether an assignment of the free variables has positive probability.
bool in_support(const Graph& graph, std::span<const Value> x);

/// One state of positive probability. Raises bad_data naming a culprit when there is none (Z = 0).
std::vector<Value> find_supported_state(const Graph& graph, std::uint64_t seed);

/// `count` such states for starting chains, over-dispersed (random values wherever the constraints leave a
/// choice) but not draws from the model; they may repeat when the support is small. The control can end the
/// first two steps, and the third between two states: Error (stopped, interrupted).
std::vector<std::vector<Value>> find_supported_states(const Graph& graph, std::uint64_t seed,
                                                      std::size_t count,
                                                      const RunControl& control = no_control());

}  // namespace drover
