// The parts of compiling that take long on models of a million variables, with a control that can end them. Each
// gives what its plain form gives, or raises stopped (interrupted, when somebody asked for the end).
#pragma once

#include "drover/compile/blocks.hpp"
#include "drover/compile/colouring.hpp"
#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

Graph compile(const Model& model, const Evidence& evidence, PairTables pairs, const RunControl& control);
Adjacency adjacency(const Graph& graph, const RunControl& control);
Colouring colour_variables(std::span<const std::size_t> offsets, std::span<const VariableId> neighbours,
                           const RunControl& control);
Blocks choose_blocks(const Graph& graph, const BlockOptions& options, const RunControl& control);
SpinGraph spin_graph(const Graph& graph, const RunControl& control);

}  // namespace drover
