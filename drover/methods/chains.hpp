// What all methods that run Markov chains share: how many chains and sweeps, the run with its checkpoints,
// and the way from a SegmentStore to a result.
#pragma once

#include <memory>
#include <string>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/infer/support.hpp"
#include "drover/methods/method.hpp"
#include "drover/run/chain_run.hpp"

namespace drover {

/// The options that every method with chains heeds, for its entry in the registry.
inline const std::string chain_option_names =
    "chains sweeps burn-in thin samples target-rhat target-mcse pairs joint check checkpoint resume";

/// Sweeps of burn-in where none are asked for: about 10^9 updates, between 100 and 1000 sweeps.
std::uint64_t usual_burn_in(const Problem& problem, std::uint32_t chains);

/// Sweeps, burn-in and thinning for the task. Defaults depend on the size of the work only: the usual
/// burn-in, then twice as many sweeps that count. Raises usage for options that contradict one another.
ChainOptions chain_options(const Problem& problem, Task task, std::uint32_t default_chains);

/// options.samples, or 1000.
std::uint64_t wanted_samples(const InferenceOptions& options);

/// Chains for a `sample` task when the user named only the number of draws: at most `most`, dividing it
/// evenly.
std::uint32_t chains_for_samples(std::uint64_t samples, std::uint32_t most);

/// States to start chains from: empty when the model is strictly positive and any state will do.
std::vector<std::vector<Value>> starting_states(const Problem& problem, std::uint32_t chains);

/// Reads and writes the checkpoint the options name. A first line pins what must not change between the two
/// runs, a second has size and checksum of what follows.
class Checkpoint {
 public:
  Checkpoint(const Problem& problem, std::string_view method, Task task, const ChainOptions& options);
  bool wanted() const { return !path_.empty(); }
  void save(const std::string& payload) const;
  /// Raises usage when there is no checkpoint to resume, bad_data when it is of another run.
  std::string load() const;

 private:
  std::string path_;
  std::string header_;
};

/// Fills marginals, errors, R-hat, ESS, convergence and their warnings from the store.
void fill_marginals(const Graph& graph, const SegmentStore& store, MarginalsResult& result);
/// The same for a store of means, one entry per variable.
void fill_means(const SegmentStore& store, MarginalsResult& result);
/// Raises misfit when the sums and means of so many entries would exceed the memory limit.
void check_estimate_memory(const Problem& problem, std::size_t entries, std::uint32_t lanes,
                           const ChainOptions& options);
void fill_trace(const ScoreTrace& trace, std::uint32_t chains, std::uint64_t burn_in,
                MarginalsResult& result);
Trace score_trace(const ScoreTrace& trace, std::uint32_t chains);
void warn_if_not_converged(const Diagnostics& diagnostics, RunFacts& facts);
/// Says so when the chains cannot share options.samples evenly.
void warn_of_rounded_samples(const InferenceOptions& options, SampleResult& result);
/// Compares with exact marginals and notes the largest difference under details.check.
void check_against_exact(const Problem& problem, MarginalsResult& result,
                         const RunControl& control = no_control());
/// Raises usage when a resumed run is asked for another burn-in than it had.
void check_resumed_burn_in(const InferenceOptions& options, std::uint64_t burn_in);
/// States the chains, sweeps and burn-in that a run of these options has.
void note_resolved(const ChainOptions& options, RunFacts& facts);

/// Counts joint states of the pairs that share a factor (options.pairs) and of the sets asked for
/// (options.joint), in up to 16 groups of chains, whose disagreement gives the standard error.
class JointCounter {
 public:
  /// Raises misfit when the counts would need more than the memory limit.
  JointCounter(const Problem& problem, std::uint32_t chains);
  static bool wanted(const Problem& problem) { return problem.options().pairs || !problem.joint().empty(); }
  void count(std::uint32_t chain, std::span<const Value> x);
  void fill(MarginalsResult& result) const;

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

template <Kernel K>
void fill_facts(const ChainRun<K>& run, RunFacts& facts) {
  facts.chains = run.options().chains;
  facts.burn_in = run.burn_in();
  facts.sweeps = run.sweeps_done() - run.burn_in();
  facts.updates = run.updates();
  if (run.shortened_burn_in())
    facts.warnings.push_back("the time limit came near before burn-in had ended: it was cut to " +
                             counted(facts.burn_in, "sweep"));
}

/// Runs to the end, saving checkpoints on the way. `on_resume` hears how many draws each chain made before.
template <Kernel K>
void run_with_checkpoints(ChainRun<K>& run, const Problem& problem, std::string_view method, Task task,
                          const RunControl& control, const DrawCallback& on_draw,
                          const std::function<void(std::uint64_t draws)>& on_resume = {}) {
  const Checkpoint checkpoint(problem, method, task, run.options());
  const InferenceOptions& asked = problem.options();
  if (asked.checkpoint.resume) {
    if (JointCounter::wanted(problem))
      throw OptionError(asked.pairs ? "pairs" : "joint", "true",
                        "no resumed run: the checkpoint does not hold joint distributions");
    LoadArchive archive(checkpoint.load());
    run.visit(archive);
    if (!archive.at_end())
      throw Error(ErrorKind::bad_data, asked.checkpoint.file + ": longer than a checkpoint");
    check_resumed_burn_in(asked, run.planned_burn_in());
    if (on_resume) on_resume(run.draws());
  }
  const auto save = [&] {
    SaveArchive archive;
    run.visit(archive);
    checkpoint.save(archive.bytes());
  };
  // Saving may be slow: the next one is due some time after this one's end, and after as much work as it
  // took.
  constexpr double seconds_between = 30;
  double last_end = control.seconds(), next_save = last_end + seconds_between;
  RunControl until_save(control);
  if (checkpoint.wanted()) until_save.stop_when([&] { return control.seconds() >= next_save; });
  do {
    run.run(until_save, on_draw);
    if (!checkpoint.wanted()) break;
    const double begin = control.seconds();
    save();
    last_end = control.seconds();
    next_save = last_end + std::max(seconds_between, last_end - begin);
  } while (!run.finished() && !control.should_stop());
  if (run.draws() == 0) fail_stopped(control, "sampling");
  run.finish();
}

struct IgnoreState {
  template <class State>
  void operator()(const State&) const {}
};

/// `see_state` is shown the final State of every batch, for methods that keep counts in it.
template <Kernel K, class SeeState = IgnoreState>
MarginalsResult marginals_by_chains(const Problem& problem, std::string_view method, const K& kernel,
                                    const ChainOptions& options, const RunControl& control,
                                    SeeState see_state = {}) {
  if (options.state_values.empty() || !SumsValues<K>)
    check_estimate_memory(problem, kernel.entry_count(), kernel.lanes(), options);
  ChainRun<K> run(kernel, options);
  if (!problem.start().empty()) run.start_at(problem.start());
  std::unique_ptr<JointCounter> joints;
  DrawCallback on_draw;
  if (JointCounter::wanted(problem)) {
    joints = std::make_unique<JointCounter>(problem, options.chains);
    on_draw = [&](std::uint32_t chain, std::span<const Value> x, double) { joints->count(chain, x); };
  }
  run_with_checkpoints(run, problem, method, Task::marginals, control, on_draw);
  for (const auto& state : run.states()) see_state(state);

  MarginalsResult result;
  note_resolved(options, result);
  fill_facts(run, result);
  if (run.sums_values())
    fill_means(run.store(), result);
  else
    fill_marginals(problem.graph(), run.store(), result);
  fill_trace(run.trace(), options.chains, run.burn_in(), result);
  result.rhat_over_time.series.resize(1);
  for (const ConvergencePoint& point : run.convergence()) {
    result.rhat_over_time.sweep.push_back(static_cast<double>(point.sweep));
    result.rhat_over_time.series[0].push_back(point.rhat_max);
  }
  result.best_state = run.best_state();
  result.best_log_score = run.best_log_score();
  if (joints) joints->fill(result);
  if (problem.options().check && !run.sums_values()) check_against_exact(problem, result, control);
  return result;
}

template <Kernel K, class SeeState = IgnoreState>
SampleResult sample_by_chains(const Problem& problem, std::string_view method, const K& kernel,
                              const ChainOptions& options, const RunControl& control, DrawConsumer& consumer,
                              SeeState see_state = {}) {
  ChainRun<K> run(kernel, options);
  if (!problem.start().empty()) run.start_at(problem.start());
  consumer.begin(options.chains);
  SampleResult result;
  const DrawCallback on_draw = [&](std::uint32_t chain, std::span<const Value> x, double log_score) {
    consumer.take(chain, x, log_score);
    ++result.draws;
  };
  run_with_checkpoints(run, problem, method, Task::sample, control, on_draw,
                       [&](std::uint64_t draws) { consumer.resume(draws); });
  for (const auto& state : run.states()) see_state(state);
  note_resolved(options, result);
  fill_facts(run, result);
  result.diagnostics = worst_entry(run.store());
  result.scores = score_trace(run.trace(), options.chains);
  warn_if_not_converged(result.diagnostics, result);
  warn_of_rounded_samples(problem.options(), result);
  return result;
}

/// The two tasks of a sampler by chains. An Adapter says how to make its kernel, and nothing twice:
///
///   static std::uint32_t default_chains(const Problem&);
///   template <class Go>  // go(run_name, kernel[, see_state]) runs the chains and returns the result
///   static auto run(const Problem&, const ChainOptions&, const RunControl&, Go go);
template <class Adapter>
MarginalsResult chain_marginals(const Problem& problem, const RunControl& control) {
  const ChainOptions options = chain_options(problem, Task::marginals, Adapter::default_chains(problem));
  return Adapter::run(problem, options, control,
                      [&](std::string_view name, const auto& kernel, auto... see_state) {
                        return marginals_by_chains(problem, name, kernel, options, control, see_state...);
                      });
}

template <class Adapter>
SampleResult chain_sample(const Problem& problem, const RunControl& control, DrawConsumer& consumer) {
  const ChainOptions options =
      chain_options(problem, Task::sample,
                    chains_for_samples(wanted_samples(problem.options()), Adapter::default_chains(problem)));
  return Adapter::run(
      problem, options, control, [&](std::string_view name, const auto& kernel, auto... see_state) {
        return sample_by_chains(problem, name, kernel, options, control, consumer, see_state...);
      });
}

/// The registry's entry for a sampler by chains; `options` are those it heeds besides the chains'.
template <class Adapter>
Method chain_method(std::string_view name, std::string_view summary, std::string_view source,
                    std::string (*why_not)(const Problem&, Task), const std::string& options = "") {
  return {name,
          summary,
          source,
          why_not,
          chain_marginals<Adapter>,
          nullptr,
          nullptr,
          chain_sample<Adapter>,
          chain_option_names + (options.empty() ? "" : " " + options)};
}

}  // namespace drover
