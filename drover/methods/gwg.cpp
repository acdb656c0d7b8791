// The registry's entry for Gibbs with gradients.
#include <fmt/format.h>

#include "drover/compile/spin_graph.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/sample/gibbs/gibbs_with_gradients.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_chains = 16;

std::string why_not(const Problem& problem, Task) {
  if (!problem.graph().is_spin()) return "gwg is for binary variables with pair factors and no hard zeros";
  const double field = largest_field(spin_graph(problem.graph()));
  if (!(field <= GibbsWithGradients::most_field))
    return fmt::format("gwg is for log factors that add up to at most {} at a variable, here {:.3g}",
                       GibbsWithGradients::most_field, field);
  return "";
}

/// Accepted proposals of all chains.
struct Acceptance {
  double accepted = 0;
  void operator()(const GibbsWithGradients::State& state) { accepted += static_cast<double>(state.accepted); }
};

void note(const Acceptance& acceptance, RunFacts& facts) {
  if (facts.updates > 0) facts.details["acceptance"] = acceptance.accepted / facts.updates;
}

MarginalsResult marginals(const Problem& problem, const Monitor& monitor) {
  const SpinGraph spins = spin_graph(problem.graph());
  const GibbsWithGradients kernel(spins);
  Acceptance acceptance;
  MarginalsResult result =
      marginals_by_chains(problem, "gwg", kernel, chain_options(problem, Task::marginals, default_chains),
                          monitor, std::ref(acceptance));
  note(acceptance, result);
  return result;
}

SampleResult sample(const Problem& problem, const Monitor& monitor, DrawConsumer& consumer) {
  const SpinGraph spins = spin_graph(problem.graph());
  const GibbsWithGradients kernel(spins);
  const std::uint32_t chains = chains_for_samples(wanted_samples(problem.settings()), default_chains);
  Acceptance acceptance;
  SampleResult result = sample_by_chains(problem, "gwg", kernel, chain_options(problem, Task::sample, chains),
                                         monitor, consumer, std::ref(acceptance));
  note(acceptance, result);
  return result;
}

}  // namespace

Method gwg_method() {
  return {"gwg",
          "Gibbs with gradients: flips chosen by what they gain, with an acceptance step",
          "Grathwohl, Swersky, Hashemi, Duvenaud, Maddison 2021",
          why_not,
          marginals,
          nullptr,
          nullptr,
          sample,
          chain_option_names};
}

}  // namespace drover
