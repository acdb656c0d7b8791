// What the machine runs: the model after evidence, validated once, with every factor in its simplest kind.
//
// compile() clamps evidence (and variables of cardinality 1) by slicing the factors, so a Graph has only free
// variables; merges all unary terms into one array; and recognises tables: constants, unaries, spin pairs
// (any strictly positive 2x2 table is h_i s_i + h_j s_j + J s_i s_j + constant), Potts pairs. Dense layers
// become spin pairs. What remains in `tables` has two or more variables and is none of these. Gates
// (OR, AND, noisy-OR, counts) stay gates, over their free variables; expand_gates() makes tables of them for
// algorithms that know nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "drover/model/model.hpp"

namespace drover {

struct Graph {
  std::vector<std::uint32_t> cardinalities;  ///< of the free variables, each >= 2
  SharedArray<std::size_t> unary_offsets;    ///< size + 1 entries
  SharedArray<double> unary;                 ///< log unary of every free variable; minus infinity allowed
  SpinPairs spin_pairs;
  PottsPairs potts_pairs;
  Tables tables;
  Gates gates;
  double log_constant = 0;

  SharedArray<VariableId> model_variable;   ///< free variable -> variable of the model
  SharedArray<VariableId> free_variable;    ///< variable of the model -> free variable, or no_variable
  std::vector<Value> clamped_value;         ///< per variable of the model; meaningful where it is not free
  std::vector<std::string> variable_names;  ///< of the model's variables, for messages; may be empty

  std::size_t size() const { return cardinalities.size(); }
  std::size_t model_size() const { return free_variable.size(); }
  std::span<const double> unary_of(VariableId variable) const {
    return {unary.data() + unary_offsets[variable], unary_offsets[variable + 1] - unary_offsets[variable]};
  }
  std::size_t pair_count() const { return spin_pairs.size() + potts_pairs.size(); }

  bool is_binary() const;             ///< every free variable has two states
  bool is_pairwise() const;           ///< no factor has more than two variables
  bool is_spin() const;               ///< binary, and nothing but finite unaries and spin pairs
  bool is_strictly_positive() const;  ///< no hard zero anywhere
  std::uint32_t max_cardinality() const;
  /// The name of a free variable, for messages.
  std::string name(VariableId free) const;
};

/// Whether tables of pairs are turned into spin and Potts pairs. Where bounds are worked out factor by
/// factor, a table as it was stated bounds better than its parts, whose fields cancel those of other factors.
enum class PairTables { recognised, kept };

/// Validates and reduces. Raises bad_data for scopes or values out of range, NaN or plus infinity,
/// contradictory evidence, and factors that are zero everywhere (named).
Graph compile(const Model& model, const Evidence& evidence = {}, PairTables pairs = PairTables::recognised);

/// log p~ of an assignment of the free variables (the constant and the clamped part included).
double log_score(const Graph& graph, std::span<const Value> free_assignment);

/// The assignment of all variables of the model that belongs to one of the free variables.
std::vector<Value> whole_assignment(const Graph& graph, std::span<const Value> free_assignment);

/// The largest gate that has a table: 2^16 entries.
inline constexpr std::size_t largest_expanded_gate = 16;
/// Whether every gate is small enough for a table.
bool can_expand_gates(const Graph& graph);
/// The same graph with a table for every gate; requires can_expand_gates().
Graph expand_gates(const Graph& graph);

/// Every factor of two or more variables as a table (gates must be small enough); for algorithms that know
/// nothing but tables.
Tables all_tables(const Graph& graph);

/// Which free variables share a factor: neighbours of v are list[offsets[v] .. offsets[v+1]), sorted,
/// distinct.
struct Adjacency {
  std::vector<std::size_t> offsets;
  std::vector<VariableId> list;
  std::span<const VariableId> of(VariableId v) const {
    return {list.data() + offsets[v], offsets[v + 1] - offsets[v]};
  }
  std::size_t size() const { return offsets.size() - 1; }
};
Adjacency adjacency(const Graph& graph);

}  // namespace drover
