// Where the chains of the table kernels start and in which order they visit the variables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/sample/scan.hpp"

namespace drover {

/// Raises misfit when a table has hard zeros and `starts` is empty, or when one of the states does not fit
/// the graph or has probability zero.
void check_starts(const Graph& graph, std::span<const std::vector<Value>> starts);

/// The state in which a chain starts: the next of `starts` in turn, or, when that is empty, each variable
/// uniform among the values its unary allows.
void draw_start(const Graph& graph, std::span<const std::vector<Value>> starts, std::uint64_t seed,
                std::uint32_t chain, std::span<Value> values);

/// A uniformly random order of the variables 0 .. order.size() - 1: a function of seed and sweep.
void shuffle_order(std::uint64_t seed, std::uint64_t sweep, std::span<VariableId> order);

}  // namespace drover
