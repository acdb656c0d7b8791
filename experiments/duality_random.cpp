// Duality, section 6, second model: random graphs of n = 1000 variables and k n factors, k = 2 .. 64, all log
// potentials standard normal: sequential Gibbs against primal-dual, tree-blocked and generalized
// Swendsen-Wang (the couplings have both signs, so that Swendsen-Wang itself does not fit).
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/dual/generalized_swendsen_wang.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "experiments/all.hpp"
#include "experiments/duality_mixing.hpp"

namespace drover::experiments {

namespace {

// Factors over pairs drawn uniformly, with replacement; every entry of every unary and table standard normal.
Graph random_factors(std::uint32_t variables, std::uint32_t factors, std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(variables, 2);
  for (VariableId v = 0; v < variables; ++v) {
    const double values[2] = {random.normal(), random.normal()};
    model.unaries.add(v, values);
  }
  for (std::uint32_t f = 0; f < factors; ++f) {
    const VariableId i = random.below(variables), j = (i + 1 + random.below(variables - 1)) % variables;
    const VariableId scope[2] = {i, j};
    const double values[4] = {random.normal(), random.normal(), random.normal(), random.normal()};
    model.tables.add(scope, values);
  }
  return compile(model);
}

}  // namespace

Outcome duality_random(const Options& options) {
  Outcome outcome;
  const std::uint32_t variables = options.quick ? 100 : 1000;
  // Sparse graphs mix at all and are cheap, so that they may take longer.
  const auto most_sweeps = [&](std::uint32_t k) -> std::uint64_t {
    return options.quick ? 4'000 : k <= 4 ? 100'000 : 10'000;
  };
  const std::uint64_t most_slow = options.quick ? 8000 : 20000;  // over k: these two are costly
  const std::uint32_t repetitions = options.quick ? 1 : 3;
  const std::vector<std::uint32_t> factors =
      options.quick ? std::vector<std::uint32_t>{1, 2} : std::vector<std::uint32_t>{2, 4, 8, 16, 32, 64};
  if (options.quick) outcome.notes.push_back(fmt::format("quick: {} variables, k = 1 and 2", variables));
  outcome.notes.push_back(
      fmt::format("runs end after {} sweeps, {} for k above 4; tree-primal-dual and generalized "
                  "Swendsen-Wang after {} / k",
                  most_sweeps(2), most_sweeps(8), most_slow));
  outcome.notes.emplace_back("what was not reached by then is noted and counted as that");
  outcome.notes.emplace_back(
      "the PSRF is the mean over variables of that over the last half of the sweeps: a few of a thousand "
      "variables hardly ever move here, which would decide the largest");
  Figure figure{.title = "Random graphs",
                .caption = "Sweeps until the PSRF of ten chains stays below 1.01.",
                .x_label = "factors per variable",
                .y_label = "sweeps",
                .log_x = true,
                .log_y = true};
  const char* names[] = {"Gibbs", "primal-dual", "tree-primal-dual", "generalized Swendsen-Wang"};
  for (const char* name : names) figure.curves.push_back({name, {}, {}});
  std::uint32_t compared = 0, gibbs_first = 0;  // runs where both Gibbs and primal-dual reached it
  std::vector<std::uint32_t> dual_reached;
  for (std::uint32_t k : factors) {
    std::vector<std::vector<double>> sweeps(4);
    std::uint32_t reached[4] = {};
    if (options.control.should_stop()) {
      outcome.interrupted = true;
      return outcome;
    }
    options.control.report({fmt::format("k = {}", k), 0, 0, 0, 0});
    const auto times = mixing_times_of(repetitions, [&](std::uint32_t r, std::size_t m) {
      const Graph graph = random_factors(variables, k * variables, options.seed + r);
      const SpinGraph spins = spin_graph(graph);
      const std::uint64_t most = most_sweeps(k), few = most_slow / k;
      if (m == 0)
        return mixing_times(GibbsSpinLanes(spins), options.seed, most, options.control, Reading::mean);
      if (m == 1)
        return mixing_times(PrimalDualLanes(spins), options.seed, most, options.control, Reading::mean);
      if (m == 2)
        return mixing_times(TreePrimalDual(graph, ForestChoice::heaviest), options.seed, few, options.control,
                            Reading::mean);
      return mixing_times(GeneralizedSwendsenWang(graph), options.seed, few, options.control, Reading::mean);
    });
    for (const auto& one : times)
      for (std::size_t m = 0; m < 4; ++m) {
        sweeps[m].push_back(one[m].mean.sweeps);
        reached[m] += one[m].mean.reached ? 1 : 0;
      }
    for (const auto& one : times) {
      if (!one[0].mean.reached || !one[1].mean.reached) continue;
      ++compared;
      gibbs_first += one[0].mean.sweeps < one[1].mean.sweeps ? 1 : 0;
    }
    dual_reached.push_back(reached[1]);
    for (std::size_t m = 0; m < 4; ++m) {
      outcome.rows.push_back({.name = fmt::format("k = {}, {}: sweeps", k, names[m]),
                              .ours = mean_of(sweeps[m]),
                              .spread = deviation_of(sweeps[m]),
                              .note = fmt::format("reached in {} of {}", reached[m], repetitions)});
      figure.curves[m].x.push_back(k);
      figure.curves[m].y.push_back(mean_of(sweeps[m]));
    }
  }
  outcome.figures.push_back(figure);
  outcome.claims.push_back({"primal-dual mixes in every run at the smallest number of factors per variable",
                            dual_reached.front() == repetitions});
  outcome.claims.push_back({"Gibbs needs fewer sweeps than primal-dual in every run where both mix",
                            compared > 0 && gibbs_first == compared});
  outcome.claims.push_back({"fewer runs of primal-dual mix at the largest number of factors per variable",
                            dual_reached.back() < dual_reached.front()});
  return outcome;
}

}  // namespace drover::experiments
