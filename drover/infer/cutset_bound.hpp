// A lower bound of log Z by conditioning: exact sums over a part of the variables, the rest fixed.
//
// Source: R. Dechter and R. Mateescu, Cutset sampling, as in B. Bidyuk and R. Dechter, Active tuples-based
// scheme for bounding posterior beliefs, JAIR 39 (2010). For any set of distinct assignments c of the
// variables outside a block B,
//
//   log Z  >=  log sum_c Z_B(c),    Z_B(c) = sum over x_B of p~(x_B, c),
//
// because all terms are positive and none is counted twice. Z_B(c) is exact by elimination: B is what blocks
// of bounded tables leave (compile/blocks.hpp). The assignments are those of the states handed over.
//
// When it fails: where the mass is spread over very many assignments, as in weakly coupled models, a few of
// them are nothing; mean field is better there.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"
#include "drover/model/model.hpp"

namespace drover {

class CutsetBound {
 public:
  /// The largest block whose tables have at most 2^log2_entries entries is summed over. No gates.
  /// Raises stopped (interrupted) when the control ends the choice of the block.
  CutsetBound(const Graph& graph, double log2_entries, const RunControl& control = no_control());

  /// Adds the assignment that this state of the support has outside the block, unless it is counted already.
  void add(std::span<const Value> x);
  double lower() const { return lower_; }  ///< of log Z
  std::size_t assignments() const { return seen_.size(); }
  std::size_t fixed() const { return cutset_.size(); }

 private:
  const Graph& graph_;
  Model model_;
  double log2_entries_;
  std::vector<VariableId> order_;  ///< of the block
  std::vector<VariableId> cutset_;
  std::set<std::vector<Value>> seen_;
  double lower_ = log_zero;
};

}  // namespace drover
