// A best state of one connected model with its proof, by several ways that help one another.
//
//   dives    depth-first searches under a guessed limit of the cost, which grows until a state is found: as
//            strong a propagation as if a good state were known (constraint models are solved here)
//   bound    sequential reweighting: a bound near the linear relaxation's, and costs placed where they prune
//   search   hybrid best-first branch and bound: the proof
//   around   branch and bound with most variables fixed at the best state, more or fewer as that succeeds
//   trees    large neighbourhoods of bounded width, solved exactly
//   changes  tabu search over changes of one variable: a good state within moments, which all else prunes by
//   others   states from elsewhere, such as annealing, offered by the caller
//
// Small models are solved at once by the junction tree. Every way works with the best state and the bound of
// all; after the first three they take turns, each with work in proportion to its success. Work is counted in
// table entries, so that the run depends on the seed and the work allowed alone; a deadline can end it
// anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

class BestStateSearch {
 public:
  /// Keeps a reference. The tables of pairs should be kept (PairTables); gates must be small enough for
  /// tables.
  BestStateSearch(const Graph& graph, std::uint64_t seed, std::size_t memory_limit_bytes);
  ~BestStateSearch();
  BestStateSearch(BestStateSearch&&) noexcept;

  /// Works on until proven, or so much work is done, or the control says stop.
  void run(std::uint64_t work, const RunControl& control);
  /// Tells of a state found elsewhere; true when it is the best so far.
  bool offer(std::span<const Value> state);

  bool proven() const;
  bool has_state() const;
  const std::vector<Value>& state() const;
  double log_score() const;
  /// No state has a higher log score.
  double upper() const;
  /// What rounding of costs can do to scores and proofs (CostNetwork); 0 for a junction tree.
  double tolerance() const;
  /// Of what was done, and by whom the best state was found.
  std::uint64_t work() const;
  std::uint64_t nodes() const;
  std::string found_by() const;
  /// The names of those that a proof rests on.
  std::string proven_by() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
