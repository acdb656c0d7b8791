// Whether single-site moves connect the support of a graph with hard zeros: the condition under which Gibbs
// sampling of one variable at a time reaches the whole distribution.
//
// Two states of the support are joined when they differ in one variable. First values that no entry of some
// table allows are removed (arc consistency); then:
//   - tables without zeros connect everything (zeros of unaries only remove values);
//   - safe values: a value of v is safe if, whenever some value of v is possible beside the other variables
//     of a factor, this one is. Any state then moves v there. Settled variables are fixed while the next safe
//     value is looked for, so if all settle in some order every state reaches the same one: connected;
//   - split tables: a move changes at most one variable of a table's scope, so a chain never leaves the
//     component of possible entries (joined where they differ in one variable) it is in. Equality, copies and
//     parities split. Two components that both occur in the support prove it broken; a greedy search looks
//     for a state in each;
//   - a small graph is decided by flood fill over its support.
// Everything else is unknown. Apart from small graphs the work is about linear in the entries of the tables.
//
// When it fails: many graphs with deterministic structure are `unknown`. That is a warning, not a verdict.
#pragma once

#include <string>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

enum class Connectivity {
  known,    ///< single-site moves connect the support
  unknown,  ///< no proof either way
  broken,   ///< they do not
};

struct ConnectivityReport {
  Connectivity connectivity = Connectivity::unknown;
  std::string reason;                 ///< a plain sentence
  std::vector<VariableId> variables;  ///< free variables that stand in the way; empty when known
};

/// `exact_log2_states`: up to this size the answer is exact.
ConnectivityReport analyse_connectivity(const Graph& graph, double exact_log2_states = 20);

}  // namespace drover
