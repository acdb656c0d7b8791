// Best states of spin models by cheapest cuts.
//
//   max over s of  sum_i h_i s_i + sum_ij J_ij s_i s_j  =  sum |h| + sum |J| - (cheapest cut)
//
// - Balanced models: no cycle has an odd number of negative couplings, so turning some spins round makes all
//   couplings attractive (Harary 1953). A cut costs 2 J where s_i != s_j and 2 |h| where a spin goes against
//   its field: the cheapest cut is a best state (Greig, Porteous and Seheult 1989). Exact, on any graph.
// - All others: roof duality (Hammer, Hansen and Simeone 1984; Boros and Hammer 2002; Kolmogorov and Rother
//   2007). Every spin gets a second node that stands for its opposite, with half of every cost in each copy.
//   The cut then bounds the best score, and where the two nodes of a spin are on different sides its value is
//   the same in every best state (persistency). On strongly frustrated models few spins are decided.
//
// Costs are rounded to whole numbers on a scale that uses 60 bits for their sum; `tolerance` is what that can
// do to a score.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

/// Which spins to turn round so that every coupling is attractive; none where that is impossible. The graph
/// must be a spin graph (Graph::is_spin).
std::optional<std::vector<char>> balancing_flips(const Graph& graph);

struct SpinCut {
  bool complete = false;     ///< false: the control ended it, and only `upper` is certain
  std::vector<Value> state;  ///< where decided; elsewhere the better one by its own field
  std::vector<char> decided;
  double upper = 0;  ///< no state has a higher log score
  double tolerance = 0;
};

/// A best state; `flips` are balancing_flips(). Every spin is decided when it is complete.
SpinCut balanced_cut(const Graph& graph, const std::vector<char>& flips, const RunControl& control);

/// What roof duality decides of any spin graph, looking at no more than `most_work` arcs.
SpinCut roof_duality(const Graph& graph, const RunControl& control,
                     std::uint64_t most_work = std::numeric_limits<std::uint64_t>::max());

}  // namespace drover
