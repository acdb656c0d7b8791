// The registry's entry for perturb-and-max-product (drover/sample/pmp/perturb_and_max_product.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "drover/infer/iterated_modes.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/message_passing.hpp"
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
std::size_t samples_at_once(const Graph& graph, std::uint32_t iterations) {
  constexpr double work = 1e8;
  const std::size_t lanes = graph.is_spin() ? 16 : 4;
  const SweepSize size = sweep_size(graph);
  const double wanted = work / ((size.links + size.entries) * iterations + 1);
  return static_cast<std::size_t>(std::clamp(wanted, static_cast<double>(lanes), 256.0)) / lanes * lanes;
}

/// Draws in blocks and hands each on: use(states, maxima).
using UseBlock = std::function<void(std::span<const Value>, std::span<const double>)>;

std::uint64_t draw_all(const Problem& problem, Task task, const RunControl& control, std::uint64_t wanted,
                       const UseBlock& use) {
  const Graph& graph = problem.compact_graph();
  // Whoever asks for the end gets it at once; when time runs out, late draws are better than none.
  std::uint64_t done = 0;
  RunControl block_control;
  block_control.stop_when([&] { return control.should_stop() && (done > 0 || control.stop_requested()); });
  const BatchOptions solver = batch_options(problem, block_control);
  const PerturbAndMaxProduct sampler(graph, solver);
  const std::size_t block = samples_at_once(graph, solver.iterations);
  std::vector<Value> states(block * graph.size());
  std::vector<double> maxima(block);
  const auto parts = make_part_log(problem.options().checkpoint,
                                   run_line(problem, "pmp", task,
                                            fmt::format("samples {} iterations {} damping {:.9g}", wanted,
                                                        solver.iterations, solver.damping)),
                                   control);
  while (done < wanted && !block_control.should_stop()) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block, wanted - done));
    const std::span<Value> some = std::span(states).first(count * graph.size());
    bool whole = true;
    recall_or_do(
        parts.get(), done, [&](auto& archive) { visit_block(archive, some, std::span(maxima).first(count)); },
        [&] {
          sampler.draw(problem.options().seed, done, count, some, std::span(maxima).first(count));
          return whole = !block_control.should_stop();
        });
    if (!whole) break;
    use(some, std::span(maxima).first(count));
    done += count;
    Progress progress;
    progress.phase = "perturbing";
    progress.fraction = static_cast<double>(done) / static_cast<double>(wanted);
    progress.sweeps = done;
    control.report(progress);
  }
  if (done == 0 && wanted > 0) fail_stopped(control, "perturb-and-max-product");
  return done;
}

std::uint64_t wanted_draws(const InferenceOptions& options) {
  return options.samples.value_or(default_samples);
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

void warn_of_broken(std::uint64_t broken, std::uint64_t draws, RunFacts& facts) {
  if (broken > 0)
    facts.warnings.push_back(
        fmt::format("{} of {} samples break a hard constraint: more iterations may help", broken, draws));
}

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
  std::uint64_t broken = 0;
  std::optional<JointCounter> joints;
  if (JointCounter::wanted(problem)) joints.emplace(problem, 16);
  std::uint32_t counted_draws = 0;
  const std::uint64_t draws = draw_all(problem, Task::marginals, control, wanted_draws(problem.options()),
                                       [&](std::span<const Value> states, std::span<const double> maxima) {
                                         for (std::size_t s = 0; s < maxima.size(); ++s) {
                                           const auto x = states.subspan(s * graph.size(), graph.size());
                                           for (std::size_t v = 0; v < x.size(); ++v)
                                             result.marginals[v][x[v]] += 1;
                                           if (joints) joints->count(counted_draws++ % 16, x);
                                           const double score = log_score(graph, x);
                                           broken += score == log_zero;
                                           if (!(score > result.best_log_score) && !result.best_state.empty())
                                             continue;
                                           result.best_log_score = score;
                                           result.best_state.assign(x.begin(), x.end());
                                         }
                                       });
  note_facts(problem, draws, result);
  const auto total = static_cast<double>(draws);
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
  result.converged = total >= 400 && broken == 0;  // samples that cannot be are no result
  warn_of_broken(broken, draws, result);
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
  const std::uint64_t draws =
      draw_all(problem, Task::logz, control, wanted_draws(problem.options()),
               [&](std::span<const Value> states, std::span<const double> maxima) {
                 for (std::size_t s = 0; s < maxima.size(); ++s) {
                   sum += maxima[s];
                   squares += maxima[s] * maxima[s];
                   best = std::max(best, log_score(graph, states.subspan(s * graph.size(), graph.size())));
                 }
               });
  LogZResult result;
  note_facts(problem, draws, result);
  const auto total = static_cast<double>(draws);
  result.log_z = sum / total;
  result.mcse =
      std::sqrt(std::max(0.0, squares / total - result.log_z * result.log_z) / std::max(1.0, total - 1));
  result.lower = best == log_zero ? not_known : best;  // Z has every state's share
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
  const std::uint64_t draws =
      draw_all(problem, Task::map, control, std::min<std::uint64_t>(256, wanted_draws(problem.options())),
               [&](std::span<const Value> states, std::span<const double> maxima) {
                 for (std::size_t s = 0; s < maxima.size(); ++s) {
                   const auto x = states.subspan(s * graph.size(), graph.size());
                   std::vector<Value> state(x.begin(), x.end());
                   const double score = modes ? modes->climb(state).log_score : log_score(graph, state);
                   if (!(score > result.log_score) && !result.assignment.empty()) continue;
                   result.log_score = score;
                   result.assignment = std::move(state);
                 }
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
  std::uint64_t broken = 0;
  consumer.begin(1);
  result.draws = draw_all(problem, Task::sample, control, wanted_samples(problem.options()),
                          [&](std::span<const Value> states, std::span<const double> maxima) {
                            for (std::size_t s = 0; s < maxima.size(); ++s) {
                              const auto x = states.subspan(s * graph.size(), graph.size());
                              const double score = log_score(graph, x);
                              broken += score == log_zero;
                              consumer.take(0, x, score);
                            }
                          });
  note_facts(problem, result.draws, result);
  result.independent = true;
  result.diagnostics.rhat_max = 1;
  result.diagnostics.ess_min = static_cast<double>(result.draws);
  result.converged = broken == 0;
  warn_of_broken(broken, result.draws, result);
  warn_of_approximation(problem, result);
  return result;
}

}  // namespace

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
