// Duality, figure 2b: the complete Ising model of n = 100 variables, J = 0.01 .. 0.015. No colouring helps
// there, so the paper sets sweeps of the primal-dual sampler against single-site updates of sequential Gibbs:
// both are one parallel step. Also tree-blocked and Swendsen-Wang, which the paper does not have.
//
// The paper does not write the factor down. exp(J [x = x']), as its grid has, stays on the near side of the
// phase transition (n J = 2); exp(J s s') crosses it at J = 0.01. Both are run.
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/swendsen_wang.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "experiments/all.hpp"
#include "experiments/duality_mixing.hpp"

namespace drover::experiments {

Outcome duality_complete(const Options& options) {
  Outcome outcome;
  const std::uint32_t variables = options.quick ? 50 : 100;
  const std::uint64_t most = options.quick ? 20'000 : 100'000;
  const std::uint64_t most_dual = options.quick ? 20'000 : 100'000;
  const std::uint64_t most_tree = options.quick ? 3'000 : 5'000;
  const std::uint32_t repetitions = options.quick ? 1 : 3;
  const std::vector<double> couplings =
      options.quick ? std::vector{0.01, 0.011} : std::vector{0.01, 0.011, 0.012, 0.013, 0.014, 0.015};
  if (options.quick)
    outcome.notes.push_back(fmt::format("quick: {} variables, the couplings doubled with them", variables));
  outcome.notes.push_back(fmt::format(
      "runs end after {} sweeps (primal-dual {}, tree-primal-dual {}); what was not reached by then is noted "
      "and counted as that",
      most, most_dual, most_tree));
  outcome.notes.push_back(
      fmt::format("10 chains; a sweep of the tree sampler is up and down a star of {} pairs", variables - 1));
  outcome.notes.emplace_back(psrf_note);
  const char* names[] = {"Gibbs, single-site updates", "primal-dual, sweeps", "tree-primal-dual, sweeps",
                         "Swendsen-Wang, sweeps"};
  bool below = true, any = false, all_reached = true;
  for (const bool agreement : {true, false}) {
    const char* factor = agreement ? "exp(J [x = x'])" : "exp(J s s')";
    Figure figure{.title = fmt::format("Complete graph, factors {}", factor),
                  .caption =
                      "Parallel steps until the PSRF of ten chains stays below 1.01: sweeps of primal-dual, "
                      "single-site updates of Gibbs.",
                  .x_label = "J",
                  .y_label = "parallel steps",
                  .log_y = true};
    for (const char* name : names) figure.curves.push_back({name, {}, {}});
    for (double coupling : couplings) {
      const double spin_coupling = (agreement ? 0.5 : 1) * coupling * 100 / variables;
      const Graph graph = compile(
          ising(complete_edges(variables), Draw::constant(spin_coupling), Draw::constant(0), options.seed));
      const SpinGraph spins = spin_graph(graph);
      std::vector<std::vector<double>> steps(4), by_mean(4);
      std::uint32_t reached[4] = {};
      if (options.control.should_stop()) {
        outcome.interrupted = true;
        return outcome;
      }
      options.control.report({fmt::format("{}, J = {}", factor, coupling), 0, 0, 0, 0});
      const auto times = mixing_times_of(repetitions, [&](std::uint32_t r, std::size_t m) {
        const std::uint64_t seed = options.seed + r;
        if (m == 0) return mixing_times(GibbsSpinLanes(spins), seed, most, options.control);
        if (m == 1) return mixing_times(PrimalDualLanes(spins), seed, most_dual, options.control);
        if (m == 2)
          return mixing_times(TreePrimalDual(graph, ForestChoice::heaviest), seed, most_tree,
                              options.control);
        return mixing_times(SwendsenWang(graph), seed, most, options.control);
      });
      for (const auto& one : times)
        for (std::size_t m = 0; m < 4; ++m) {
          const double unit = m == 0 ? variables : 1;
          steps[m].push_back(unit * one[m].largest.sweeps);
          by_mean[m].push_back(unit * one[m].mean.sweeps);
          reached[m] += one[m].largest.reached ? 1 : 0;
        }
      for (std::size_t m = 0; m < 4; ++m) {
        outcome.rows.push_back({.name = fmt::format("{}, J = {}, {}", factor, coupling, names[m]),
                                .ours = mean_of(steps[m]),
                                .spread = deviation_of(steps[m]),
                                .note = mixing_row_note(mean_of(by_mean[m]), reached[m], repetitions)});
        figure.curves[m].x.push_back(coupling);
        figure.curves[m].y.push_back(mean_of(steps[m]));
      }
      // A run of Gibbs that was too short only understates it.
      const bool settled = reached[1] == repetitions;
      if (agreement) all_reached = all_reached && settled && reached[0] == repetitions;
      if (!settled) continue;
      any = true;
      below = below && mean_of(steps[1]) < mean_of(steps[0]);
    }
    outcome.figures.push_back(figure);
  }
  outcome.claims.push_back(
      {"primal-dual needs fewer sweeps than Gibbs needs single-site updates, wherever its "
       "runs were long enough to tell",
       any && below});
  outcome.claims.push_back(
      {"with factors exp(J [x = x']) all runs were long enough at every J", all_reached});
  return outcome;
}

}  // namespace drover::experiments
