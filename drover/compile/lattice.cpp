#include "drover/compile/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace drover {

namespace {

// The differences j - i of all pairs, or nothing when there are more than a grid has: 1, width, and across
// the borders width - 1 and size - width.
std::vector<std::size_t> differences(const SpinGraph& graph) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (std::size_t j : graph.neighbours(i)) {
      if (j < i || std::find(found.begin(), found.end(), j - i) != found.end()) continue;
      if (found.size() == 4) return {};
      found.push_back(j - i);
    }
  std::sort(found.begin(), found.end());
  return found;
}

// Puts every pair into its place; empty when one has none.
std::optional<Lattice> try_width(const SpinGraph& graph, std::size_t width) {
  Lattice lattice;
  lattice.width = width;
  lattice.height = graph.size() / width;
  lattice.log_constant = graph.log_constant;
  lattice.bias = graph.bias;
  lattice.right.assign(graph.size(), 0.0f);
  lattice.down.assign(graph.size(), 0.0f);
  for (std::size_t i = 0; i < graph.size(); ++i)
    for (std::size_t k = 0; k < graph.degree(i); ++k) {
      const std::size_t j = graph.neighbours(i)[k], x = i % width, step = j - i;
      const float weight = graph.weights(i)[k];
      if (j < i) continue;
      if (step == 1 && x + 1 < width) {
        lattice.right[i] = weight;
      } else if (step == width) {
        lattice.down[i] = weight;
      } else if (step == width - 1 && x == 0) {
        lattice.right[j] = weight;
        lattice.periodic_x = true;
      } else if (step == graph.size() - width && i < width) {
        lattice.down[j] = weight;
        lattice.periodic_y = true;
      } else {
        return {};
      }
    }
  return lattice;
}

}  // namespace

std::optional<Lattice> recognise_lattice(const SpinGraph& graph) {
  std::set<std::size_t> widths;
  for (std::size_t step : differences(graph))
    for (std::size_t width : {step, step + 1})
      if (width >= 3 && graph.size() % width == 0 && graph.size() / width >= 3) widths.insert(width);
  for (std::size_t width : widths)
    if (auto lattice = try_width(graph, width)) return lattice;
  return {};
}

std::optional<EqualLattice> equal_lattice(const Lattice& lattice) {
  const auto alike = [](double a, double b) {
    return std::abs(a - b) <= 1e-6 * (1 + std::abs(a) + std::abs(b));
  };
  EqualLattice equal{lattice.width,        lattice.height,   lattice.periodic_x, lattice.periodic_y,
                     lattice.log_constant, lattice.right[0], lattice.bias[0]};
  for (std::size_t y = 0; y < lattice.height; ++y)
    for (std::size_t x = 0; x < lattice.width; ++x) {
      const std::size_t i = y * lattice.width + x;
      const bool last_x = x + 1 == lattice.width, last_y = y + 1 == lattice.height;
      if ((!last_x || lattice.periodic_x) && !alike(lattice.right[i], equal.weight)) return {};
      if ((!last_y || lattice.periodic_y) && !alike(lattice.down[i], equal.weight)) return {};
      const int neighbours =
          4 - (!lattice.periodic_x && (x == 0 || last_x)) - (!lattice.periodic_y && (y == 0 || last_y));
      const double field = lattice.bias[i] + equal.weight / 2 * neighbours;
      if (i == 0) equal.field = field;
      if (!alike(field, equal.field)) return {};
    }
  return equal;
}

}  // namespace drover
