// The part of compile() that knows gates (model/gates.hpp): checks them, finds the values that evidence
// forces through them, and writes what is left of each into the graph.
//
// Forced values (unit propagation): an OR whose child is 0 has inputs 0; a count that has reached its upper
// limit leaves only zeros; and so on until nothing more follows. Such variables are as good as observed. An
// OR whose child is known to be 1 is the count "at least one"; an AND whose child is 0 is "not all".
#pragma once

#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

/// Raises bad_data for scopes, parameters and limits that make no sense.
void check_gates(const Model& model);

/// Adds forced variables to `clamped` and `values`; raises bad_data when a gate cannot be satisfied.
void propagate_gates(const Model& model, std::vector<bool>& clamped, std::vector<Value>& values);

/// Appends the gates to graph.gates, or to its unaries and constant, after evidence; free_variable,
/// clamped_value and unary are ready.
void add_gates(const Model& model, Graph& graph);

}  // namespace drover
