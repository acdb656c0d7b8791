// The registry's entry for Gibbs with gradients.
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"

namespace drover {

namespace {

std::string why_not_gwg(const Problem& problem, Task) {
  if (!problem.graph().is_spin()) return "gwg is for binary variables with pair factors and no hard zeros";
  const double field = largest_field(spin_graph(problem.graph(), problem.control()));
  if (!(field <= GibbsWithGradients::most_field))
    return fmt::format("gwg is for log factors that add up to at most {} at a variable, here {:.3g}",
                       GibbsWithGradients::most_field, field);
  return "";
}

std::uint32_t default_gwg_chains(const Problem&) {
  return 16;
}

double gwg_update_cost(const Problem&) {
  return 30;
}

void run_gwg(const Problem& problem, const ChainOptions&, const RunControl&, ChainTask& task) {
  const SpinGraph spins = spin_graph(problem.graph(), problem.control());
  const GibbsWithGradients kernel(spins);
  Moves moves;
  RunFacts& facts =
      task.run("gwg", kernel, [&](const ChainRun& run) { moves = run.totals<GibbsWithGradients>(); });
  facts.details["acceptance"] = moves.acceptance();
}

constexpr ChainSampler gwg_sampler{default_gwg_chains, run_gwg, gwg_update_cost};

}  // namespace

Method gwg_method() {
  return chain_method<gwg_sampler>(
      "gwg", "Gibbs with gradients: flips chosen by what they gain, with an acceptance step",
      "Grathwohl, Swersky, Hashemi, Duvenaud, Maddison 2021", why_not_gwg);
}

}  // namespace drover
