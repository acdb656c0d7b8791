// Duality, figure 2a: sweeps until the PSRF of ten chains stays below 1.01 on a 50x50 Ising grid with factors
// exp(beta [x = x']), beta = 0.1 .. 0.5: sequential Gibbs against primal-dual; also tree-blocked and
// Swendsen-Wang, which the paper does not have.
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

Outcome duality_grid(const Options& options) {
  Outcome outcome;
  const std::uint32_t side = options.quick ? 20 : 50;
  const std::uint64_t most = options.quick ? 20'000 : 100'000;
  const std::uint32_t repetitions = options.quick ? 2 : 5;
  const std::vector<double> betas =
      options.quick ? std::vector{0.3, 0.5} : std::vector{0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5};
  if (options.quick)
    outcome.notes.push_back(fmt::format("quick: {0}x{0} grid, {1} repetitions", side, repetitions));
  outcome.notes.emplace_back(psrf_note);
  Figure figure{.title = "Ising grid",
                .caption = "Sweeps until the PSRF of ten chains stays below 1.01.",
                .x_label = "beta",
                .y_label = "sweeps",
                .log_y = true};
  const char* names[] = {"Gibbs", "primal-dual", "tree-primal-dual", "Swendsen-Wang"};
  for (const char* name : names) figure.curves.push_back({name, {}, {}});
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  bool tree_helps = true;
  for (double beta : betas) {
    const Graph graph = compile(
        ising(grid_edges(side, side, false), Draw::constant(beta / 2), Draw::constant(0), options.seed));
    const SpinGraph spins = spin_graph(graph);
    std::vector<std::vector<double>> sweeps(4), by_mean(4);
    std::uint32_t reached[4] = {};
    if (options.control.should_stop()) {
      outcome.interrupted = true;
      return outcome;
    }
    options.control.report({fmt::format("beta = {}", beta), 0, 0, 0, 0});
    const auto times = mixing_times_of(repetitions, [&](std::uint32_t r, std::size_t m) {
      const std::uint64_t seed = options.seed + r;
      if (m == 0) return mixing_times(GibbsSpinLanes(spins), seed, most, options.control);
      if (m == 1) return mixing_times(PrimalDualLanes(spins), seed, most, options.control);
      if (m == 2)
        return mixing_times(TreePrimalDual(graph, ForestChoice::heaviest), seed, most, options.control);
      return mixing_times(SwendsenWang(graph), seed, most, options.control);
    });
    for (const auto& one : times)
      for (std::size_t m = 0; m < 4; ++m) {
        sweeps[m].push_back(one[m].largest.sweeps);
        by_mean[m].push_back(one[m].mean.sweeps);
        reached[m] += one[m].largest.reached ? 1 : 0;
      }
    for (std::size_t m = 0; m < 4; ++m) {
      outcome.rows.push_back({.name = fmt::format("beta = {}, {}: sweeps", beta, names[m]),
                              .ours = mean_of(sweeps[m]),
                              .spread = deviation_of(sweeps[m]),
                              .note = mixing_row_note(mean_of(by_mean[m]), reached[m], repetitions)});
      figure.curves[m].x.push_back(beta);
      figure.curves[m].y.push_back(mean_of(sweeps[m]));
    }
    const double ratio = mean_of(sweeps[1]) / mean_of(sweeps[0]);
    const double ratio_by_mean = mean_of(by_mean[1]) / mean_of(by_mean[0]);
    outcome.rows.push_back(
        {.name = fmt::format("beta = {}: primal-dual / Gibbs", beta),
         .ours = ratio,
         .note = fmt::format("paper: between 2 and 7; by the mean {:.3g}", ratio_by_mean)});
    least = std::min(least, ratio);
    largest = std::max(largest, ratio);
    tree_helps = tree_helps && mean_of(sweeps[2]) < mean_of(sweeps[1]);
  }
  outcome.figures.push_back(figure);
  outcome.claims.push_back({"primal-dual needs between 2 and 7 times the sweeps of Gibbs at every beta",
                            least >= 2 && largest <= 7});
  outcome.claims.push_back({"a forest of whole pairs needs fewer sweeps than plain primal-dual", tree_helps});
  return outcome;
}

}  // namespace drover::experiments
