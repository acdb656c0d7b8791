// Factors of one scope become one, whatever the order of their variables: a model that states a pair twice is
// the same model, and a tree stays a tree for algorithms that walk from factor to factor.
//
// Pairs add their couplings; tables add their entries in the order of the first; a pair beside a table of its
// two variables goes into the table. Gates stay as they are. The first of several keeps its place in the
// list, so a model without repetitions compiles to the same graph as ever. Time: linear in the pairs, and a
// sort of the tables by a hash of their scopes.
#pragma once

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

/// Raises bad_data when factors of one scope leave no state.
void merge_factors(Graph& graph, const RunControl& control);

}  // namespace drover
