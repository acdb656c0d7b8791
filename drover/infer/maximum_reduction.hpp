// A smaller model with the same best score: variables that few others see are maximised out, and what remains
// falls into parts that share no factor.
//
// Source: Dechter, Bucket elimination, 1999, stopped at tables of a bounded size; Larrosa, Boosting search
// with variable elimination, CP 2000.
//
//   theta_new(x_N) = max over k of ( u_v(k) + sum over factors f of v of theta_f(k, x_N) )
//
// where N are the neighbours of v.
//
// A variable goes when the new table has at most `largest_scope` variables and no more entries than
// max(`largest_table`, the tables it replaces); those with the fewest neighbours first. No part of the best
// score is lost, and a best state of the rest is extended to one of the whole by taking the maximising k in
// reverse order. Of other states only the best extension survives: the second best state of the whole may be
// lost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

struct ReductionOptions {
  std::size_t largest_scope = 3;
  std::size_t largest_table = 64;
  bool eliminate = true;  ///< otherwise only parts are told apart
};

class MaximumReduction {
 public:
  /// What remains of one connected part; scores of the parts and constant() add up to the score.
  struct Part {
    Model model;
    std::vector<VariableId> variables;  ///< of the graph
  };

  /// Gates must be small enough for tables.
  explicit MaximumReduction(const Graph& graph, const ReductionOptions& options = {});

  const std::vector<Part>& parts() const { return parts_; }
  double constant() const { return constant_; }
  std::size_t eliminated() const { return steps_.size(); }
  /// A state of the graph: the variables of parts as they are in `state`, the others at their best given
  /// those.
  void extend(std::span<Value> state) const;

 private:
  struct Factor {
    std::vector<VariableId> scope;
    std::vector<double> values;
  };
  struct Step {
    VariableId variable;
    std::vector<double> unary;
    std::vector<Factor> factors;
  };
  class Elimination;
  void weigh(const Step& step, std::span<const Value> state, std::vector<double>& weights) const;

  std::vector<std::uint32_t> cardinalities_;
  std::vector<Part> parts_;
  std::vector<Step> steps_;
  double constant_ = 0;
};

}  // namespace drover
