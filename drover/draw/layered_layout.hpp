// Where the nodes of a directed network stand and which way its arcs run, from the top to the bottom: what
// the report, Python and the live page draw.
//
// Sources: Sugiyama, Tagawa and Toda 1981 (layers, orders, positions); Gansner, Koutsofios, North and Vo 1993
// (short arcs in total). Orders: layer_order.hpp. Positions: layer_positions.hpp.
//
//   cycles    an arc that closes one (depth-first) is laid upside down
//   layers    longest path from the sources; then a node, or a group joined by arcs of length 1, moves
//             towards the side on which it has more arcs, until none does: total length falls with each move;
//             then a layer keeps some 1.5 sqrt(nodes) of its nodes and the others move down
//   parts     not joined by arcs are laid out by themselves and set side by side, in rows
//
// Nodes never overlap, no arc passes through a node, every arc runs downwards (laid upside down: upwards).
// The same network gives the same layout. Time is about (nodes + bends) log (nodes + bends); a network whose
// arcs skip many layers has as many bends as layers skipped. Layers may become wide: no limit is set on them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace drover {

struct Point {
  double x = 0, y = 0;
};

struct NodeSize {
  double width = 0, height = 0;
};

struct Arc {
  std::uint32_t from = 0, to = 0;
  friend bool operator==(const Arc&, const Arc&) = default;
  friend auto operator<=>(const Arc&, const Arc&) = default;
};

struct LayoutOptions {
  double node_gap = 22;   ///< between nodes side by side
  double layer_gap = 44;  ///< between layers
  double bend_gap = 14;   ///< between arcs that pass a layer
};

struct LayeredLayout {
  double width = 0, height = 0;
  std::vector<Point> corners;         ///< upper left, of every node
  std::vector<std::uint32_t> layers;  ///< of every node, from 0 in each part
  /// Of every arc, from the lower edge of its first node to the upper edge of its second: vertical inside a
  /// layer, slanted between two. Empty for an arc from a node to itself.
  std::vector<std::vector<Point>> paths;
  std::uint64_t crossings = 0;
};

LayeredLayout layered_layout(std::span<const NodeSize> nodes, std::span<const Arc> arcs,
                             const LayoutOptions& options = {});

}  // namespace drover
