// What all methods that run Markov chains share: how many chains and sweeps, the run with its checkpoints,
// and the way from a SegmentStore to a result.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/infer/support.hpp"
#include "drover/methods/live_chains.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/sweep_cost.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/run/checkpoint.hpp"
#include "drover/run/draw_journal.hpp"

namespace drover {

/// The options that every method with chains heeds, for its entry in the registry.
inline const std::string chain_option_names =
    "chains sweeps burn-in thin samples target-rhat target-mcse pairs joint check checkpoint "
    "checkpoint-every resume";

/// Sweeps of burn-in where none are asked for: the work of about 10^9 updates of a spin, between 100 and 1000
/// sweeps; fewer than 100, but at least 30, where an update costs more. `update_cost` is in updates of a
/// spin, by a rough count: it decides how long a default run of a large model takes, and nothing else.
std::uint64_t usual_burn_in(const Problem& problem, std::uint32_t chains, double update_cost = 1);

/// Sweeps, burn-in and thinning for the task. Defaults depend on the size of the work only: the usual
/// burn-in, then twice as many sweeps that count. Raises usage for options that contradict one another.
ChainOptions chain_options(const Problem& problem, Task task, std::uint32_t default_chains,
                           double update_cost = 1);

/// options.samples, or 1000.
std::uint64_t wanted_samples(const InferenceOptions& options);

/// Chains for a `sample` task when the user named only the number of draws: at most `most`, dividing it
/// evenly.
std::uint32_t chains_for_samples(std::uint64_t samples, std::uint32_t most);

/// States to start chains from: empty when the model is strictly positive and any state will do.
std::vector<std::vector<Value>> starting_states(const Problem& problem, std::uint32_t chains);

/// What must not change between two parts of a run, as one line.
std::string run_line(const Problem& problem, std::string_view method, Task task, const ChainOptions& options);
/// The same for what runs no chains; `settings` in words.
std::string run_line(const Problem& problem, std::string_view method, Task task, std::string_view settings);

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

/// The run as a checkpoint has it, on rank 0.
template <Kernel K>
SaveArchive saved(ChainRun<K>& run) {
  SaveArchive archive;
  if (run.ranks().size() == 1) {
    run.visit(archive);
  } else {
    const bool is_first = run.ranks().is_first();
    ChainRun<K> whole = run;
    whole.gather(true);
    if (is_first) whole.visit(archive);
  }
  return archive;
}

/// Runs to the end, saving checkpoints on the way, which rank 0 does. With `keep_draws` those that on_draw
/// hears belong to the checkpoint: a run that goes on hands all of them to it again.
template <Kernel K>
void run_with_checkpoints(ChainRun<K>& run, const Problem& problem, std::string_view method, Task task,
                          const RunControl& control, const DrawCallback& on_draw, bool keep_draws = false) {
  const InferenceOptions& asked = problem.options();
  const Ranks& ranks = run.ranks();
  const std::string line = run_line(problem, method, task, run.options());
  const bool wanted = !asked.checkpoint.file.empty();
  Checkpoint checkpoint(ranks.is_first() ? asked.checkpoint : Checkpointing{}, line, control);
  std::optional<DrawJournal> journal;
  if (checkpoint.wanted() && keep_draws)
    journal.emplace(asked.checkpoint.file + ".draws", line, problem.graph().size(),
                    problem.graph().max_cardinality() > 256);
  DrawCallback take = on_draw;
  if (journal)
    take = [&](std::uint32_t chain, std::span<const Value> x, double log_score) {
      journal->append(x, log_score);
      on_draw(chain, x, log_score);
    };
  if (asked.checkpoint.resume) {
    if (JointCounter::wanted(problem))
      throw OptionError(asked.pairs ? "pairs" : "joint", "true",
                        "no resumed run: the checkpoint does not hold joint distributions");
    std::string content;
    if (ranks.is_first()) content = checkpoint.load();
    ranks.broadcast(content);
    LoadArchive archive(std::move(content));
    {
      ChainRun<K> whole(run.kernel(), run.options());
      whole.visit(archive);
      run.take_part_of(std::move(whole));
    }
    DrawJournal::Mark mark;
    if (wanted && keep_draws) mark.visit(archive);
    if (!archive.at_end())
      throw Error(ErrorKind::bad_data, asked.checkpoint.file + ": longer than a checkpoint");
    check_resumed_burn_in(asked, run.planned_burn_in());
    std::uint32_t chain = 0;
    if (journal)
      journal->resume(mark, [&](std::span<const Value> x, double log_score) {
        on_draw(chain, x, log_score);
        chain = (chain + 1) % run.options().chains;
      });
  } else if (journal) {
    journal->begin();
  }
  RunControl until_save(control);
  until_save.stop_when([&] { return checkpoint.is_due(); });
  do {
    run.run(until_save, take, !keep_draws);
    if (!wanted) break;
    SaveArchive archive = saved(run);
    if (journal) {
      DrawJournal::Mark mark = journal->mark();
      mark.visit(archive);
      checkpoint.save(archive.take(), [&] { journal->sync(); });
    } else if (checkpoint.wanted()) {
      checkpoint.save(archive.take());
    }
  } while (!run.finished() && ranks.vote(control.should_stop() ? 1 : 0) == 0);
  checkpoint.wait();
  if (run.draws() == 0) fail_stopped(control, "sampling");
  run.finish();
}

struct IgnoreTotals {
  template <class Totals>
  void operator()(const Totals&) const {}
};

/// What a run that has ended says of the marginals.
template <Kernel K>
MarginalsResult marginals_of(const ChainRun<K>& run, const Problem& problem) {
  const ChainOptions& options = run.options();
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
  return result;
}

/// `see_totals` hears what the sweeps told (TotalsOf<K>), before the result is made. Where several ranks
/// share the run, rank 0 has the result and the others nothing.
template <Kernel K, class SeeTotals = IgnoreTotals>
MarginalsResult marginals_by_chains(const Problem& problem, std::string_view method, const K& kernel,
                                    const ChainOptions& options, const RunControl& control,
                                    SeeTotals see_totals = {}) {
  if (options.state_values.empty() || !SumsValues<K>)
    check_estimate_memory(problem, kernel.entry_count(), kernel.lanes(), options);
  ChainRun<K> run(kernel, options, control.ranks());
  if (!problem.start().empty()) run.start_at(problem.start());
  std::unique_ptr<JointCounter> joints;
  DrawCallback on_draw;
  if (JointCounter::wanted(problem)) {
    joints = std::make_unique<JointCounter>(problem, options.chains);
    on_draw = [&](std::uint32_t chain, std::span<const Value> x, double) { joints->count(chain, x); };
  }
  run_with_checkpoints(run, problem, method, Task::marginals, control, on_draw);
  run.gather(false);
  if (joints) joints->add_up(control.ranks());
  if (!control.ranks().is_first()) return {};
  see_totals(run.totals());

  MarginalsResult result = marginals_of(run, problem);
  if (joints) joints->fill(result);
  if (problem.options().check && !run.sums_values()) check_against_exact(problem, result, control);
  return result;
}

template <Kernel K, class SeeTotals = IgnoreTotals>
SampleResult sample_by_chains(const Problem& problem, std::string_view method, const K& kernel,
                              const ChainOptions& options, const RunControl& control, DrawConsumer& consumer,
                              SeeTotals see_totals = {}) {
  ChainRun<K> run(kernel, options, control.ranks());
  if (!problem.start().empty()) run.start_at(problem.start());
  if (control.ranks().is_first()) consumer.begin(options.chains);
  SampleResult result;
  const DrawCallback on_draw = [&](std::uint32_t chain, std::span<const Value> x, double log_score) {
    consumer.take(chain, x, log_score);
    ++result.draws;
  };
  run_with_checkpoints(run, problem, method, Task::sample, control, on_draw, true);
  run.gather(false);
  if (!control.ranks().is_first()) return {};
  see_totals(run.totals());
  note_resolved(options, result);
  fill_facts(run, result);
  result.diagnostics = worst_entry(run.store());
  result.converged = is_converged(result.diagnostics);
  result.scores = score_trace(run.trace(), options.chains);
  warn_if_not_converged(result.diagnostics, result);
  warn_of_rounded_samples(problem.options(), result);
  return result;
}

/// The two tasks of a sampler by chains. An Adapter says how to make its kernel, and nothing twice:
///
///   static std::uint32_t default_chains(const Problem&);
///   static double update_cost(const Problem&);  // as in usual_burn_in(); may be left out: 1
///   template <class Go>  // go(run_name, kernel[, see_totals]) runs the chains and returns the result
///   static auto run(const Problem&, const ChainOptions&, const RunControl&, Go go);
template <class Adapter>
double update_cost_of(const Problem& problem) {
  if constexpr (requires { Adapter::update_cost(problem); })
    return Adapter::update_cost(problem);
  else
    return 1;
}

template <class Adapter>
MarginalsResult chain_marginals(const Problem& problem, const RunControl& control) {
  const ChainOptions options = chain_options(problem, Task::marginals, Adapter::default_chains(problem),
                                             update_cost_of<Adapter>(problem));
  return Adapter::run(problem, options, control,
                      [&](std::string_view name, const auto& kernel, auto... see_totals) {
                        return marginals_by_chains(problem, name, kernel, options, control, see_totals...);
                      });
}

template <class Adapter>
SampleResult chain_sample(const Problem& problem, const RunControl& control, DrawConsumer& consumer) {
  const ChainOptions options =
      chain_options(problem, Task::sample,
                    chains_for_samples(wanted_samples(problem.options()), Adapter::default_chains(problem)),
                    update_cost_of<Adapter>(problem));
  return Adapter::run(
      problem, options, control, [&](std::string_view name, const auto& kernel, auto... see_totals) {
        return sample_by_chains(problem, name, kernel, options, control, consumer, see_totals...);
      });
}

template <Kernel K>
class LiveKernel : public LiveChains {
 public:
  LiveKernel(const Problem& problem, std::string_view method, const K& kernel, const ChainOptions& options)
      : problem_(problem), kernel_(kernel), options_(options) {
    run_.emplace(kernel, options);
    size_ = drover::sweep_size(problem.graph());
    bool spins = problem.graph().is_spin();
    if constexpr (requires { kernel.blocks(); }) {
      spins &= kernel.blocks().max_entries <= 4;  // trees of spins have code of their own
      size_.entries = 0;
      for (const auto& block : kernel.blocks().list)
        size_.entries += static_cast<double>(block.total_entries);
      size_.entries /= static_cast<double>(kernel.blocks().round_ends.size());
    }
    if constexpr (requires { kernel.ladder(); }) replicas_ = static_cast<double>(kernel.ladder().rungs());
    work_per_sweep_ =
        sweep_cost(method.substr(0, method.find(' ')), spins, size_) * replicas_ * options.chains;
  }

  std::uint32_t chains() const override { return options_.chains; }
  void start_at(std::uint32_t chain, std::span<const Value> x) override { run_->start_at(chain, x); }
  void run_to(std::uint64_t sweeps, const RunControl& control) override {
    run_->extend(std::max(sweeps, run_->planned_burn_in()) - run_->planned_burn_in());
    run_->run(control);
  }
  void discard_before(std::uint64_t sweep) override { run_->discard_before(sweep); }
  void read(std::uint32_t chain, std::span<Value> x) const override {
    const std::uint32_t lanes = kernel_.lanes();
    kernel_.read(run_->states()[chain / lanes], chain % lanes, x);
  }
  std::uint64_t sweeps_done() const override { return run_->sweeps_done(); }
  std::uint64_t draws() const override { return run_->draws(); }
  const SegmentStore& store() const override { return run_->store(); }
  double work_per_sweep() const override { return work_per_sweep_; }
  SweepSize sweep_size() const override { return size_; }
  double replicas() const override { return replicas_; }
  std::span<const Value> best_state() const override { return run_->best_state(); }
  double best_log_score() const override { return run_->best_log_score(); }
  MarginalsResult result() override {
    run_->finish();
    return marginals_of(*run_, problem_);
  }
  void release() override { run_.reset(); }

  /// Null once released.
  const ChainRun<K>* run() const { return run_ ? &*run_ : nullptr; }

 private:
  const Problem& problem_;
  const K& kernel_;
  ChainOptions options_;
  std::optional<ChainRun<K>> run_;
  SweepSize size_;
  double replicas_ = 1;
  double work_per_sweep_ = 0;
};

/// Makes the sampler's kernel and its chains, hands them to `use`, and returns what there is to say of them
/// when it comes back.
template <class Adapter>
RunFacts enter_chains(const Problem& problem, const ChainOptions& asked, const RunControl& control,
                      const UseChains& use) {
  ChainOptions options = asked;
  if (options.chains == 0) options.chains = Adapter::default_chains(problem);
  return Adapter::run(problem, options, control,
                      [&](std::string_view name, const auto& kernel, auto... see_totals) {
                        check_estimate_memory(problem, kernel.entry_count(), kernel.lanes(), options);
                        LiveKernel live(problem, name, kernel, options);
                        use(live);
                        RunFacts facts;
                        if (const auto* run = live.run()) {
                          (see_totals(run->totals()), ...);
                          fill_facts(*run, facts);
                        }
                        return facts;
                      });
}

/// The registry's entry for a sampler by chains; `options` are those it heeds besides the chains'.
template <class Adapter>
Method chain_method(std::string_view name, std::string_view summary, std::string_view source,
                    std::string (*why_not)(const Problem&, Task), const std::string& options = "") {
  Method method{name,
                summary,
                source,
                why_not,
                chain_marginals<Adapter>,
                nullptr,
                nullptr,
                chain_sample<Adapter>,
                chain_option_names + (options.empty() ? "" : " " + options)};
  method.enter = enter_chains<Adapter>;
  method.shared = {Task::marginals, Task::sample};
  return method;
}

}  // namespace drover
