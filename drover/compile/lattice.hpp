// Recognises spin graphs that are row-major grids, whatever their couplings and fields.
//
// Variable y * width + x may be joined to its right and lower neighbour only (and, periodic, across the
// border); missing pairs count as couplings of zero. The smallest width that explains every pair is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drover/compile/spin_graph.hpp"

namespace drover {

struct Lattice {
  std::size_t width = 0, height = 0;            ///< both at least 3
  bool periodic_x = false, periodic_y = false;  ///< some pair crosses the border
  double log_constant = 0;
  std::vector<float> bias;
  std::vector<float> right;  ///< weight of (x, y) and (x + 1, y); the last column wraps to the first
  std::vector<float> down;   ///< weight of (x, y) and (x, y + 1); the last row wraps to the first

  std::size_t size() const { return bias.size(); }
  /// Neighbours always have different parity of x + y: periodic sides are even.
  bool is_checkerboard() const { return (!periodic_x || width % 2 == 0) && (!periodic_y || height % 2 == 0); }
};

/// Empty when the graph is no such grid.
std::optional<Lattice> recognise_lattice(const SpinGraph& graph);
/// The same of spin_graph(graph), which is not made for it. Requires graph.is_spin().
std::optional<Lattice> recognise_lattice(const Graph& graph);

/// A lattice with one weight and the bias that one coupling and one field give: log p~ = J sum s s + h sum s.
struct EqualLattice {
  std::size_t width = 0, height = 0;
  bool periodic_x = false, periodic_y = false;
  double log_constant = 0;
  double weight = 0;  ///< 4 J
  double field = 0;   ///< 2 h: bias_i = 2 h - (weight / 2) * number of neighbours
};

/// Empty when couplings or fields differ (by more than rounding), or a pair is missing.
std::optional<EqualLattice> equal_lattice(const Lattice& lattice);

}  // namespace drover
