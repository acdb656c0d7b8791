// A spanning forest of the strongest pairs of a spin graph, for methods that keep these exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/compile/dual.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct SpinForest {
  std::vector<std::uint8_t> has_edge;  ///< per edge
  std::vector<std::uint32_t> order;    ///< all variables, parents before children
  std::vector<std::uint32_t> parent;   ///< itself for a root
  std::vector<double> coupling;        ///< to the parent
  std::size_t size = 0;                ///< edges
};

/// Kruskal's algorithm by |coupling|, then every tree walked from its lowest variable. Raises stopped when the
/// control ends it.
SpinForest strongest_forest(const SpinEdges& graph, const RunControl& control = no_control());

/// Without edges: every variable is a root.
SpinForest no_forest(const SpinEdges& graph);

}  // namespace drover
