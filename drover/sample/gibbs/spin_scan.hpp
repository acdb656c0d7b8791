// What the spin kernels for many chains share about the order of a sweep.
#pragma once

#include <cstdint>
#include <span>

#include "drover/compile/spin_graph.hpp"

namespace drover {

/// True when enough neighbours lie outside what the caches and their prefetchers follow by themselves.
bool is_scattered(const SpinGraph& graph);

/// A random permutation of the variables, made anew from (seed, sweep).
void shuffle_sites(std::uint64_t seed, std::uint64_t sweep, std::span<std::uint32_t> order);

}  // namespace drover
