// Models made by rule: lattices, random graphs, restricted Boltzmann machines, random tables.
//
// Everything is a function of the options and the seed alone: couplings, fields, entries and structure come
// from separate counter-based draws, so the same seed gives the same couplings for the same edges.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/model/model.hpp"

namespace drover {

/// How numbers are drawn: always `a`; normal with mean a and standard deviation b; uniform in [a, b); a or
/// -a.
struct Draw {
  enum class Shape { constant, normal, uniform, sign };
  Shape shape = Shape::constant;
  double a = 0;
  double b = 0;

  static Draw constant(double value) { return {Shape::constant, value, 0}; }
  static Draw normal(double mean, double deviation) { return {Shape::normal, mean, deviation}; }
  static Draw uniform(double low, double high) { return {Shape::uniform, low, high}; }
  static Draw sign(double size) { return {Shape::sign, size, 0}; }
};

/// Undirected edges, each once.
struct Edges {
  std::uint32_t variables = 0;
  std::vector<VariableId> first;
  std::vector<VariableId> second;

  std::size_t size() const { return first.size(); }
  void add(VariableId i, VariableId j) {
    first.push_back(i);
    second.push_back(j);
  }
};

/// Row by row: variable y * width + x. Periodic directions of length 2 or less get no wrapping edges.
Edges grid_edges(std::uint32_t width, std::uint32_t height, bool periodic);
Edges chain_edges(std::uint32_t variables);
/// A random recursive tree: the parent of i is uniform among 0 .. i - 1.
Edges tree_edges(std::uint32_t variables, std::uint64_t seed);
Edges complete_edges(std::uint32_t variables);
/// Every pair with the given probability (Erdos-Renyi).
Edges random_edges(std::uint32_t variables, double probability, std::uint64_t seed);
/// Every variable has `degree` neighbours; variables * degree must be even and degree < variables.
Edges regular_edges(std::uint32_t variables, std::uint32_t degree, std::uint64_t seed);

/// Spin pairs J s_i s_j and fields h s_i; no unaries when the field is the constant 0.
Model ising(const Edges& edges, const Draw& coupling, const Draw& field, std::uint64_t seed);

/// Some rows (ascending) of what ising() makes of grid_edges(width, height, periodic), and the pairs among them:
/// variable r * width + x is the x-th of the r-th of these rows. Numbers of pairs, and with them couplings, are
/// those of the whole. Where it is periodic there are at least three rows and columns.
Model grid_rows(std::uint32_t width, std::uint32_t height, bool periodic, std::span<const std::uint32_t> rows,
                const Draw& coupling, const Draw& field, std::uint64_t seed);
/// Potts pairs J [x_i = x_j] and one field per state.
Model potts(const Edges& edges, std::uint32_t states, const Draw& coupling, const Draw& field,
            std::uint64_t seed);
/// Visible units first, then hidden ones: log p = sum W x_i x_j + sum b x, x in {0, 1}.
Model rbm(std::uint32_t visible, std::uint32_t hidden, const Draw& weight, const Draw& bias,
          std::uint64_t seed);
/// Factors over random scopes with normal log entries; each entry is a hard zero with probability
/// `zero_share`, but one assignment, the same for all factors, is always possible.
Model random_tables(std::uint32_t variables, std::uint32_t states, std::uint32_t factors, std::uint32_t arity,
                    const Draw& entry, double zero_share, std::uint64_t seed);

inline Model grid_ising(std::uint32_t width, std::uint32_t height, bool periodic, double coupling,
                        double field = 0) {
  return ising(grid_edges(width, height, periodic), Draw::constant(coupling), Draw::constant(field), 0);
}

/// What `drover generate` can make. A deconvolution comes with evidence, so generate_model() makes it
/// (drover/task/generate.hpp), and generate() does not.
enum class GenerateKind {
  grid,
  torus,
  chain,
  tree,
  complete,
  random,
  regular,
  potts,
  tables,
  rbm,
  deconvolution
};

template <>
struct ChoiceNames<GenerateKind> {
  static constexpr std::array names = {
      std::pair{GenerateKind::grid, std::string_view("grid")},
      std::pair{GenerateKind::torus, std::string_view("torus")},
      std::pair{GenerateKind::chain, std::string_view("chain")},
      std::pair{GenerateKind::tree, std::string_view("tree")},
      std::pair{GenerateKind::complete, std::string_view("complete")},
      std::pair{GenerateKind::random, std::string_view("random")},
      std::pair{GenerateKind::regular, std::string_view("regular")},
      std::pair{GenerateKind::potts, std::string_view("potts")},
      std::pair{GenerateKind::tables, std::string_view("tables")},
      std::pair{GenerateKind::rbm, std::string_view("rbm")},
      std::pair{GenerateKind::deconvolution, std::string_view("deconvolution")}};
};

struct GenerateOptions {
  GenerateKind kind = GenerateKind::grid;
  std::uint64_t width = 10;  ///< grid, torus, potts
  std::uint64_t height = 10;
  bool periodic = false;                   ///< potts; a torus is always periodic
  std::uint64_t variables = 100;           ///< chain, tree, complete, random, regular, tables
  std::optional<std::uint64_t> states{};   ///< unset: 2, and 3 for potts; more than 2 makes Potts pairs
  double degree = 3;                       ///< regular: exact; random: on average
  std::optional<double> probability{};     ///< random: of an edge; unset: from degree
  std::optional<std::uint64_t> factors{};  ///< tables; unset: as many as variables
  std::uint64_t arity = 3;                 ///< tables
  double zero_share = 0;                   ///< tables
  std::uint64_t visible = 16;              ///< rbm
  std::uint64_t hidden = 8;
  Draw coupling = Draw::normal(0, 1);  ///< also weights of an rbm and log entries of tables
  Draw field = Draw::constant(0);      ///< also biases of an rbm
  std::uint64_t seed = 1;
};

/// Raises usage, naming the option, the value and the range.
Model generate(const GenerateOptions& options);

/// "grid", "torus", ...; raises usage with the nearest name.
GenerateKind parse_generate_kind(const std::string& name);

}  // namespace drover
