// The way from chains that have run to a result: marginals with their errors, traces, facts, warnings.
#pragma once

#include "drover/methods/method.hpp"
#include "drover/run/chain_run.hpp"

namespace drover {

/// States the chains, sweeps and burn-in that a run of these options has.
void note_resolved(const ChainOptions& options, RunFacts& facts);
/// Chains, sweeps, burn-in and updates of a run, and a warning when the time limit cut its burn-in.
void fill_facts(const ChainRun& run, RunFacts& facts);

/// Fills marginals, errors, convergence and their warnings from the store; R-hat and ESS of every variable where that is
/// wanted.
void fill_marginals(const Graph& graph, const SegmentStore& store, bool every_diagnosis,
                    MarginalsResult& result);
/// The same for a store of means, one entry per variable.
void fill_means(const SegmentStore& store, MarginalsResult& result);
void fill_trace(const ScoreTrace& trace, std::uint32_t chains, std::uint64_t burn_in,
                MarginalsResult& result);
Trace score_trace(const ScoreTrace& trace, std::uint32_t chains);
inline constexpr std::string_view advice_to_change =
    "take more sweeps or try another method such as tempering";
void warn_if_not_converged(const Diagnostics& diagnostics, RunFacts& facts);
/// Says so when the chains cannot share options.samples evenly.
void warn_of_rounded_samples(const InferenceOptions& options, SampleResult& result);
/// Compares with exact marginals and notes the largest difference under details.check.
void check_against_exact(const Problem& problem, MarginalsResult& result,
                         const RunControl& control = no_control());

}  // namespace drover
