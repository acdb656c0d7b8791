// Better states by changing one variable at a time, the best change first, and never back at once.
//
// Sources: Glover, Tabu search, 1989; Glover and Hao, The case for strategic oscillation, 2011; Vasquez and
// Hao, A logic-constrained knapsack formulation and a tabu algorithm for the daily photograph scheduling of
// an earth observation satellite, 2001.
//
// Every step makes the cheapest change of one variable, even when that costs; the value that was left is
// forbidden for some steps, unless it leads to the best state so far. A hard zero costs `penalty` while it is
// violated: after many steps with violations the penalty grows, after many without it shrinks, so that the
// search goes back and forth across the border of what is possible, where good states of constrained models
// lie. When nothing better comes for long, some variables of the best state are changed at random.
//
// Costs of all changes are kept up to date, so a step costs the values of all variables (they are compared)
// plus those of the neighbours of the one that changed.
// When it fails: models of many variables, where looking through all changes for one is a waste.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/core/run_control.hpp"
#include "drover/infer/cost_network.hpp"

namespace drover {

class TabuSearch {
 public:
  /// Keeps a reference. Values whose unary cost is infinite are never taken.
  explicit TabuSearch(const CostNetwork& network);

  /// Begins at this state, possible or not.
  void start(std::span<const Value> state);
  /// Goes on until about so many table entries are looked at; returns how many were.
  std::uint64_t run(std::uint64_t work, RandomSequence& random, const RunControl& control);

  /// The best state met since the first start; empty while none of finite cost was.
  const std::vector<Value>& best() const { return best_; }
  double best_cost() const { return best_cost_; }

 private:
  struct Change {
    VariableId variable = no_variable;
    Value value = 0;
  };

  void place(std::span<const Value> state);
  void compute_costs();
  Change choose(RandomSequence& random);
  std::uint64_t apply(const Change& change);
  void shake(RandomSequence& random);

  const CostNetwork& network_;
  std::vector<VariableId> movable_;  // more than one possible value
  std::vector<Value> state_, best_;
  // By value of a variable: what its factors cost with it, violated ones apart.
  std::vector<double> cost_;
  std::vector<std::int32_t> violated_;
  std::vector<std::uint64_t> forbidden_until_;
  double state_cost_ = 0, best_cost_ = infinite_cost, penalty_ = 1;
  std::int64_t state_violated_ = 0;
  std::uint64_t step_ = 0, last_gain_ = 0, patience_ = 0;
  std::uint32_t steps_possible_ = 0, steps_violated_ = 0;
};

}  // namespace drover
