// Whether single-site moves connect the support of a graph with hard zeros: the condition under which Gibbs
// sampling of one variable at a time reaches the whole distribution.
//
// Two states of the support are joined when they differ in one variable. What is known:
//   - strictly positive tables: every state is possible, so all are connected (zeros of unaries only remove
//     values);
//   - a small graph: flood fill over the support decides exactly;
//   - safe values: if every variable has a value that no factor forbids, whatever the other variables of the
//     factor are, any state moves one variable at a time to the state of all safe values. The test is refined
//     to an order: a variable whose value is already fixed to its safe value forbids nothing else, so the
//     variables settle one after the other and a value need only be safe given those settled before;
//   - broken: a factor in which a variable has two possible values, and each value of it is tied to its own
//     values of another variable (as in equality, or any one-to-one table), when both occur in the support.
// Everything else is unknown. The work is linear in the entries of the tables, apart from the small graphs.
//
// When it fails: most graphs with deterministic structure are 'unknown'; this is a warning, not a verdict.
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
