#include "drover/task/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/first_round.hpp"
#include "drover/infer/marginal_map.hpp"
#include "drover/io/evidence.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/conflict.hpp"
#include "drover/task/guess.hpp"
#include "drover/task/stated.hpp"

namespace drover {

namespace {

/// Options with their description, for what an answer says of them. A description takes as long as a small model's
/// answer, so a thread keeps the ones it has made; a question within a question has its own.
class DescribedOptions {
 public:
  DescribedOptions(const InferenceOptions& given, Task task) : task_(task) {
    std::vector<std::unique_ptr<Described>>& kept = kept_of(task);
    if (kept.empty()) {
      described_ = std::make_unique<Described>();
      describe(described_->list, described_->options, task);
    } else {
      described_ = std::move(kept.back());
      kept.pop_back();
    }
    described_->options = given;
  }
  ~DescribedOptions() {
    described_->options = {};  // evidence and starts may be large
    kept_of(task_).push_back(std::move(described_));
  }
  DescribedOptions(const DescribedOptions&) = delete;
  DescribedOptions& operator=(const DescribedOptions&) = delete;

  const OptionList& list() const { return described_->list; }
  /// The options that other methods heed and `ran` does not are left out.
  Details resolved(const Details& settled, const Method* ran = nullptr) const {
    Details values;
    add_stated(described_->options, values);
    const Details given = option_values(list(), settled);
    for (const auto& [name, value] : given.entries())
      if (ran == nullptr || !is_unheeded(*ran, name)) values[name] = value;
    return values;
  }

 private:
  struct Described {
    InferenceOptions options;
    OptionList list;  ///< bound to them
  };
  static std::vector<std::unique_ptr<Described>>& kept_of(Task task) {
    thread_local std::map<Task, std::vector<std::unique_ptr<Described>>> kept;
    return kept[task];
  }

  Task task_;
  std::unique_ptr<Described> described_;
};

/// Marginal MAP has no method of its own in the registry: it heeds the seed and the memory limit alone.
void state_options_of_best_values(const InferenceOptions& options, Provenance& provenance) {
  InferenceOptions given = options, usual;
  OptionList list, defaults;
  describe(list, given, Task::map);
  describe(defaults, usual, Task::map);
  for (const Option& option : defaults.options()) {
    if (option.name == "seed" || option.name == "memory-limit") continue;
    if (list.find(option.name)->text() != option.text())
      provenance.warnings.push_back(
          fmt::format("the option {} has no effect: marginal MAP does not use it", option.name));
    list.remove(option.name);
  }
  add_stated(options, provenance.options);
  const Details values = option_values(list);
  for (const auto& [name, value] : values.entries()) provenance.options[name] = value;
}

std::vector<std::vector<VariableId>> joint_sets(const Model& model, const InferenceOptions& options) {
  std::vector<std::vector<VariableId>> sets;
  for (const std::vector<std::string>& names : options.joint) {
    sets.push_back(variables_named(model, names));
    std::vector<VariableId> sorted = sets.back();
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end())
      throw OptionError("joint", model.variable_name(*twice), "every variable once in a set");
  }
  return sets;
}

// What is known before the method runs.
void fill_model(const Model& model, const Stated& stated, const Graph& graph, ModelAnswer& answer) {
  answer.names = Names::of(model);
  answer.variables = model.variable_count();
  answer.factors = model.factor_count();
  for (std::uint32_t states : model.cardinalities)
    answer.max_cardinality = std::max(answer.max_cardinality, states);
  answer.evidence = stated.observed();
  answer.set = stated.set();
  for (std::size_t v = 0; v < graph.model_size(); ++v)
    if (graph.free_variable[v] == no_variable) answer.fixed.push_back(static_cast<VariableId>(v));
}

// What the run says of itself.
void fill_run(RunFacts& facts, ModelAnswer& answer) {
  Provenance& provenance = answer.provenance;
  provenance.warnings.insert(provenance.warnings.end(), facts.warnings.begin(), facts.warnings.end());
  provenance.details = std::move(facts.details);
  answer.sweeps = facts.sweeps;
  answer.burn_in = facts.burn_in;
  answer.chains = facts.chains;
  answer.updates = facts.updates;
}

/// Beside very large log factors sums of them lose what is small, in every method.
void note_rounding(const Problem& problem, ModelAnswer& answer) {
  constexpr double coarse = 1e-3;
  const double step = problem.largest_log_factor() * std::numeric_limits<double>::epsilon();
  if (!(step > coarse)) return;
  answer.rounding = step;
  answer.provenance.warnings.push_back(fmt::format(
      "log factors are as large as {:.3g}: sums of them are rounded to steps of {:.2g}, and what hangs on "
      "smaller differences is lost; a state that is to be impossible has the factor 0",
      problem.largest_log_factor(), step));
}

/// What rank 0 chooses: how long a plan may take is a matter of time, and ranks must not differ.
Choice common_choice(const Ranks& ranks, Choice choice) {
  std::string name(choice.method->name);
  ranks.broadcast(name);
  ranks.broadcast(choice.because);
  choice.method = &method_named(name);
  return choice;
}

/// Rank 0 does alone what the method does not share, and the others have no result.
template <class Run>
auto run_shared(const Problem& problem, Task task, const RunControl& control, const Method& method, Run run) {
  const Ranks& ranks = control.ranks();
  if (ranks.size() == 1 || method.shares(task)) return run(method, problem, control);
  RunControl alone(control);
  alone.share_with(one_process());
  using Result = decltype(run(method, problem, control));
  if (!ranks.is_first()) return Result();
  Result result = run(method, problem, alone);
  result.warnings.push_back(fmt::format("method {} runs on one rank: the other {} had nothing to do",
                                        method.name, ranks.size() - 1));
  return result;
}

/// Exact inference that `auto` chose gets a part of the time limit only; should it need more, the next choice
/// has the rest.
template <class Run>
auto run_in_time(const Problem& problem, Task task, const RunControl& control, Choice& choice, Run run) {
  constexpr double share = 0.6;
  using Result = decltype(run(*choice.method, problem, control));
  const Ranks& ranks = control.ranks();
  if (choice.method->name == "exact" && !choice.because.empty() && control.has_time_limit()) {
    const RunControl part(control, share * control.seconds_left());
    std::optional<Result> result;
    try {
      result = run_shared(problem, task, part, *choice.method, run);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::stopped) throw;
    }
    if (ranks.vote(ranks.is_first() && result ? 1 : 0) != 0) return std::move(*result);
    choice = common_choice(ranks, choose_method(problem, task, true));
  }
  return run_shared(problem, task, control, *choice.method, run);
}

/// A method ends so much before the time limit that its result can be worked out and handed over within it: by the
/// count of what that is about, some 0.3 s for a million binary variables.
double seconds_for_method(const Graph& graph, const RunControl& control) {
  constexpr double seconds_a_value = 1.5e-7;
  const double left = control.seconds_left();
  return std::max(left / 2, left - seconds_a_value * static_cast<double>(graph.unary.size()));
}

/// However short the time: only a request ends it.
Graph compile_patiently(const Stated& stated, const RunControl& control) {
  RunControl patient;
  // The first question lets those who look for signals do so.
  patient.stop_when([&] { return control.should_stop() && control.stop_requested(); });
  try {
    return compile(stated.model(), stated.fixed(), PairTables::recognised, patient);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::stopped) fail_stopped(control, "compiling");
    throw;
  }
}

/// The road that all questions take: evidence, compile, choose, run, say where it comes from.
/// `begin(answer)` hears what is known before the run; `run(method, problem, control)` returns what the
/// method found; `fill(result, graph, answer)` puts it in terms of the model. `guess(problem)`, where it is given, has a
/// result however short the time, or none.
template <class Answer, class Begin, class Run, class Fill,
          class Result = std::invoke_result_t<Run, const Method&, const Problem&, const RunControl&>>
Answer answer_question(const Model& model, const InferenceOptions& options, Task task,
                       const RunControl& control, Begin begin, Run run, Fill fill,
                       const std::function<std::optional<Result>(const Problem&)>& guess = {}) {
  Answer answer;
  const double start = control.seconds();
  const Stated stated(model, options);
  const auto work = [&] {
    const auto sets = joint_sets(model, options);
    const Problem problem = guess ? Problem(compile_patiently(stated, control), options, control, sets)
                                  : Problem(stated.model(), stated.fixed(), options, control, sets);
    const Graph& graph = problem.compact_graph();
    Choice choice{&method_named("bp"), ""};
    std::optional<Result> found;
    const auto guess_if_late = [&](const auto& step) {
      try {
        step();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::stopped || !guess) throw;
        found = guess(problem);
        if (!found) throw;
      }
    };
    guess_if_late([&] { choice = common_choice(control.ranks(), choose_method(problem, task)); });
    Provenance& provenance = answer.provenance;
    provenance.question = task_name(task);
    provenance.input = options.input.empty() ? model.name : options.input;
    provenance.method = choice.method->name;  // for those who hear of the run while it goes on
    provenance.because = choice.because;
    provenance.seed = options.seed;
    provenance.warnings = model.warnings;
    const DescribedOptions described(options, task);
    if (task == Task::sample) provenance.options = described.resolved({});  // for whoever takes draws
    fill_model(model, stated, graph, answer);
    begin(answer, graph);
    std::optional<RunControl> early;
    if (control.has_time_limit()) early.emplace(control, seconds_for_method(graph, control));
    // Where compiling alone took all the time, laying out a sampler takes as much again.
    constexpr std::size_t large = 100'000;
    if (guess && !found && early && early->out_of_time() && graph.size() > large) found = guess(problem);
    if (!found)
      guess_if_late([&] { found = run_in_time(problem, task, early ? *early : control, choice, run); });
    if (!control.ranks().is_first()) return;
    Result& result = *found;
    provenance.method = choice.method->name;
    provenance.because = choice.because;
    // Two samplers in turns are no method of the registry.
    const auto named = std::ranges::find(all_methods(), std::string_view(result.method), &Method::name);
    const Method& ran = named == all_methods().end() ? *choice.method : *named;
    if (!result.method.empty()) {
      provenance.method = result.method;
      provenance.because = result.because;
    }
    fill_run(result, answer);
    note_rounding(problem, answer);
    provenance.options = described.resolved(result.resolved, &ran);
    for (const std::string& name : unused_options(ran, task, described.list()))
      provenance.warnings.push_back(
          fmt::format("the option {} has no effect: method {} does not use it", name, ran.name));
    if (control.stop_requested()) provenance.warnings.emplace_back("interrupted: this is the result so far");
    fill(result, graph, answer);
    provenance.seconds = control.seconds() - start;
  };
  try {
    with_threads(control, work);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::bad_data) fail_if_conflict(stated, Names::of(model), control);
    throw;
  }
  return answer;
}

// What leaves here is a distribution: no method may hand on what its arithmetic could not hold.
void check_distributions(const Distributions& distributions, const std::string& method,
                         const RunControl& control) {
  for (double p : distributions.values())
    if (!(p >= 0 && p <= 1 + 1e-6)) {
      fail_if_stopped(control, method);  // before anything was counted
      throw Error(ErrorKind::misfit,
                  fmt::format("method {} gave no distribution: the log factors of this model are beyond its "
                              "arithmetic",
                              method));
    }
}

void nothing_before(const ModelAnswer&, const Graph&) {}

// A distribution per variable of the model from those of the free ones; the others are point masses.
Distributions spread(const Graph& graph, const Model& model, Distributions&& free, bool point_masses) {
  if (graph.size() == graph.model_size() && free.size() == graph.size()) return std::move(free);
  Distributions all;
  all.assign(model.cardinalities, 0);
  for (std::size_t v = 0; v < graph.model_size(); ++v) {
    const VariableId f = graph.free_variable[v];
    if (f != no_variable)
      std::ranges::copy(free[f], all[v].begin());
    else if (point_masses)
      all[v][graph.clamped_value[v]] = 1;
  }
  return all;
}

std::vector<double> spread(const Graph& graph, std::vector<double>&& free) {
  const bool not_asked = free.empty() && graph.size() > 0;
  if (free.size() == graph.model_size() || not_asked) return std::move(free);
  std::vector<double> all(graph.model_size(), not_known);
  for (std::size_t f = 0; f < free.size(); ++f) all[graph.model_variable[f]] = free[f];
  return all;
}

/// Hands draws of the free variables on as draws of the whole model.
class WholeDraws : public DrawConsumer {
 public:
  WholeDraws(const Graph& graph, ModelAnswer& answer, DrawSink& sink)
      : graph_(graph), answer_(answer), sink_(sink), whole_(graph.clamped_value) {}
  void begin(std::uint32_t chains) override {
    answer_.chains = chains;
    sink_.begin(answer_);
  }
  void take(std::uint32_t chain, std::span<const Value> free_assignment, double log_score) override {
    for (std::size_t v = 0; v < free_assignment.size(); ++v)
      whole_[graph_.model_variable[v]] = free_assignment[v];
    sink_.take(chain, whole_, log_score);
  }

 private:
  const Graph& graph_;
  ModelAnswer& answer_;
  DrawSink& sink_;
  std::vector<Value> whole_;
};

class KeptDraws : public DrawSink {
 public:
  void begin(const ModelAnswer&) override {}
  void take(std::uint32_t, std::span<const Value> assignment, double log_score) override {
    values.insert(values.end(), assignment.begin(), assignment.end());
    log_scores.push_back(log_score);
  }
  std::vector<Value> values;
  std::vector<double> log_scores;
};

}  // namespace

std::span<const double> Marginals::of(std::string_view name) const {
  for (std::size_t v = 0; v < variables; ++v)
    if (names.variable(static_cast<VariableId>(v)) == name) return probabilities[v];
  throw Error(ErrorKind::usage, fmt::format("unknown variable \"{}\"", name));
}

bool guesses_at_deadline(const InferenceOptions& options, std::uint32_t ranks) {
  return ranks == 1 && options.method == "auto" && options.joint.empty() && !options.pairs &&
         !options.check && options.state_values.empty() && options.checkpoint.file.empty();
}

namespace {

std::optional<MarginalsResult> guess_marginals(const Problem& problem) {
  const Graph& graph = problem.graph();
  if (graph.gates.size() > 0) return std::nullopt;
  MarginalsResult result;
  const std::vector<double> probabilities = first_round(graph);
  for (VariableId v = 0; v < graph.size(); ++v)
    result.marginals.push_back(
        std::span(probabilities).subspan(graph.unary_offsets[v], graph.cardinalities[v]));
  result.mcse.assign(graph.cardinalities, not_known);
  result.rhat.assign(graph.size(), not_known);
  result.ess.assign(graph.size(), not_known);
  result.sweeps = 1;
  result.details["approximates"] = true;
  result.method = "bp";
  result.because = "the time ended before anything else had a result";
  result.resolved["iterations"] = 1;
  result.warnings.emplace_back(
      "the time was over before there was a draw: this is a guess, by the nearest factors of each variable "
      "alone; allow more time");
  return result;
}

}  // namespace

Marginals marginals(const Model& model, const InferenceOptions& options, const RunControl& control) {
  std::function<std::optional<MarginalsResult>(const Problem&)> guess;
  if (control.has_time_limit() && guesses_at_deadline(options, control.ranks().size()))
    guess = guess_marginals;
  return answer_question<Marginals>(
      model, options, Task::marginals, control, nothing_before,
      [](const Method& method, const Problem& problem, const RunControl& part) {
        return method.marginals(problem, part);
      },
      [&](MarginalsResult& result, const Graph& graph, Marginals& answer) {
        answer.probabilities = spread(graph, model, std::move(result.marginals), true);
        if (result.means.empty())
          check_distributions(answer.probabilities, answer.provenance.method, control);
        answer.mcse = spread(graph, model, std::move(result.mcse), false);
        answer.rhat = spread(graph, std::move(result.rhat));
        answer.ess = spread(graph, std::move(result.ess));
        answer.exact = result.exact;
        answer.race = std::move(result.race);
        answer.converged = result.converged;
        answer.diagnostics = result.diagnostics;
        answer.scores = std::move(result.scores);
        answer.rhat_over_time = std::move(result.rhat_over_time);
        answer.score_autocorrelation = std::move(result.score_autocorrelation);
        answer.score_lag = result.score_lag;
        if (!result.best_state.empty()) answer.best_state = whole_assignment(graph, result.best_state);
        answer.best_log_score = result.best_log_score;
        for (const auto& [i, j] : result.pairs)
          answer.pairs.emplace_back(graph.model_variable[i], graph.model_variable[j]);
        for (const auto& joint : result.pair_marginals) answer.pair_probabilities.push_back(joint);
        const auto sets = joint_sets(model, options);
        for (std::size_t s = 0; s < sets.size(); ++s)
          answer.joints.push_back({sets[s], whole_table(graph, model, sets[s], result.joints[s]),
                                   whole_table(graph, model, sets[s], result.joint_mcse[s])});
      },
      guess);
}

BestState best_state(const Model& model, const InferenceOptions& options, const RunControl& control) {
  return answer_question<BestState>(
      model, options, Task::map, control, nothing_before,
      [](const Method& method, const Problem& problem, const RunControl& part) {
        return method.map(problem, part);
      },
      [&](BestStateResult& result, const Graph& graph, BestState& answer) {
        answer.assignment = whole_assignment(graph, result.assignment);
        answer.log_score = result.log_score;
        answer.optimal = result.optimal;
        answer.upper = result.optimal ? result.log_score : result.upper;
        for (RankedState& state : result.states)
          answer.states.push_back({whole_assignment(graph, state.assignment), state.log_score});
        if (!answer.states.empty() && answer.states.size() < options.best && answer.optimal)
          answer.provenance.warnings.push_back(fmt::format(
              "the model has no more than {} states of positive probability", answer.states.size()));
      });
}

BestValues best_values(const Model& model, const std::vector<std::string>& of,
                       const InferenceOptions& options, const RunControl& control) {
  BestValues answer;
  const double start = control.seconds();
  const Stated stated(model, options);
  with_threads(control, [&] {
    const Problem problem(stated.model(), stated.fixed(), options, control);
    const Graph& graph = problem.graph();
    if (graph.gates.size() > 0)
      throw Error(ErrorKind::misfit,
                  fmt::format("marginal MAP needs a table for every factor, and a gate has more than {} "
                              "variables",
                              largest_expanded_gate));
    Provenance& provenance = answer.provenance;
    provenance.question = "map";
    provenance.input = options.input.empty() ? model.name : options.input;
    provenance.method = "marginal-map";
    provenance.seed = options.seed;
    provenance.warnings = model.warnings;
    state_options_of_best_values(options, provenance);
    fill_model(model, stated, graph, answer);
    std::vector<VariableId> wanted;
    for (VariableId v : variables_named(model, of)) {
      if (std::ranges::find(answer.of, v) != answer.of.end())
        throw OptionError("of", answer.names.variable(v), "every variable once");
      answer.of.push_back(v);
      if (graph.free_variable[v] != no_variable) wanted.push_back(graph.free_variable[v]);
    }
    MarginalMapOptions limits;
    limits.largest_table = std::clamp(static_cast<double>(problem.memory_limit_bytes()) / 256, 1e3, 4e6);
    const MarginalMap found = marginal_map(graph, wanted, limits, control);
    std::size_t next = 0;
    for (VariableId v : answer.of)
      answer.assignment.push_back(graph.free_variable[v] != no_variable ? found.values[next++]
                                                                        : graph.clamped_value[v]);
    answer.lower = std::min(0.0, found.lower - found.log_z_upper);
    answer.upper = std::min(0.0, found.upper - found.log_z_lower);
    answer.log_probability = answer.lower;
    answer.optimal = found.optimal;
    if (found.optimal) answer.upper = answer.lower;
    provenance.because =
        found.nodes == 0 ? "the others can be summed out first"
        : found.exact_sums
            ? "summing the others out first takes too large tables: branch and bound over the asked variables"
            : "the treewidth is too large: sums are bounded by mini-buckets";
    provenance.details["nodes"] = found.nodes;
    if (!found.exact_sums)
      provenance.warnings.emplace_back("the probability is not exact: log_probability is its lower bound");
    if (control.stop_requested()) provenance.warnings.emplace_back("interrupted: this is the result so far");
    provenance.seconds = control.seconds() - start;
  });
  return answer;
}

LogZ log_z(const Model& model, const InferenceOptions& options, const RunControl& control) {
  return answer_question<LogZ>(
      model, options, Task::logz, control, nothing_before,
      [](const Method& method, const Problem& problem, const RunControl& part) {
        return method.logz(problem, part);
      },
      [&](LogZResult& result, const Graph&, LogZ& answer) {
        if (!std::isfinite(result.log_z))
          throw Error(
              ErrorKind::misfit,
              fmt::format("method {} gave no finite log Z: the log factors of this model are beyond its "
                          "arithmetic",
                          answer.provenance.method));
        answer.log_z = result.log_z;
        answer.bound = result.bound;
        answer.mcse = result.mcse;
        answer.lower = result.lower;
        answer.upper = result.upper;
        answer.interval_lower = result.interval_lower;
        answer.interval_upper = result.interval_upper;
        answer.exact = result.exact;
      });
}

Samples sample(const Model& model, const InferenceOptions& options, DrawSink& sink,
               const RunControl& control) {
  std::optional<WholeDraws> consumer;
  return answer_question<Samples>(
      model, options, Task::sample, control,
      [&](ModelAnswer& answer, const Graph& graph) { consumer.emplace(graph, answer, sink); },
      [&](const Method& method, const Problem& problem, const RunControl& part) {
        return method.sample(problem, part, *consumer);
      },
      [&](SampleResult& result, const Graph&, Samples& answer) {
        answer.draws = result.draws;
        answer.independent = result.independent;
        answer.exact = result.exact;
        answer.converged = result.converged;
        answer.diagnostics = result.diagnostics;
        answer.scores = std::move(result.scores);
      });
}

Samples sample(const Model& model, const InferenceOptions& options, const RunControl& control) {
  KeptDraws kept;
  Samples answer = sample(model, options, kept, control);
  answer.values = std::move(kept.values);
  answer.log_scores = std::move(kept.log_scores);
  return answer;
}

}  // namespace drover
