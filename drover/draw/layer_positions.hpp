// How far right each node of a layered graph stands, given the order in the layers: arcs as nearly upright as
// the room between neighbours allows, long arcs most of all.
//
// Sources: Sugiyama, Tagawa and Toda 1981 (positions as a quadratic programme); Gansner, Koutsofios, North
// and Vo 1993 (weights 1, 2, 8); Barlow, Bartholomew, Bremner and Brunk 1972 (pooling of adjacent violators).
//
//   minimise   sum over arcs (u, v) of  w_uv (x_u - x_v)^2     w = 1, 2 or 8 for 0, 1 or 2 ends that are
//   bends subject to x_next - x >= room, for neighbours in a layer
//
// One layer at a time: the others fixed, node v wants the weighted mean d_v of its neighbours, and the best
// positions are an isotonic regression of d_v less the room to its left. Each step lowers the sum, which is
// convex, and the constraints hold within layers, so that the steps lead to the least sum there is; a fixed
// number of sweeps comes near it. Neighbours keep their room after every step: nodes never overlap.
#pragma once

#include <vector>

#include "drover/draw/layered_graph.hpp"

namespace drover {

/// The centre of every node and bend.
std::vector<double> place_nodes(const LayeredGraph& graph);

/// What place_nodes() makes small.
double slant(const LayeredGraph& graph, const std::vector<double>& x);

}  // namespace drover
