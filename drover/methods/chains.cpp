#include "drover/methods/chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/version.hpp"
#include "drover/methods/joint_counter.hpp"
#include "drover/run/checkpoint.hpp"
#include "drover/run/draw_journal.hpp"

namespace drover {

std::uint32_t chains_for_samples(std::uint64_t samples, std::uint32_t most) {
  for (std::uint32_t chains = most; chains > 1; --chains)
    if (samples % chains == 0 && samples / chains >= 50) return chains;
  return 1;
}

std::uint64_t wanted_samples(const InferenceOptions& options) {
  return options.samples.value_or(1000);
}

std::uint64_t usual_burn_in(const Problem& problem, std::uint32_t chains, double update_cost) {
  const double per_sweep = static_cast<double>(std::max<std::size_t>(1, problem.graph().size())) * chains;
  const double least = std::clamp(100 / update_cost, 30.0, 100.0);
  return static_cast<std::uint64_t>(std::clamp(1e9 / (per_sweep * update_cost), least, 1000.0));
}

ChainOptions chain_options(const Problem& problem, Task task, std::uint32_t default_chains,
                           double update_cost) {
  const InferenceOptions& asked = problem.options();
  const Chains& chains = asked.chains;
  ChainOptions options;
  options.seed = asked.seed;
  options.chains = chains.count.value_or(default_chains);
  options.thin = chains.thin;
  options.target_rhat = chains.target_rhat.value_or(0);
  options.target_mcse = chains.target_mcse.value_or(0);
  const std::uint64_t usual = usual_burn_in(problem, options.chains, update_cost);
  if (task == Task::marginals) options.state_values = asked.state_values;
  options.burn_in = chains.burn_in.value_or(usual);

  const bool by_time = problem.control().has_time_limit();
  if (task == Task::sample && asked.samples && chains.sweeps)
    throw OptionError("samples", std::to_string(*asked.samples),
                      "no number of sweeps beside it: either says how long to run");
  if (chains.sweeps && chains.thin > *chains.sweeps)
    throw OptionError("thin", std::to_string(chains.thin),
                      fmt::format("at most {}: it keeps none of the sweeps", *chains.sweeps));
  if (task == Task::sample && asked.samples) {
    options.sweeps = (*asked.samples + options.chains - 1) / options.chains * options.thin;
  } else if (chains.sweeps) {
    options.sweeps = *chains.sweeps;
  } else if (by_time || chains.target_rhat || chains.target_mcse) {
    options.sweeps = ChainOptions::unlimited;
    if (!chains.burn_in && by_time) options.burn_in = ChainOptions::unlimited;
    // A time limit is no duration: marginals that are good end. Joints are counted while the run goes on, so that
    // their burn-in cannot be found out afterwards.
    if (by_time && task == Task::marginals) {
      if (!chains.target_rhat && !chains.target_mcse) options.target_rhat = 1.01;
      if (!JointCounter::wanted(problem)) options.longest_burn_in = usual;
    }
  } else {
    options.sweeps = 2 * usual * options.thin;
  }
  return options;
}

std::vector<std::vector<Value>> starting_states(const Problem& problem, std::uint32_t chains) {
  if (problem.graph().is_strictly_positive()) return {};
  return find_supported_states(problem.graph(), problem.options().seed, std::min<std::uint32_t>(chains, 64),
                               problem.control());
}

namespace {

// Over every number of the compiled model, evidence included: a checkpoint belongs to one model only.
std::uint64_t fingerprint(const Graph& graph) {
  Checksum sum;
  const auto add = [&](const auto& numbers) { sum.add(numbers.data(), numbers.size() * sizeof(numbers[0])); };
  add(graph.unary);
  for (const Pairs* pairs :
       {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)}) {
    add(pairs->first);
    add(pairs->second);
    add(pairs->couplings);
  }
  add(graph.tables.log_values);
  add(graph.tables.table_of);
  add(graph.tables.scopes);
  add(graph.clamped_value);
  add(graph.model_variable);
  return sum.value();
}

}  // namespace

std::string run_line(const Problem& problem, std::string_view method, Task task,
                     const ChainOptions& options) {
  // Nothing reads it without a checkpoint, and it takes a pass over the whole model.
  const Checkpointing& checkpoint = problem.options().checkpoint;
  if (checkpoint.file.empty() && !checkpoint.resume) return "";
  return fmt::format("{} {} {} seed {} chains {} thin {} scan {} variables {} model {:016x}\n", version(),
                     task_name(task), method, options.seed, options.chains, options.thin,
                     choice_name(problem.options().chains.scan), problem.graph().size(),
                     fingerprint(problem.graph()));
}

std::string run_line(const Problem& problem, std::string_view method, Task task, std::string_view settings) {
  return fmt::format("{} {} {} seed {} {} variables {} model {:016x}\n", version(), task_name(task), method,
                     problem.options().seed, settings, problem.graph().size(), fingerprint(problem.graph()));
}

void check_resumed_burn_in(const InferenceOptions& options, std::uint64_t burn_in) {
  const auto asked = options.chains.burn_in;
  if (!asked || *asked == burn_in) return;
  throw OptionError("burn-in", std::to_string(*asked),
                    burn_in == ChainOptions::unlimited
                        ? "the burn-in the run began with, a share of its time"
                        : fmt::format("{}: a resumed run keeps the burn-in it began with", burn_in));
}

void check_estimate_memory(const Problem& problem, std::size_t entries, std::uint32_t lanes,
                           const ChainOptions& options) {
  const std::uint64_t batches = (options.chains + lanes - 1) / lanes;
  const auto count = static_cast<double>(entries);
  // Sums of every lane, at least eight segments of eight groups or of every chain, and the result.
  const double bytes =
      count * (4.0 * static_cast<double>(batches * lanes) + 32.0 * std::min(options.chains, 8U) + 16);
  const auto limit = static_cast<double>(problem.memory_limit_bytes());
  if (bytes <= limit) return;
  throw Error(ErrorKind::misfit,
              fmt::format("the estimates of {} probabilities by {} would need {:.3g} GB, the memory limit is "
                          "{:.3g} GB: fewer chains, fewer states or a higher limit",
                          entries, counted(options.chains, "chain"), bytes / 1e9, limit / 1e9));
}

namespace {

/// The run as a checkpoint has it, on rank 0.
SaveArchive saved(ChainRun& run) {
  SaveArchive archive;
  if (run.ranks().size() == 1) {
    run.visit(archive);
  } else {
    const bool is_first = run.ranks().is_first();
    ChainRun whole = run;
    whole.gather(true);
    if (is_first) whole.visit(archive);
  }
  return archive;
}

/// Runs to the end, saving checkpoints on the way, which rank 0 does. With `keep_draws` those that on_draw
/// hears belong to the checkpoint: a run that goes on hands all of them to it again.
void run_with_checkpoints(ChainRun& run, const Problem& problem, std::string_view method, Task task,
                          const RunControl& control, const DrawCallback& on_draw, bool keep_draws) {
  const InferenceOptions& asked = problem.options();
  const Ranks& ranks = run.ranks();
  const std::string line = run_line(problem, method, task, run.options());
  const bool wanted = !asked.checkpoint.file.empty();
  std::optional<DrawJournal> journal;  // outlives a save that is under way, which waits for it
  Checkpoint checkpoint(ranks.is_first() ? asked.checkpoint : Checkpointing{}, line, control);
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
      ChainRun whole = run.whole();
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
    journal->begin([&] { checkpoint.forget(); });
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

/// What a run that has ended says of itself.
MarginalsResult course_of(const ChainRun& run) {
  const ChainOptions& options = run.options();
  MarginalsResult result;
  note_resolved(options, result);
  fill_facts(run, result);
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

/// ... and of the marginals.
void fill_estimates(const SegmentStore& store, bool of_values, const Problem& problem,
                    MarginalsResult& result) {
  if (of_values)
    fill_means(store, result);
  else
    fill_marginals(problem.graph(), store, problem.options().every_diagnosis, result);
}

class MarginalsTask final : public ChainTask {
 public:
  MarginalsTask(const Problem& problem, const ChainOptions& options, const RunControl& control)
      : problem_(problem), options_(options), control_(control) {}

  void not_converged() override { converges_ = false; }

  /// To be called when the sampler is done: the memory of its kernel then serves the result.
  MarginalsResult finish() {
    if (!control_.ranks().is_first()) return std::move(result_);
    // What the estimates have to say comes before what the sampler has.
    const Details details = std::exchange(result_.details, {});
    std::vector<std::string> later(result_.warnings.begin() + static_cast<std::ptrdiff_t>(warnings_of_run_),
                                   result_.warnings.end());
    result_.warnings.resize(warnings_of_run_);
    fill_estimates(store_, of_values_, problem_, result_);
    if (joints_) joints_->fill(result_);
    if (problem_.options().check && !of_values_) check_against_exact(problem_, result_, control_);
    std::ranges::move(later, std::back_inserter(result_.warnings));
    for (const auto& [name, value] : details.entries()) result_.details[name] = value;
    result_.converged &= converges_;
    return std::move(result_);
  }

 private:
  RunFacts& go(std::string_view name, std::unique_ptr<ChainStates> states, const SeeRun& see) override {
    const ChainStates::Shape& shape = states->shape();
    if (options_.state_values.empty() || !shape.sums_values)
      check_estimate_memory(problem_, shape.entries, shape.lanes, options_);
    ChainRun run(std::move(states), options_, control_);
    if (!problem_.start().empty()) run.start_at(problem_.start());
    DrawCallback on_draw;
    if (JointCounter::wanted(problem_)) {
      joints_.emplace(problem_, options_.chains);
      on_draw = [&](std::uint32_t chain, std::span<const Value> x, double) { joints_->count(chain, x); };
    }
    run_with_checkpoints(run, problem_, name, Task::marginals, control_, on_draw, false);
    run.gather(false);
    if (joints_) joints_->add_up(control_.ranks());
    if (!control_.ranks().is_first()) return result_;
    if (see) see(run);
    result_ = course_of(run);
    warnings_of_run_ = result_.warnings.size();
    of_values_ = run.sums_values();
    store_ = run.take_store();
    return result_;
  }

  const Problem& problem_;
  const ChainOptions& options_;
  const RunControl& control_;
  MarginalsResult result_;
  std::size_t warnings_of_run_ = 0;
  std::optional<JointCounter> joints_;
  SegmentStore store_;
  bool of_values_ = false;
  bool converges_ = true;
};

class SampleTask final : public ChainTask {
 public:
  SampleTask(const Problem& problem, const ChainOptions& options, const RunControl& control,
             DrawConsumer& consumer)
      : problem_(problem), options_(options), control_(control), consumer_(consumer) {}

  void not_converged() override { result.converged = false; }

  SampleResult result;

 private:
  RunFacts& go(std::string_view name, std::unique_ptr<ChainStates> states, const SeeRun& see) override {
    ChainRun run(std::move(states), options_, control_);
    if (!problem_.start().empty()) run.start_at(problem_.start());
    if (control_.ranks().is_first()) consumer_.begin(options_.chains);
    const DrawCallback on_draw = [&](std::uint32_t chain, std::span<const Value> x, double log_score) {
      consumer_.take(chain, x, log_score);
      ++result.draws;
    };
    run_with_checkpoints(run, problem_, name, Task::sample, control_, on_draw, true);
    run.gather(false);
    if (!control_.ranks().is_first()) return result = {};
    if (see) see(run);
    note_resolved(options_, result);
    fill_facts(run, result);
    result.diagnostics = worst_entry(run.store());
    result.converged = is_converged(result.diagnostics);
    result.scores = score_trace(run.trace(), options_.chains);
    warn_if_not_converged(result.diagnostics, result);
    warn_of_rounded_samples(problem_.options(), result);
    return result;
  }

  const Problem& problem_;
  const ChainOptions& options_;
  const RunControl& control_;
  DrawConsumer& consumer_;
};

class LiveTask final : public ChainTask, public LiveChains {
 public:
  LiveTask(const Problem& problem, const ChainOptions& options, const RunControl& control,
           const UseChains& use)
      : problem_(problem), options_(options), control_(control), use_(use) {}

  RunFacts facts;

  std::uint32_t chains() const override { return options_.chains; }
  void start_at(std::uint32_t chain, std::span<const Value> x) override { run_->start_at(chain, x); }
  void run_to(std::uint64_t sweeps, const RunControl& control) override {
    run_->extend(std::max(sweeps, run_->planned_burn_in()) - run_->planned_burn_in());
    run_->run(control);
  }
  void discard_before(std::uint64_t sweep) override { run_->discard_before(sweep); }
  void read(std::uint32_t chain, std::span<Value> x) const override { run_->read(chain, x); }
  std::uint64_t sweeps_done() const override { return run_->sweeps_done(); }
  std::uint64_t draws() const override { return run_->draws(); }
  const SegmentStore& store() const override { return run_->store(); }
  double work_per_sweep() const override { return work_per_sweep_; }
  SweepSize sweep_size() const override { return size_; }
  double replicas() const override { return work().replicas; }
  std::uint64_t blocks() const override { return work().blocks; }
  std::span<const Value> best_state() const override { return run_->best_state(); }
  double best_log_score() const override { return run_->best_log_score(); }
  MarginalsResult result() override {
    run_->finish();
    MarginalsResult result = course_of(*run_);
    fill_estimates(run_->store(), run_->sums_values(), problem_, result);
    return result;
  }
  void release() override { run_.reset(); }

 private:
  RunFacts& go(std::string_view name, std::unique_ptr<ChainStates> states, const SeeRun& see) override {
    check_estimate_memory(problem_, states->shape().entries, states->shape().lanes, options_);
    run_.emplace(std::move(states), options_, control_);
    size_ = drover::sweep_size(problem_.graph());
    bool spins = problem_.graph().is_spin();
    if (work().largest_block > 0)
      spins &= work().largest_block <= 4;  // trees of spins have code of their own
    if (work().entries > 0) size_.entries = work().entries;
    work_per_sweep_ =
        sweep_cost(name.substr(0, name.find(' ')), spins, size_) * work().replicas * options_.chains;
    use_(*this);
    if (run_) {
      if (see) see(*run_);
      fill_facts(*run_, facts);
    }
    run_.reset();  // before its kernel goes
    return facts;
  }

  const Problem& problem_;
  const ChainOptions& options_;
  const RunControl& control_;
  const UseChains& use_;
  std::optional<ChainRun> run_;
  SweepSize size_;
  double work_per_sweep_ = 0;
};

double update_cost_of(const ChainSampler& sampler, const Problem& problem) {
  return sampler.update_cost == nullptr ? 1 : sampler.update_cost(problem);
}

}  // namespace

std::uint32_t chains_in_time(const Problem& problem, std::string_view method, std::uint32_t usual,
                             const RunControl& control) {
  constexpr std::uint32_t few = 8;
  constexpr double sweeps = 16, seconds_per_byte = 1e-9, most_share = 0.5;
  // A checkpoint is resumed with as many chains, whatever the time.
  if (!control.has_time_limit() || usual <= few || !problem.options().checkpoint.file.empty()) return usual;
  const Graph& graph = problem.graph();
  const double bytes = sizeof(float) * static_cast<double>(graph.unary.size()) / (graph.is_spin() ? 2 : 1);
  const double seconds_per_chain =
      seconds_per_byte * bytes + sweeps * 1e-9 * sweep_cost(method, graph.is_spin(), sweep_size(graph));
  return usual * seconds_per_chain > most_share * control.seconds_left() ? few : usual;
}

MarginalsResult chain_marginals(const ChainSampler& sampler, const Problem& problem,
                                const RunControl& control) {
  const std::uint32_t chains =
      chains_in_time(problem, problem.options().method, sampler.default_chains(problem), control);
  const ChainOptions options =
      chain_options(problem, Task::marginals, chains, update_cost_of(sampler, problem));
  MarginalsTask task(problem, options, control);
  sampler.run(problem, options, control, task);
  return task.finish();
}

SampleResult chain_sample(const ChainSampler& sampler, const Problem& problem, const RunControl& control,
                          DrawConsumer& consumer) {
  const ChainOptions options =
      chain_options(problem, Task::sample,
                    chains_for_samples(wanted_samples(problem.options()), sampler.default_chains(problem)),
                    update_cost_of(sampler, problem));
  SampleTask task(problem, options, control, consumer);
  sampler.run(problem, options, control, task);
  return std::move(task.result);
}

RunFacts enter_chains(const ChainSampler& sampler, const Problem& problem, const ChainOptions& asked,
                      const RunControl& control, const UseChains& use) {
  ChainOptions options = asked;
  if (options.chains == 0) options.chains = sampler.default_chains(problem);
  LiveTask task(problem, options, control, use);
  sampler.run(problem, options, control, task);
  return std::move(task.facts);
}

}  // namespace drover
