// What the methods that pass messages share: their settings, progress, and what they tell the user.
#pragma once

#include "drover/infer/belief_propagation.hpp"
#include "drover/methods/method.hpp"

namespace drover {

/// From --schedule, --damping and --iterations; raises usage for a wrong schedule. Without them: sequential
/// and undamped on forests, else flooding with damping one half.
BeliefOptions belief_options(const Problem& problem, Semiring semiring, bool is_forest);

/// Reports progress and asks whether to stop; the monitor must outlive it.
OnIteration reporting_to(const Problem& problem, const Monitor& monitor);

/// Asks the monitor between iterations; it must outlive this.
GoOn going_on(const Monitor& monitor);

/// Iterations, convergence, and the warning that belongs to it.
void note_run(const BeliefPropagation& beliefs, bool is_forest, RunFacts& facts);

void warn_of_cycles(bool is_forest, RunFacts& facts);

/// Standard errors and diagnostics of samplers do not exist here.
void fill_unknown_errors(MarginalsResult& result);

/// Why messages of maxima cannot be had; empty when they can.
std::string why_not_maximum(const Problem& problem);

/// Climbs from result.assignment (iterated conditional modes); when even that breaks a hard constraint,
/// takes a state that a search finds.
void polish(const Problem& problem, BestStateResult& result);

}  // namespace drover
