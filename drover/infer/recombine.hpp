// Partition crossover: the best of all states that take every independent part from one of two states.
//
// Source: R. Tinos, D. Whitley, F. Chicano, Partition crossover for pseudo-Boolean optimization, FOGA 2015.
//
//   D = { v : x_v != y_v };  C_1, C_2, ... = the connected components of D in the graph;
//   score(x with y on C_1 and C_3, say) = score(x) + gain(C_1) + gain(C_3),
//   gain(C) = sum over the factors that touch C of  f(y) - f(x)
//
// No factor touches two components, as its variables are neighbours of one another; so gains add up, and x
// with every C of gain >= 0 is the best of the 2^components states between x and y: no worse than either.
// Equal parts come from y, so that a search by repeated crossover drifts along plateaus.
//
// Cost: a comparison of the two states, and the factors of the variables in which they differ.
//
// When it fails: on dense graphs, or when the states differ in most variables, D is one component, and the
// result is the better of the two.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/infer/factor_lists.hpp"

namespace drover {

/// Prepared once for a graph (which must outlive it); used from any thread, with a Room for each.
class Recombination {
 public:
  explicit Recombination(const Graph& graph);
  explicit Recombination(Graph&&) = delete;

  /// Scratch memory, kept from one call to the next.
  struct Room {
    std::vector<std::uint8_t> marks;
    std::vector<VariableId> differing;
    std::vector<VariableId> component;
  };

  struct Outcome {
    std::size_t components = 0;
    std::size_t taken = 0;  ///< of these from y
    double gain = 0;        ///< of the score, hard zeros not counted
  };

  /// Makes x the best state between x and y. Hard zeros are compared first, by number.
  Outcome improve(std::span<Value> x, std::span<const Value> y, Room& room) const;

 private:
  struct Gain;
  Gain gain_of_component(std::span<const Value> x, std::span<const Value> y, Room& room) const;

  const Graph& graph_;
  PairLists spins_;
  PairLists potts_;
  TableLists tables_;
};

}  // namespace drover
