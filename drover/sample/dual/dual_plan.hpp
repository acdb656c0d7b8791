// A graph laid out for samplers that alternate between variables and duals: pair factors that can be dualised
// or kept as edges of a forest, and mixtures for all other factors, flat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/mixture.hpp"
#include "drover/sample/dual/bond_law.hpp"

namespace drover {

/// A mixture of compile/mixture.hpp with its place in the graph.
struct PlacedMixture {
  std::uint32_t components;
  std::uint32_t site;                    ///< of its random numbers
  std::uint32_t scope_begin, scope_end;  ///< in DualPlan::scopes and value_offsets
  std::size_t residual;                  ///< where its residual begins, or none
  static constexpr std::size_t none = ~std::size_t{0};
};

/// The mixture of one entry of a pair's table (Mixture::entry): a dual that, when it is one, multiplies the belief in one
/// state of each variable.
struct EntryDual {
  Value first, second;
  /// One for random words from here on, by 2 [x_first = first] + [x_second = second]; 2^32: never.
  std::array<std::uint64_t, 4> least_word;
  double first_gain, second_gain;
  double nats;  ///< the larger of the gains' absolute logarithms
};

/// A factor of two variables.
struct DualLink {
  VariableId first, second;
  double weight = 0;       ///< how strongly it ties its variables, for the choice of forests
  bool is_bond = false;    ///< exp(gain) where x_first = x_second ^ flip, one elsewhere
  std::uint32_t flip = 0;  ///< only for two states
  double factor = 1;       ///< exp(gain)
  BondLaw law{};           ///< its dual when gain > 0; else it has mixtures
  std::size_t table = 0;   ///< where its linear table begins, first variable slowest; when it is not a bond
  std::size_t gains =
      0;  ///< where what its duals leave to the variables begins, when it has duals other than the bond's
  std::uint32_t mixture_begin = 0, mixture_end = 0;
  std::uint32_t entry_begin = 0, entry_end = 0, entry_site = 0;
};

struct DualPlan {
  std::vector<double> unary;  ///< linear, the largest value of each variable 1
  std::vector<DualLink> links;
  std::vector<PlacedMixture> mixtures;  ///< of the links, then of the factors of three and more variables
  std::uint32_t first_free_mixture = 0;
  std::vector<EntryDual> entries;  ///< of the links
  std::vector<double> gains;       ///< linear, the largest of each variable of a link 1
  std::uint32_t dual_sites = 0;    ///< of all mixtures and entries
  std::vector<VariableId> scopes;
  std::vector<std::size_t> value_offsets;
  std::vector<double> values;
  std::vector<double> residuals;
  std::vector<double> tables;

  // The worst of the fitted decompositions.
  double divergence = 0;
  double residual_share = 0;
  std::string worst_factor;
};

/// At an inverse temperature other than 1 of the graph with its log-factors multiplied by it.
DualPlan make_dual_plan(const Graph& graph, double inverse_temperature = 1);

/// A spanning forest of the links of greatest weight, rooted; variables in an order with parents first.
struct DualForest {
  static constexpr std::uint32_t no_link = 0xffffffffU;
  std::vector<VariableId> order;
  std::vector<VariableId> parent;          ///< of variable v; v itself for a root
  std::vector<std::uint32_t> parent_link;  ///< to the parent, or no_link
  std::vector<std::uint8_t> has_link;      ///< per link: whether the forest has it
};

/// Kruskal's algorithm with the given weight of every link; no weights: a forest without links.
DualForest heaviest_forest(const DualPlan& plan, std::span<const double> weights, std::size_t variables);

}  // namespace drover
