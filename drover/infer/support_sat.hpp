// The support of a model as a satisfiability problem, solved by CaDiCaL.
//
// One literal "x_v = k" per live value (a single one when two values are live), one clause "some value" per
// variable, and clauses that block the zeros of every table. The zeros are first covered greedily by cubes (a
// variable that does not matter is left out), so a table of n zeros needs at most n clauses and often far
// fewer. That at most one value is chosen needs no clauses: they only hold negated values, so any value that
// is set will do.
//
// Complete, but exponential in the worst case.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drover/infer/support_search.hpp"

namespace drover {

struct SupportEncoding;  // keeps cadical.hpp out of this header

class SupportSolver {
 public:
  /// Over the live values of `search`; both references are kept.
  SupportSolver(const Graph& graph, const SupportSearch& search);
  ~SupportSolver();
  /// False when the support is empty. Random preferred values come from (seed, number).
  bool solve(std::uint64_t seed, std::uint32_t number, std::span<Value> x);

 private:
  std::unique_ptr<SupportEncoding> encoding_;
};

/// Some tables of an impossible graph that already contradict each other, few when that is found quickly;
/// empty when the effort allowed did not show any.
std::vector<std::size_t> contradicting_factors(const Graph& graph);

}  // namespace drover
