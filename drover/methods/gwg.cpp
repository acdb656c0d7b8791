// The registry's entry for Gibbs with gradients.
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"

namespace drover {

namespace {

std::string why_not(const Problem& problem, Task) {
  if (!problem.graph().is_spin()) return "gwg is for binary variables with pair factors and no hard zeros";
  const double field = largest_field(spin_graph(problem.graph(), problem.control()));
  if (!(field <= GibbsWithGradients::most_field))
    return fmt::format("gwg is for log factors that add up to at most {} at a variable, here {:.3g}",
                       GibbsWithGradients::most_field, field);
  return "";
}

struct GradientsAdapter {
  static std::uint32_t default_chains(const Problem&) { return 16; }
  static double update_cost(const Problem&) { return 30; }

  template <class Go>
  static auto run(const Problem& problem, const ChainOptions&, const RunControl&, Go go) {
    const SpinGraph spins = spin_graph(problem.graph(), problem.control());
    const GibbsWithGradients kernel(spins);
    Moves moves;
    auto result = go("gwg", kernel, [&](const Moves& all) { moves = all; });
    result.details["acceptance"] = moves.acceptance();
    return result;
  }
};

}  // namespace

Method gwg_method() {
  return chain_method<GradientsAdapter>(
      "gwg", "Gibbs with gradients: flips chosen by what they gain, with an acceptance step",
      "Grathwohl, Swersky, Hashemi, Duvenaud, Maddison 2021", why_not);
}

}  // namespace drover
