// The registry's entry for annealed Gibbs (drover/sample/anneal/annealed_gibbs.hpp).
#include "drover/sample/anneal/annealed_gibbs.hpp"

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/run/part_log.hpp"

namespace drover {

namespace {

std::string why_not_annealed_gibbs(const Problem&, Task) {
  return "";
}

// What a sweep of one chain costs, in updates of a spin that has few neighbours.
double spin_updates(const Graph& graph) {
  const auto size = static_cast<double>(std::max<std::size_t>(1, graph.size()));
  if (graph.is_spin()) return std::max(size, 0.25 * static_cast<double>(graph.spin_pairs.size()));
  return std::max(size, 1.5 * static_cast<double>(graph.unary.size()) +
                            static_cast<double>(graph.pair_count() + graph.tables.scopes.size()));
}

// Batches of about 2000 sweeps do best on small models, where several are better than a long one; large
// models get about 10^10 updates in all, but at least 200 sweeps.
constexpr double usual_work = 1e10, usual_sweeps = 2000;

// 64 chains at once are the wrong shape for a model so large that each would have few sweeps: then one long
// chain for every thread, vectorised over its variables, which is heated and cooled again and again. By
// measurement (3 s, grids of 200, 500 and 1000 squared and a random graph of 90 000 variables) the two are
// equal near 200 sweeps. A chain of lanes sweeps a variable in about a nanosecond, five where it jumps
// through more memory than caches hold.
constexpr double enough_sweeps = 200;
constexpr std::size_t fewest_for_one_chain = 4000;

// Whether few steps lead from one variable to all others, as on random graphs and unlike on grids: the depth of a
// breadth-first search of the largest component is at most twice the binary logarithm of the size.
bool is_small_world(const Graph& graph, const RunControl& control) {
  const Adjacency near = adjacency(graph, control);
  std::vector<std::uint32_t> depth(graph.size(), 0);  // counted from 1; 0: not reached yet
  std::vector<VariableId> reached;
  std::size_t largest = 0;
  std::uint32_t deepest = 0;
  for (VariableId start = 0; start < graph.size(); ++start) {
    if (depth[start] > 0) continue;
    depth[start] = 1;
    reached.assign(1, start);
    for (std::size_t k = 0; k < reached.size(); ++k)
      for (VariableId next : near.of(reached[k])) {
        if (depth[next] > 0) continue;
        depth[next] = depth[reached[k]] + 1;
        reached.push_back(next);
      }
    if (reached.size() <= largest) continue;
    largest = reached.size();
    deepest = depth[reached.back()];
  }
  return deepest <= 2 * std::log2(static_cast<double>(graph.size()));
}

// On small worlds of some thousand variables chains differ in one large component, so that recombination
// is little more than a choice among them: there one long chain is ahead whatever the time (3 s: by 0.1 % at 5000
// variables of degree 6, 0.7 % at 20 000).
bool use_one_chain(const Graph& graph, bool is_lattice, double lane_updates, const RunControl& control) {
  if (!graph.is_spin() || graph.spin_pairs.size() > 24 * graph.size()) return false;
  const auto size = static_cast<double>(graph.size());
  const double cost = is_lattice || size < 30'000 ? 1 : 5;
  if (graph.size() >= 10'000 && lane_updates < enough_sweeps * 64 * size * cost) return true;
  return !is_lattice && is_small_world(graph, control);
}

BestStateResult map_by_annealed_gibbs(const Problem& problem, const RunControl& control) {
  const Chains& chains = problem.options().chains;
  const Graph& graph = problem.graph();
  if (graph.size() == 0) {  // evidence has decided everything
    BestStateResult result;
    result.log_score = graph.log_constant;
    return result;
  }
  const double cost = spin_updates(graph);
  AnnealOptions options;
  options.seed = problem.options().seed;
  options.control = &control;
  options.reads = chains.count.value_or(
      64 * static_cast<std::uint32_t>(std::clamp(usual_work / (64 * usual_sweeps * cost), 2.0, 16.0)));
  options.sweeps = chains.sweeps.value_or(
      static_cast<std::uint64_t>(std::clamp(usual_work / (cost * options.reads), 200.0, usual_sweeps)));
  if (const auto hottest = problem.options().temperatures.min_inverse) {
    options.range = temperature_range(graph);
    options.range.hot = *hottest;
  }
  // With a time limit and neither chains nor sweeps, batches follow one another until the time is up.
  const bool by_time = control.has_time_limit() && !chains.count && !chains.sweeps;
  std::optional<Lattice> lattice;
  bool one_chain = false;
  if (!chains.count && !chains.sweeps && chains.scan == Scan::fixed && graph.is_spin() &&
      graph.size() >= fewest_for_one_chain) {
    lattice = recognise_lattice(graph);
    if (lattice && !lattice->is_checkerboard()) lattice.reset();
    one_chain =
        use_one_chain(graph, lattice.has_value(),
                      by_time ? 1e9 * control.seconds_left() : usual_work / options.reads * 64, control);
  }
  if (one_chain) {
    options.reads = 2;
    options.sweeps = static_cast<std::uint64_t>(std::max(usual_work / (cost * options.reads), 1000.0));
  }
  if (by_time && (!problem.options().checkpoint.file.empty() || problem.options().checkpoint.resume))
    throw OptionError("checkpoint", problem.options().checkpoint.file,
                      "chains or sweeps as well: what fits into a time limit is no run that can go on");
  const auto parts =
      make_part_log(problem.options().checkpoint,
                    run_line(problem, "annealed-gibbs", Task::map,
                             fmt::format("chains {} sweeps {} scan {} hottest {:.17g}", options.reads,
                                         options.sweeps, choice_name(chains.scan), options.range.hot)),
                    control);
  options.parts = parts.get();
  BestStateResult result;
  if (by_time) {
    // A long chain goes on improving by rounds: it is never begun anew.
    options.sweeps = static_cast<std::uint64_t>(one_chain ? 1e9 : usual_sweeps);
  } else {
    result.resolved["chains"] = options.reads;
    result.resolved["sweeps"] = options.sweeps;
  }
  const auto observe = [&](std::uint32_t reads, double) {
    Progress progress;
    progress.phase = "annealing";
    progress.fraction =
        std::max(control.time_fraction(), by_time ? 0.0 : static_cast<double>(reads) / options.reads);
    control.report(progress);
  };
  const auto anneal = [&](const auto& kernel) {
    observe(0, 0);  // from here on there is a state, however soon the run is ended
    return by_time ? annealed_gibbs_by_time(
                         graph, kernel, options,
                         static_cast<std::uint32_t>(tbb::this_task_arena::max_concurrency()), observe)
                   : annealed_gibbs(graph, kernel, options, observe);
  };
  AnnealResult found;
  if (one_chain && lattice)
    found = anneal(GibbsSpinLattice(*lattice));
  else if (one_chain)
    found = anneal(GibbsSpinChain(spin_graph(graph, control)));
  else
    found = with_lane_kernel(problem, options.reads, anneal);
  if (!control.ranks().is_first()) return {};
  result.assignment = std::move(found.assignment);
  result.log_score = found.log_score;
  result.sweeps = found.sweeps;
  result.chains = found.reads;
  result.updates = static_cast<double>(result.sweeps) * static_cast<double>(graph.size());
  const std::vector<double>& scores = found.batch_scores;
  const double best = result.log_score;
  const auto hits = std::count_if(scores.begin(), scores.end(),
                                  [&](double s) { return s >= best - 1e-9 * (1 + std::abs(best)); });
  result.details = {{"reads", found.reads},
                    {"batches", scores.size()},
                    {"batches_at_best", static_cast<std::int64_t>(hits)}};
  warn_of_connectivity(problem, result);
  return result;
}

}  // namespace

Method annealed_gibbs_method() {
  Method method{
      "annealed-gibbs",
      "Gibbs sampling while the temperature falls, again and again from the best parts of all chains",
      "Kirkpatrick et al. 1983; Moebius et al. 1997; Tinos et al. 2015",
      why_not_annealed_gibbs,
      nullptr,
      map_by_annealed_gibbs,
      nullptr,
      nullptr,
      "chains sweeps scan min-inverse-temperature checkpoint checkpoint-every resume"};
  method.shared = {Task::map};
  return method;
}

}  // namespace drover
