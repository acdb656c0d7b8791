// What the methods that pass messages share: their settings, progress, and what they tell the user.
#pragma once

#include "drover/infer/belief_propagation.hpp"
#include "drover/methods/method.hpp"

namespace drover {

/// From options.messages. What is not set: sequential and undamped on forests, else flooding with damping one
/// half.
BeliefOptions belief_options(const Problem& problem, Semiring semiring, bool is_forest);

/// Empty, or that a schedule was asked for which messages do not have.
std::string why_not_schedule(const Problem& problem);

void note_resolved(const BeliefOptions& options, RunFacts& facts);

/// Reports progress and asks whether to stop; the control must outlive it.
OnIteration reporting_to(const Problem& problem, const RunControl& control);

/// Asks the control between iterations; it must outlive this.
GoOn going_on(const RunControl& control);

/// Iterations, convergence, and the warning that belongs to it.
void note_run(const BeliefPropagation& beliefs, bool is_forest, RunFacts& facts);

void warn_of_cycles(bool is_forest, RunFacts& facts);

/// Standard errors and diagnostics of samplers do not exist here.
void fill_unknown_errors(const Graph& graph, MarginalsResult& result);

/// Why messages do not fit the memory limit; empty when they do.
std::string why_not_message_memory(const Problem& problem);
/// Why messages of maxima cannot be had; empty when they can.
std::string why_not_maximum(const Problem& problem);

/// Climbs from result.assignment (iterated conditional modes); when even that breaks a hard constraint,
/// takes a state that a search finds.
void polish(const Problem& problem, BestStateResult& result);

}  // namespace drover
