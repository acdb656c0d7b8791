// Better states by large neighbourhoods: many variables at once are set to their best values given the rest.
//
// Sources: Hamze and de Freitas, From fields to trees, UAI 2004 (here with maxima); Dechter, Enhancement
// schemes: cycle cutset, 1990, with a bounded width in place of trees.
//
// Variables of a region are eliminated, those with the smallest table first and ties at random; when every
// table would be above the limit, a variable in the largest one keeps its value and leaves the graph. What
// was eliminated then gets a best joint state given what kept its value, exactly, so no step makes the state
// worse. On a grid with tables of 2^12 entries nine variables of ten move at once. A step costs as many table
// entries as its tables have.
//
// When it fails: on dense graphs with many values the neighbourhoods are small.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/infer/cost_network.hpp"

namespace drover {

class TreeNeighbourhoods {
 public:
  /// Keeps a reference.
  explicit TreeNeighbourhoods(const CostNetwork& network);

  struct Step {
    double gain = 0;            ///< of cost
    std::size_t variables = 0;  ///< that could move
    std::uint64_t work = 0;     ///< table entries
  };
  /// Improves `state`, or moves it to one of equal cost. `largest_region` bounds how many variables are
  /// looked at.
  Step improve(std::span<Value> state, RandomSequence& random, double largest_table,
               std::size_t largest_region);

 private:
  void pick_region(RandomSequence& random, std::size_t largest);
  void plan(RandomSequence& random, double largest_table);
  std::uint64_t solve(std::span<Value> state);

  const CostNetwork& network_;
  std::vector<VariableId> region_;
  std::vector<std::uint32_t> place_;  // in region_, else no_variable; later in order_
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<VariableId> order_;
  std::vector<std::vector<std::uint32_t>> scopes_;  // by place in order_: later places its elimination joins
};

}  // namespace drover
