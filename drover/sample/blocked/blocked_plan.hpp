// Everything about a block that does not change while sampling: the buckets of its elimination, where their
// tables lie, which factors fill them and which variables outside the block condition those factors.
//
// Variable v, when eliminated, has a table over its clique: v itself and its parents, the variables
// eliminated later that share a table with it. Entry c * K + k belongs to x_v = k and parents' configuration
// c, in which the parent eliminated next runs fastest. Its message to the bucket of that parent has one entry
// per c.
//
// Factors wholly inside the block are summed into `constant` once. Pairs with a variable outside become
// fields; other tables with variables outside are sliced at those variables' values, per lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "drover/compile/blocks.hpp"
#include "drover/compile/graph.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

/// A pair with a variable outside the block: adds weight * x_other to the log-odds of a binary variable, or
/// weight to the log value of the state that equals x_other.
struct FieldTerm {
  VariableId other;
  float weight;
  float exp_weight;  ///< used in spin trees only
};

/// One variable of a table and the step between its values.
struct Axis {
  std::uint32_t states;
  std::int32_t step;
};

struct Outsider {
  VariableId variable;
  std::int32_t step;
};

/// A table of the graph restricted to the values outside the block; rows [row, row + entries) receive it.
struct Slice {
  std::size_t table;  ///< offset in BlockPlan::table_values
  std::uint32_t row;
  std::uint32_t entries;
  std::uint32_t first_axis, axis_count;  ///< inside the block, the fastest first
  std::uint32_t first_outsider, outsider_count;
};

/// A table (a child's message or a slice) added into a clique table. Entry e of the clique is at an index
/// that changes by jumps[first_jump + d] when digit d of e advances and all faster digits return to 0.
struct Source {
  std::uint32_t row;
  std::uint32_t first_jump;
  bool same_layout;  ///< index = e
};

struct Bucket {
  VariableId variable;
  std::uint32_t states;
  std::uint32_t configurations;  ///< of the parents
  std::size_t constant;          ///< offset in `constants`, configurations * states entries
  std::uint32_t row;             ///< of the table
  std::uint32_t message_row;     ///< meaningless without parents
  std::uint32_t field_row;
  std::uint32_t first_parent, parent_count;
  std::uint32_t first_digit;  ///< in `digits`: states of the variable and of its parents
  std::uint32_t first_field, field_count;
  std::uint32_t first_slice, slice_count;
  std::uint32_t first_source, source_count;
};

/// A binary variable of a strictly positive tree: the log-odds of x = 1 are field + `odds` [+ `odds_step`
/// when the parent is 1], and `base` is what the parent being 1 adds at x = 0.
struct SpinNode {
  VariableId variable;
  std::uint32_t parent;  ///< position in the block, or no_parent
  bool has_child;
  bool first_child;  ///< of its parent, in the order of elimination
  float odds, odds_step, base;
  float exp_odds, exp_odds_step, exp_base;
  std::uint32_t first_field, field_count;
};
inline constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();

/// Consecutive buckets that share no table with the rest of the block; chunks can run in parallel.
struct Chunk {
  std::uint32_t begin, end;  ///< positions in the order of elimination
};

struct BlockPlan {
  std::uint64_t first_site = 0;  ///< of the random numbers; position p of the block uses first_site + p
  bool spin_tree = false;        ///< `nodes` are used, `buckets` are empty
  bool small_odds = false;       ///< no log-odds beyond +-40 can occur in a spin tree at temperature 1
  std::vector<SpinNode> nodes;
  std::vector<Bucket> buckets;
  std::vector<Chunk> chunks;
  std::uint32_t rows = 0;  ///< of scratch

  std::vector<float> constants;
  std::vector<VariableId> parents;
  std::vector<std::uint32_t> parent_position;  ///< of each entry of `parents`, in the order of elimination
  std::vector<std::uint32_t> digits;
  std::vector<FieldTerm> fields;
  std::vector<Slice> slices;
  std::vector<Axis> axes;
  std::vector<Outsider> outsiders;
  std::vector<Source> sources;
  std::vector<std::int32_t> jumps;

  std::size_t size() const { return spin_tree ? nodes.size() : buckets.size(); }
};

/// Which pairs and tables touch each variable; made once per graph, for plan_block.
struct FactorsOfVariables {
  explicit FactorsOfVariables(const Graph& graph);
  struct List {
    std::vector<std::size_t> offsets;
    std::vector<std::uint32_t> factors;
  };
  List spin_pairs, potts_pairs, tables;
};

/// `all_factors` is the graph's. `first_site` numbers the random draws of the block's variables.
BlockPlan plan_block(const Graph& graph, const FactorsOfVariables& all_factors, const Block& block,
                     std::uint64_t first_site, StopCheck& check);

}  // namespace drover
