// The order of the nodes in their layers, such that few arcs cross.
//
// Sources: Sugiyama, Tagawa and Toda 1981 (sweeps by barycentre); Gansner, Koutsofios, North and Vo 1993
// (exchanges of neighbours, the best order kept); Barth, Juenger and Mutzel 2002 (crossings counted as
// inversions, in |E| log |V|).
//
//   down  sort each layer by   b(v) = mean place of v's neighbours in the layer above;   up  likewise below
//   then  exchange neighbours in a layer while that removes crossings
//
// A heuristic: the problem is NP-hard for two layers already. A tree comes out without crossings. No random
// numbers: the same graph gives the same order.
#pragma once

#include <cstdint>

#include "drover/draw/layered_graph.hpp"

namespace drover {

/// Pairs of arcs that cross between neighbouring layers.
std::uint64_t count_crossings(const LayeredGraph& graph);

/// Reorders graph.layers.
void reduce_crossings(LayeredGraph& graph);

}  // namespace drover
