// Joint distributions of pairs and sets of variables, counted from draws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/ranks.hpp"
#include "drover/methods/method.hpp"

namespace drover {

/// Counts joint states of the pairs that share a factor (options.pairs) and of the sets asked for
/// (options.joint), in up to 16 groups of chains, whose disagreement gives the standard error, unless the
/// effective sample size of the marginals gives a larger one.
class JointCounter {
 public:
  /// Raises misfit when the counts would need more than the memory limit.
  JointCounter(const Problem& problem, std::uint32_t chains);
  static bool wanted(const Problem& problem) { return problem.options().pairs || !problem.joint().empty(); }
  void count(std::uint32_t chain, std::span<const Value> x);
  /// Adds what the other ranks counted.
  void add_up(const Ranks& ranks);
  /// `share`: of the sweeps that result.diagnostics are about, those that were counted.
  void fill(MarginalsResult& result, double share = 1) const;

 private:
  std::span<const std::uint64_t> counts(std::size_t group, std::size_t set) const;

  const Graph& graph_;
  std::vector<std::vector<VariableId>> sets_;  // the pairs first
  std::size_t pairs_ = 0;
  std::vector<std::size_t> offsets_;
  std::uint32_t groups_;
  std::vector<std::uint64_t> counts_;  // (group, entry)
  std::vector<std::uint64_t> draws_;   // per group
};

}  // namespace drover
