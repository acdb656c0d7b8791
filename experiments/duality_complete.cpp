// Duality, figure 2b: the complete Ising model of n = 100 variables, J = 0.01 .. 0.015. No colouring helps
// there, so the paper sets sweeps of the primal-dual sampler against single-site updates of sequential Gibbs:
// both are one parallel step.
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/gibbs_spin_lanes.hpp"
#include "drover/sample/primal_dual_lanes.hpp"
#include "drover/sample/swendsen_wang.hpp"
#include "experiments/all.hpp"
#include "experiments/duality_mixing.hpp"

namespace drover::experiments {

Outcome duality_complete(const Options& options) {
  Outcome outcome;
  const std::uint32_t variables = options.quick ? 50 : 100;
  const std::uint64_t most = options.quick ? 20'000 : 200'000;
  const std::uint32_t repetitions = options.quick ? 1 : 3;
  const std::vector<double> couplings =
      options.quick ? std::vector{0.01, 0.011} : std::vector{0.01, 0.011, 0.012, 0.013, 0.014, 0.015};
  if (options.quick)
    outcome.notes.push_back(fmt::format("quick: {} variables, the couplings doubled with them", variables));
  Figure figure{.title = "Complete graph",
                .caption =
                    "Parallel steps until the PSRF of ten chains stays below 1.01: sweeps of primal-dual, "
                    "single-site updates of Gibbs.",
                .x_label = "J",
                .y_label = "parallel steps",
                .log_y = true};
  const char* names[] = {"Gibbs, single-site updates", "primal-dual, sweeps", "Swendsen-Wang, sweeps"};
  for (const char* name : names) figure.curves.push_back({name, {}, {}});
  bool below = true, any = false;
  for (double coupling : couplings) {
    const Graph graph = compile(ising(complete_edges(variables), Draw::constant(coupling * 100 / variables),
                                      Draw::constant(0), options.seed));
    const SpinGraph spins = spin_graph(graph);
    std::vector<std::vector<double>> steps(3);
    bool reached = true, settled = true;
    for (std::uint32_t r = 0; r < repetitions; ++r) {
      if (options.monitor.should_stop()) {
        outcome.interrupted = true;
        return outcome;
      }
      options.monitor.report(
          {fmt::format("J = {}", coupling), static_cast<double>(r) / repetitions, 0, 0, 0});
      const std::uint64_t seed = options.seed + r;
      const MixingTime gibbs = mixing_time(GibbsSpinLanes(spins), seed, most, options.monitor);
      // As many sweeps as settle the claim: the PSRF must stay low for a factor of four.
      const auto enough =
          std::min<std::uint64_t>(1'000'000, 4 * variables * static_cast<std::uint64_t>(gibbs.sweeps));
      const MixingTime dual = mixing_time(PrimalDualLanes(spins), seed, enough, options.monitor);
      const MixingTime cluster = mixing_time(SwendsenWang(graph), seed, most, options.monitor);
      settled = settled && gibbs.reached && (dual.reached || enough < 1'000'000);
      steps[0].push_back(gibbs.sweeps * variables);
      steps[1].push_back(dual.sweeps);
      steps[2].push_back(cluster.sweeps);
      reached = reached && gibbs.reached && dual.reached && cluster.reached;
    }
    for (std::size_t m = 0; m < 3; ++m) {
      outcome.rows.push_back({.name = fmt::format("J = {}, {}", coupling, names[m]),
                              .ours = mean_of(steps[m]),
                              .spread = deviation_of(steps[m]),
                              .note = reached ? "" : "not all repetitions reached it"});
      figure.curves[m].x.push_back(coupling);
      figure.curves[m].y.push_back(mean_of(steps[m]));
    }
    if (!settled) continue;
    any = true;
    below = below && mean_of(steps[1]) < mean_of(steps[0]);
  }
  outcome.figures.push_back(figure);
  outcome.claims.push_back(
      {"primal-dual needs fewer sweeps than Gibbs needs single-site updates, wherever the "
       "runs were long enough to tell",
       any && below});
  return outcome;
}

}  // namespace drover::experiments
