// New numbers in a graph that exists: the same variables and factors, other weights.
//
// Learning changes weights at every step and never the edges, and an image's likelihoods change while its
// grid does not. What depends on the topology alone (which variables are free, offsets, neighbours) is kept,
// and so is the memory. The result is what compiling anew would give, to the last bit.
#pragma once

#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"

namespace drover {

/// `graph` was compiled of a model with the same variables, gates and scopes, under evidence that is kept.
/// Raises what compile() raises, and bad_data when the variables are not those of the graph; the graph is
/// empty then.
void reweight(Graph& graph, const Model& model);

/// `graph` was made by spin_graph() of a machine with the same edges.
void reweight(SpinGraph& graph, const BinaryMachine& machine);

}  // namespace drover
