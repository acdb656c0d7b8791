// The registry's entry for perturb-and-max-product (drover/sample/pmp/perturb_and_max_product.hpp).
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "drover/infer/iterated_modes.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/joint_counter.hpp"
#include "drover/methods/message_passing.hpp"
#include "drover/methods/pmp.hpp"
#include "drover/methods/sweep_cost.hpp"
#include "drover/run/part_log.hpp"
#include "drover/sample/pmp/perturb_and_max_product.hpp"

namespace drover {

namespace {

constexpr std::uint64_t default_samples = 2048;
constexpr double small_plan = 1e6;  ///< table operations of an exact answer that is worth a look unasked

std::string why_not_pmp(const Problem& problem, Task) {
  return why_not_maximum(problem);
}

BatchOptions batch_options(const Problem& problem, const RunControl& control) {
  const Messages& messages = problem.options().messages;
  BatchOptions options;
  options.control = &control;
  if (messages.iterations)
    options.iterations =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*messages.iterations, 1'000'000'000));
  if (messages.damping) options.damping = static_cast<float>(*messages.damping);
  return options;
}

void visit_block(SaveArchive& archive, std::span<Value> states, std::span<double> maxima) {
  std::vector<Value> values(states.begin(), states.end());
  std::vector<double> numbers(maxima.begin(), maxima.end());
  archive(values);
  archive(numbers);
}

void visit_block(LoadArchive& archive, std::span<Value> states, std::span<double> maxima) {
  std::vector<Value> values;
  std::vector<double> numbers;
  archive(values);
  archive(numbers);
  if (values.size() != states.size() || numbers.size() != maxima.size())
    throw Error(ErrorKind::bad_data, "the checkpoint is not that of this run: its blocks have another size");
  std::ranges::copy(values, states.begin());
  std::ranges::copy(numbers, maxima.begin());
}

/// So many that they take a tenth of a second or so, by what is counted and not by the clock; lanes of spins are
/// full. All samples of a block are there, or none.
std::size_t samples_at_once(const Graph& graph, std::uint32_t iterations, std::uint64_t samples) {
  constexpr double work = 1e8;
  const std::size_t lanes = graph.is_spin() ? 16 : 4;
  const SweepSize size = sweep_size(graph);
  const double wanted = work / ((size.links + size.entries) * iterations + 1);
  const auto block =
      static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(lanes), 256.0)) / lanes * lanes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(block, samples));
}

std::uint64_t wanted_draws(const InferenceOptions& options, Task task) {
  if (task == Task::sample) return wanted_samples(options);
  const std::uint64_t wanted = options.samples.value_or(default_samples);
  return task == Task::map ? std::min<std::uint64_t>(256, wanted) : wanted;
}

/// Draws in blocks and hands each on: use(states, maxima) returns how many of them it could use. Others are
/// drawn in the place of the rest, until so many times the wanted ones were.
using UseBlock = std::function<std::size_t(std::span<const Value>, std::span<const double>)>;
constexpr std::uint64_t most_tries = 4;

std::uint64_t draw_all(const Problem& problem, Task task, const RunControl& control, const UseBlock& use) {
  const Graph& graph = problem.compact_graph();
  // Whoever asks for the end gets it at once. When time runs out, draws that are a little late are better than none.
  constexpr double grace = 0.4;
  const double latest = control.seconds() + control.seconds_left() + grace;
  std::uint64_t done = 0;
  RunControl block_control;
  block_control.stop_when([&] {
    return control.should_stop() && (done > 0 || control.stop_requested() || control.seconds() > latest);
  });
  const std::uint64_t wanted = wanted_draws(problem.options(), task);
  const BatchOptions solver = batch_options(problem, block_control);
  const PerturbAndMaxProduct sampler(graph, solver);
  const std::size_t block = samples_at_once(graph, solver.iterations, wanted);
  std::vector<Value> states(block * graph.size());
  std::vector<double> maxima(block);
  const auto parts = make_part_log(problem.options().checkpoint,
                                   run_line(problem, "pmp", task,
                                            fmt::format("samples {} iterations {} damping {:.9g}", wanted,
                                                        solver.iterations, solver.damping)),
                                   control);
  std::uint64_t used = 0;
  while (used < wanted && done < most_tries * wanted && !block_control.should_stop()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block, wanted - used));
    const std::span<Value> some = std::span(states).first(count * graph.size());
    bool whole = true;
    recall_or_do(
        parts.get(), done, [&](auto& archive) { visit_block(archive, some, std::span(maxima).first(count)); },
        [&] {
          sampler.draw(problem.options().seed, done, count, some, std::span(maxima).first(count));
          return whole = !block_control.should_stop();
        });
    if (!whole) break;
    used += use(some, std::span(maxima).first(count));
    done += count;
    Progress progress;
    progress.phase = "perturbing";
    progress.fraction = static_cast<double>(used) / static_cast<double>(wanted);
    progress.sweeps = done;
    control.report(progress);
  }
  if (done == 0 && wanted > 0) fail_stopped(control, "perturb-and-max-product");
  return done;
}

void note_facts(const Problem& problem, std::uint64_t draws, RunFacts& facts) {
  const BatchOptions solver = batch_options(problem, no_control());
  facts.chains = 1;
  facts.sweeps = solver.iterations;
  facts.updates =
      static_cast<double>(draws) * facts.sweeps * static_cast<double>(problem.compact_graph().size());
  facts.resolved["samples"] = draws;
  facts.resolved["iterations"] = solver.iterations;
  facts.resolved["damping"] = solver.damping;
  facts.details["independent"] = true;
  facts.details["draws"] = draws;
  facts.details["iterations"] = solver.iterations;
  facts.details["damping"] = solver.damping;
}

bool has_only_unaries(const Graph& graph) {
  return graph.pair_count() == 0 && graph.tables.size() == 0 && graph.gates.size() == 0;
}

/// Max-product need not have settled, and then a state may break a hard constraint: it is no sample of the
/// model and is left out.
class Rejected {
 public:
  bool operator()(double log_score) {
    const bool broken = log_score == log_zero;
    count_ += broken ? 1 : 0;
    return broken;
  }
  std::uint64_t count() const { return count_; }
  /// Raises misfit when none is left.
  void tell(std::uint64_t draws, RunFacts& facts) const {
    if (count_ == 0) return;
    if (count_ == draws)
      throw Error(
          ErrorKind::misfit,
          fmt::format("all {} samples of pmp break a hard constraint: more iterations, less damping or "
                      "another method may help",
                      draws));
    facts.details["draws"] = draws - count_;
    facts.details["rejected"] = count_;
    facts.warnings.push_back(fmt::format(
        "{} of {} samples broke a hard constraint and were left out: max-product did not settle for them",
        count_, draws));
  }

 private:
  std::uint64_t count_ = 0;
};

void warn_of_approximation(const Problem& problem, RunFacts& facts) {
  if (has_only_unaries(problem.compact_graph())) return;
  facts.details["approximates"] = true;
  facts.warnings.emplace_back(
      "pmp draws independent samples of an approximation of the model; their standard errors do not know "
      "its error");
}

MarginalsResult marginals_by_pmp(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.compact_graph();
  MarginalsResult result;
  result.marginals.assign(graph.cardinalities, 0);
  result.mcse.assign(graph.cardinalities, 0);
  result.best_log_score = log_zero;
  Rejected rejected;
  std::optional<JointCounter> joints;
  if (JointCounter::wanted(problem)) joints.emplace(problem, 16);
  std::uint32_t kept = 0;
  const auto count = [&](std::span<const Value> x) {
    const double score = log_score(graph, x);
    if (rejected(score)) return;
    for (std::size_t v = 0; v < x.size(); ++v) result.marginals[v][x[v]] += 1;
    if (joints) joints->count(kept % 16, x);
    ++kept;
    if (!(score > result.best_log_score)) return;
    result.best_log_score = score;
    result.best_state.assign(x.begin(), x.end());
  };
  const std::uint64_t draws = draw_all(problem, Task::marginals, control,
                                       [&](std::span<const Value> states, std::span<const double> maxima) {
                                         const std::uint32_t before = kept;
                                         for (std::size_t s = 0; s < maxima.size(); ++s)
                                           count(states.subspan(s * graph.size(), graph.size()));
                                         return kept - before;
                                       });
  note_facts(problem, draws, result);
  rejected.tell(draws, result);
  const auto total = static_cast<double>(kept);
  result.diagnostics = {1, total, 0};
  for (std::size_t v = 0; v < graph.size(); ++v)
    for (std::size_t k = 0; k < graph.cardinalities[v]; ++k) {
      double& value = result.marginals[v][k];
      value /= total;
      // One more of each keeps the error of a state that was always or never seen above zero.
      const double q = (value * total + 1) / (total + 2);
      result.mcse[v][k] = std::sqrt(q * (1 - q) / total);
      result.diagnostics.mcse_max = std::max(result.diagnostics.mcse_max, result.mcse[v][k]);
    }
  result.rhat.assign(graph.size(), 1.0);
  result.ess.assign(graph.size(), total);
  // Where some are rejected, max-product has not settled, and the others are not as it would draw them.
  result.converged = total >= 400 && rejected.count() == 0;
  warn_of_approximation(problem, result);
  if (joints) joints->fill(result);
  if (problem.graph().gates.size() == 0) {
    const ExactPlan& plan = problem.exact_plan();
    if (problem.options().check || (plan.order.exact && plan.predicted_operations <= small_plan))
      check_against_exact(problem, result, control);
  }
  return result;
}

LogZResult logz_by_pmp(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.compact_graph();
  double sum = 0, squares = 0, best = log_zero;
  Rejected rejected;
  const std::uint64_t draws = draw_all(
      problem, Task::logz, control, [&](std::span<const Value> states, std::span<const double> maxima) {
        const std::uint64_t before = rejected.count();
        for (std::size_t s = 0; s < maxima.size(); ++s) {
          const double score = log_score(graph, states.subspan(s * graph.size(), graph.size()));
          if (rejected(score)) continue;
          sum += maxima[s];
          squares += maxima[s] * maxima[s];
          best = std::max(best, score);
        }
        return maxima.size() - (rejected.count() - before);
      });
  LogZResult result;
  note_facts(problem, draws, result);
  rejected.tell(draws, result);
  const auto total = static_cast<double>(draws - rejected.count());
  result.log_z = sum / total;
  result.mcse =
      std::sqrt(std::max(0.0, squares / total - result.log_z * result.log_z) / std::max(1.0, total - 1));
  result.lower = best;  // Z has every state's share
  if (result.log_z < best) {
    result.log_z = best;
    result.mcse = not_known;
    result.bound = Bound::lower;
    result.warnings.emplace_back(
        "max-product did not find the perturbed maxima: their mean is below the score of a state that was "
        "seen, "
        "and that score is given instead");
  } else if (!has_only_unaries(graph)) {
    result.warnings.emplace_back(
        "the mean of perturbed maxima is above log Z if max-product finds them, and need not be near it");
  }
  return result;
}

BestStateResult map_by_pmp(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.compact_graph();
  BestStateResult result;
  result.log_score = log_zero;
  // A climb reads tables, which gates may be too large for.
  std::optional<IteratedModes> modes;
  if (problem.graph().gates.size() == 0) modes.emplace(problem.graph());
  const std::uint64_t draws = draw_all(
      problem, Task::map, control, [&](std::span<const Value> states, std::span<const double> maxima) {
        for (std::size_t s = 0; s < maxima.size(); ++s) {
          const auto x = states.subspan(s * graph.size(), graph.size());
          std::vector<Value> state(x.begin(), x.end());
          const double score = modes ? modes->climb(state).log_score : log_score(graph, state);
          if (!(score > result.log_score) && !result.assignment.empty()) continue;
          result.log_score = score;
          result.assignment = std::move(state);
        }
        return maxima.size();
      });
  note_facts(problem, draws, result);
  polish(problem, result);
  result.warnings.emplace_back(
      "the best of many perturbed states, each climbed to a local maximum; not proven");
  return result;
}

SampleResult sample_by_pmp(const Problem& problem, const RunControl& control, DrawConsumer& consumer) {
  const Graph& graph = problem.compact_graph();
  SampleResult result;
  Rejected rejected;
  consumer.begin(1);
  const std::uint64_t draws = draw_all(problem, Task::sample, control,
                                       [&](std::span<const Value> states, std::span<const double> maxima) {
                                         const std::uint64_t before = rejected.count();
                                         for (std::size_t s = 0; s < maxima.size(); ++s) {
                                           const auto x = states.subspan(s * graph.size(), graph.size());
                                           const double score = log_score(graph, x);
                                           if (!rejected(score)) consumer.take(0, x, score);
                                         }
                                         return maxima.size() - (rejected.count() - before);
                                       });
  note_facts(problem, draws, result);
  rejected.tell(draws, result);
  result.draws = draws - rejected.count();
  result.independent = true;
  result.diagnostics.rhat_max = 1;
  result.diagnostics.ess_min = static_cast<double>(result.draws);
  result.converged = rejected.count() == 0;
  warn_of_approximation(problem, result);
  return result;
}

}  // namespace

double pmp_bytes(const Problem& problem, Task task) {
  const Graph& graph = problem.compact_graph();
  const std::size_t samples = samples_at_once(graph, batch_options(problem, no_control()).iterations,
                                              wanted_draws(problem.options(), task));
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  return static_cast<double>(samples) * (sizeof(Value) * static_cast<double>(graph.size()) + sizeof(double)) +
         PerturbAndMaxProduct::bytes_in_batches(graph, samples, threads);
}

Method pmp_method() {
  return {"pmp",
          "perturb-and-max-product: independent approximate samples, each by one maximisation",
          "Lazaro-Gredilla, Dedieu and George 2021",
          why_not_pmp,
          marginals_by_pmp,
          map_by_pmp,
          logz_by_pmp,
          sample_by_pmp,
          "samples iterations damping pairs joint check checkpoint checkpoint-every resume",
          1e30,
          true};
}

}  // namespace drover
