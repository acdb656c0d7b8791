#include "drover/compile/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace drover {

namespace {

// Pairs i < j with their weights, as a graph has them.
struct SpinGraphPairs {
  const SpinGraph& graph;

  std::size_t size() const { return graph.size(); }
  /// visit(i, j, weight), until it returns false.
  template <class Visit>
  bool all(Visit visit) const {
    for (std::size_t i = 0; i < graph.size(); ++i)
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        if (graph.neighbour[e] > i && !visit(i, graph.neighbour[e], graph.weight[e])) return false;
    return true;
  }
  void put_terms(Lattice& lattice) const {
    lattice.log_constant = graph.log_constant;
    lattice.bias = graph.bias;
  }
};

struct GraphPairs {
  const Graph& graph;

  std::size_t size() const { return graph.size(); }
  template <class Visit>
  bool all(Visit visit) const {
    const SpinPairs& pairs = graph.spin_pairs;
    for (std::size_t p = 0; p < pairs.size(); ++p)
      if (!visit(pairs.first[p], pairs.second[p], static_cast<float>(4 * pairs.couplings[p]))) return false;
    return true;
  }
  void put_terms(Lattice& lattice) const {
    SpinTerms terms = spin_terms(graph);
    lattice.log_constant = terms.log_constant;
    lattice.bias.assign(terms.bias.begin(), terms.bias.end());
  }
};

// The differences j - i of all pairs, or nothing when there are more than a grid has: 1, width, and across
// the borders width - 1 and size - width.
template <class Pairs>
std::vector<std::size_t> differences(const Pairs& pairs) {
  std::vector<std::size_t> found;
  std::size_t last = 0;
  const bool few = pairs.all([&](std::size_t i, std::size_t j, float) {
    if (j - i == last) return true;
    last = j - i;
    if (std::find(found.begin(), found.end(), last) != found.end()) return true;
    found.push_back(last);
    return found.size() <= 4;
  });
  if (!few) return {};
  std::sort(found.begin(), found.end());
  return found;
}

// Puts every pair into its place; empty when one has none.
template <class Pairs>
std::optional<Lattice> try_width(const Pairs& pairs, std::size_t width) {
  Lattice lattice;
  const std::size_t size = pairs.size();
  lattice.width = width;
  lattice.height = size / width;
  lattice.right.assign(size, 0.0f);
  lattice.down.assign(size, 0.0f);
  std::size_t row = 0;  // the first place of the row that i is in: no division for every pair
  const bool fits = pairs.all([&](std::size_t i, std::size_t j, float weight) {
    const std::size_t step = j - i;
    if (i - row >= width) row = i / width * width;
    if (step == width) {
      lattice.down[i] = weight;
    } else if (step == 1 && j != row + width) {
      lattice.right[i] = weight;
    } else if (step == width - 1 && i == row) {
      lattice.right[j] = weight;
      lattice.periodic_x = true;
    } else if (step == size - width && i < width) {
      lattice.down[j] = weight;
      lattice.periodic_y = true;
    } else {
      return false;
    }
    return true;
  });
  if (!fits) return {};
  pairs.put_terms(lattice);
  return lattice;
}

template <class Pairs>
std::optional<Lattice> recognise(const Pairs& pairs) {
  std::set<std::size_t> widths;
  for (std::size_t step : differences(pairs))
    for (std::size_t width : {step, step + 1})
      if (width >= 3 && pairs.size() % width == 0 && pairs.size() / width >= 3) widths.insert(width);
  for (std::size_t width : widths)
    if (auto lattice = try_width(pairs, width)) return lattice;
  return {};
}

}  // namespace

std::optional<Lattice> recognise_lattice(const SpinGraph& graph) {
  return recognise(SpinGraphPairs{graph});
}

std::optional<Lattice> recognise_lattice(const Graph& graph) {
  return recognise(GraphPairs{graph});
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
