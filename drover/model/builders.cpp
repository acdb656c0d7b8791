#include "drover/model/builders.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/random.hpp"

namespace drover {

namespace {

// What a draw is for; the `chain` of its counter.
enum class Purpose : std::uint32_t { coupling, field, structure, entry };

class Drawer {
 public:
  Drawer(const Draw& draw, std::uint64_t seed, Purpose purpose)
      : draw_(draw), random_(seed, Stream::generate), purpose_(static_cast<std::uint32_t>(purpose)) {}

  double operator()(std::uint64_t index) const {
    switch (draw_.shape) {
      case Draw::Shape::constant:
        return draw_.a;
      case Draw::Shape::normal:
        return draw_.a + draw_.b * random_.normal(purpose_, index, 0);
      case Draw::Shape::uniform:
        return draw_.a + (draw_.b - draw_.a) * random_.uniform(purpose_, index, 0);
      case Draw::Shape::sign:
        return random_.uniform(purpose_, index, 0) < 0.5 ? -draw_.a : draw_.a;
    }
    return 0;
  }
  bool is_zero() const { return draw_.shape == Draw::Shape::constant && draw_.a == 0; }

 private:
  Draw draw_;
  Random random_;
  std::uint32_t purpose_;
};

RandomSequence structure_sequence(std::uint64_t seed) {
  return {seed, Stream::generate, static_cast<std::uint32_t>(Purpose::structure)};
}

}  // namespace

Edges grid_edges(std::uint32_t width, std::uint32_t height, bool periodic) {
  Edges edges;
  edges.variables = width * height;
  edges.first.reserve(std::size_t{2} * edges.variables);
  edges.second.reserve(std::size_t{2} * edges.variables);
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const VariableId here = y * width + x;
      if (x + 1 < width) {
        edges.add(here, here + 1);
      } else if (periodic && width > 2) {
        edges.add(here, here + 1 - width);
      }
      if (y + 1 < height) {
        edges.add(here, here + width);
      } else if (periodic && height > 2) {
        edges.add(here, x);
      }
    }
  return edges;
}

Edges chain_edges(std::uint32_t variables) {
  return grid_edges(variables, 1, false);
}

Edges tree_edges(std::uint32_t variables, std::uint64_t seed) {
  Edges edges;
  edges.variables = variables;
  RandomSequence random = structure_sequence(seed);
  for (VariableId v = 1; v < variables; ++v) edges.add(random.below(v), v);
  return edges;
}

Edges complete_edges(std::uint32_t variables) {
  Edges edges;
  edges.variables = variables;
  for (VariableId i = 0; i < variables; ++i)
    for (VariableId j = i + 1; j < variables; ++j) edges.add(i, j);
  return edges;
}

// Jumps from one edge to the next by geometric steps (Batagelj and Brandes: Efficient generation of large
// random networks; Physical Review E 71, 2005), so the cost is the number of edges.
Edges random_edges(std::uint32_t variables, double probability, std::uint64_t seed) {
  if (probability >= 1) return complete_edges(variables);
  Edges edges;
  edges.variables = variables;
  if (probability <= 0 || variables < 2) return edges;
  RandomSequence random = structure_sequence(seed);
  const double log_miss = std::log1p(-probability);
  std::int64_t column = -1;
  std::uint64_t row = 1;
  while (row < variables) {
    const double jump = std::floor(std::log1p(-random.uniform()) / log_miss);
    if (!(jump < 9e18)) break;
    column += 1 + static_cast<std::int64_t>(std::min(jump, 4e18));
    while (row < variables && column >= static_cast<std::int64_t>(row)) {
      column -= static_cast<std::int64_t>(row);
      ++row;
    }
    if (row < variables) edges.add(static_cast<VariableId>(column), static_cast<VariableId>(row));
  }
  return edges;
}

namespace {

// Not exactly uniform over regular graphs, but close. Pairs stubs at random, then repairs loops and double
// edges by random switches: edges (a, b), (c, d) become (a, d), (c, b). Neighbours stand in rows of `degree`,
// so a look-up costs one row.
class RegularGraph {
 public:
  RegularGraph(std::uint32_t variables, std::uint32_t degree, RandomSequence& random)
      : degree_(degree), random_(random), rows_(std::size_t{variables} * degree), filled_(variables, 0) {
    std::vector<VariableId> stubs;
    stubs.reserve(rows_.size());
    for (VariableId v = 0; v < variables; ++v) stubs.insert(stubs.end(), degree, v);
    for (std::size_t k = stubs.size(); k > 1; --k)
      std::swap(stubs[k - 1], stubs[random.below(static_cast<std::uint32_t>(k))]);
    for (std::size_t k = 0; k + 1 < stubs.size(); k += 2) {
      const VariableId i = stubs[k], j = stubs[k + 1];
      if (i == j || joined(i, j)) {
        pending_.push_back({i, j});
      } else {
        join(i, j);
      }
    }
  }

  // False when the switches got stuck, which the caller answers by starting again.
  bool repair() {
    std::size_t tries = 0;
    while (!pending_.empty()) {
      if (edges_.empty() || ++tries > 1000 + 100 * edges_.size()) return false;
      const auto [a, b] = pending_.back();
      const std::size_t other = random_.below(static_cast<std::uint32_t>(edges_.size()));
      const auto [c, d] = edges_[other];
      if (a == d || c == b || joined(a, d) || joined(c, b)) continue;
      replace(c, d, b);
      replace(d, c, a);
      put(a, d);
      put(b, c);
      edges_[other] = {a, d};
      edges_.push_back({c, b});
      pending_.pop_back();
    }
    return true;
  }

  void write(Edges& edges) const {
    for (const auto& [i, j] : edges_) edges.add(std::min(i, j), std::max(i, j));
  }

 private:
  struct Edge {
    VariableId i, j;
  };

  VariableId* row(VariableId v) { return rows_.data() + std::size_t{v} * degree_; }
  bool joined(VariableId i, VariableId j) {
    return std::find(row(i), row(i) + filled_[i], j) != row(i) + filled_[i];
  }
  void put(VariableId i, VariableId j) { row(i)[filled_[i]++] = j; }
  void join(VariableId i, VariableId j) {
    put(i, j);
    put(j, i);
    edges_.push_back({i, j});
  }
  void replace(VariableId i, VariableId old_neighbour, VariableId neighbour) {
    *std::find(row(i), row(i) + filled_[i], old_neighbour) = neighbour;
  }

  std::uint32_t degree_;
  RandomSequence& random_;
  std::vector<VariableId> rows_;
  std::vector<std::uint32_t> filled_;
  std::vector<Edge> edges_;
  std::vector<Edge> pending_;
};

Edges complement(const Edges& edges) {
  std::vector<bool> present(std::size_t{edges.variables} * edges.variables, false);
  for (std::size_t e = 0; e < edges.size(); ++e)
    present[std::size_t{edges.first[e]} * edges.variables + edges.second[e]] = true;
  Edges result;
  result.variables = edges.variables;
  for (VariableId i = 0; i < edges.variables; ++i)
    for (VariableId j = i + 1; j < edges.variables; ++j)
      if (!present[std::size_t{i} * edges.variables + j]) result.add(i, j);
  return result;
}

}  // namespace

Edges regular_edges(std::uint32_t variables, std::uint32_t degree, std::uint64_t seed) {
  assert(degree < variables && (std::size_t{variables} * degree) % 2 == 0);
  // Switches get stuck in dense graphs; their complement is sparse.
  if (degree > (variables - 1) / 2) return complement(regular_edges(variables, variables - 1 - degree, seed));
  Edges edges;
  edges.variables = variables;
  RandomSequence random = structure_sequence(seed);
  for (;;) {
    RegularGraph graph(variables, degree, random);
    if (!graph.repair()) continue;
    graph.write(edges);
    return edges;
  }
}

Model ising(const Edges& edges, const Draw& coupling, const Draw& field, std::uint64_t seed) {
  Model model;
  model.cardinalities.assign(edges.variables, 2);
  const Drawer coupling_of(coupling, seed, Purpose::coupling);
  model.spin_pairs.first = edges.first;
  model.spin_pairs.second = edges.second;
  std::vector<double> couplings(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) couplings[e] = coupling_of(e);
  model.spin_pairs.couplings = std::move(couplings);
  const Drawer field_of(field, seed, Purpose::field);
  if (field_of.is_zero()) return model;
  model.unaries.variables.reserve(edges.variables);
  model.unaries.offsets.reserve(std::size_t{edges.variables} + 1);
  model.unaries.log_values.reserve(std::size_t{2} * edges.variables);
  for (VariableId v = 0; v < edges.variables; ++v) {
    const double h = field_of(v);
    const double values[2] = {-h, h};
    model.unaries.add(v, values);
  }
  return model;
}

Model grid_rows(std::uint32_t width, std::uint32_t height, bool periodic, std::span<const std::uint32_t> rows,
                const Draw& coupling, const Draw& field, std::uint64_t seed) {
  Model model;
  model.cardinalities.assign(rows.size() * width, 2);
  const Drawer coupling_of(coupling, seed, Purpose::coupling), field_of(field, seed, Purpose::field);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    // As grid_edges() counts them: a pair to the right, where there is one, and then one down.
    const std::uint64_t y = rows[r], before = y * (2 * std::uint64_t{width} - (periodic ? 0 : 1));
    const bool has_down = periodic || y + 1 < height;
    const auto below = std::ranges::lower_bound(rows, static_cast<std::uint32_t>((y + 1) % height));
    const bool keeps_down = has_down && below != rows.end() && *below == (y + 1) % height;
    const auto row_below = static_cast<VariableId>((below - rows.begin()) * width);
    for (std::uint32_t x = 0; x < width; ++x) {
      const auto row = static_cast<VariableId>(r * width);
      const std::uint64_t number = before + (has_down ? 2 : 1) * std::uint64_t{x};
      const bool has_right = periodic || x + 1 < width;
      if (has_right) model.spin_pairs.add(row + x, row + (x + 1) % width, coupling_of(number));
      if (keeps_down) model.spin_pairs.add(row + x, row_below + x, coupling_of(number + (has_right ? 1 : 0)));
    }
  }
  if (field_of.is_zero()) return model;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::uint32_t x = 0; x < width; ++x) {
      const double h = field_of(std::uint64_t{rows[r]} * width + x);
      const double values[2] = {-h, h};
      model.unaries.add(static_cast<VariableId>(r * width + x), values);
    }
  return model;
}

Model potts(const Edges& edges, std::uint32_t states, const Draw& coupling, const Draw& field,
            std::uint64_t seed) {
  Model model;
  model.cardinalities.assign(edges.variables, states);
  const Drawer coupling_of(coupling, seed, Purpose::coupling);
  model.potts_pairs.first = edges.first;
  model.potts_pairs.second = edges.second;
  std::vector<double> couplings(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) couplings[e] = coupling_of(e);
  model.potts_pairs.couplings = std::move(couplings);
  const Drawer field_of(field, seed, Purpose::field);
  if (field_of.is_zero()) return model;
  std::vector<double> values(states);
  for (VariableId v = 0; v < edges.variables; ++v) {
    for (std::uint32_t k = 0; k < states; ++k) values[k] = field_of(std::uint64_t{v} * states + k);
    model.unaries.add(v, values);
  }
  return model;
}

Model rbm(std::uint32_t visible, std::uint32_t hidden, const Draw& weight, const Draw& bias,
          std::uint64_t seed) {
  Model model;
  model.cardinalities.assign(std::size_t{visible} + hidden, 2);
  DenseLayer layer{0, visible, visible, hidden, {}};
  layer.weights.resize(std::size_t{visible} * hidden);
  const Drawer weight_of(weight, seed, Purpose::coupling);
  for (std::size_t w = 0; w < layer.weights.size(); ++w) layer.weights[w] = weight_of(w);
  model.dense_layers.push_back(std::move(layer));
  const Drawer bias_of(bias, seed, Purpose::field);
  if (bias_of.is_zero()) return model;
  for (VariableId v = 0; v < visible + hidden; ++v) {
    const double values[2] = {0, bias_of(v)};
    model.unaries.add(v, values);
  }
  return model;
}

Model random_tables(std::uint32_t variables, std::uint32_t states, std::uint32_t factors, std::uint32_t arity,
                    const Draw& entry, double zero_share, std::uint64_t seed) {
  assert(arity <= variables);
  Model model;
  model.cardinalities.assign(variables, states);
  RandomSequence random = structure_sequence(seed);
  std::vector<Value> possible(variables);
  for (Value& value : possible) value = static_cast<Value>(random.below(states));
  std::size_t entries = 1;
  for (std::uint32_t k = 0; k < arity; ++k) entries *= states;
  const Drawer entry_of(entry, seed, Purpose::entry);
  std::vector<VariableId> scope;
  std::vector<double> values(entries);
  std::uint64_t drawn = 0;
  for (std::uint32_t f = 0; f < factors; ++f) {
    scope.clear();
    while (scope.size() < arity) {
      const VariableId v = random.below(variables);
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
    }
    std::size_t kept = 0;
    for (VariableId v : scope) kept = kept * states + possible[v];
    for (std::size_t e = 0; e < entries; ++e) {
      const bool zero = zero_share > 0 && random.uniform() < zero_share && e != kept;
      values[e] = zero ? log_zero : entry_of(drawn);
      ++drawn;
    }
    if (arity == 1) {
      model.unaries.add(scope[0], values);
    } else {
      model.tables.add(scope, values);
    }
  }
  return model;
}

}  // namespace drover
