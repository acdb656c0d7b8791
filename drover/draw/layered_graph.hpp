// A directed graph in layers, the form in which it is drawn: every arc joins a layer to the next one, a
// longer arc being a chain of bends, and every layer has an order from left to right.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace drover {

struct LayeredGraph {
  std::vector<std::vector<std::uint32_t>> layers;  ///< nodes and bends of each layer, from left to right
  std::vector<std::vector<std::uint32_t>> up;      ///< of each node, its neighbours in the layer above
  std::vector<std::vector<std::uint32_t>> down;    ///< and below
  std::vector<double> widths;                      ///< room each needs, half on either side
  std::uint32_t first_bend = 0;                    ///< nodes from here on are bends

  std::size_t size() const { return up.size(); }
  bool is_bend(std::uint32_t node) const { return node >= first_bend; }
  /// The place of every node in its layer.
  std::vector<std::uint32_t> places() const {
    std::vector<std::uint32_t> place(size());
    for (const auto& layer : layers)
      for (std::uint32_t k = 0; k < layer.size(); ++k) place[layer[k]] = k;
    return place;
  }
};

}  // namespace drover
