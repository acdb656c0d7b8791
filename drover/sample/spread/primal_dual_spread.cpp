#include "drover/sample/spread/primal_dual_spread.hpp"

#include "drover/core/error.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"

namespace drover {

PrimalDualSpread::PrimalDualSpread(const SpinGraph& graph, const Ranks& ranks)
    : spins_(PrimalDualChain::edges_by_direction(graph)),
      spread_(dual_spin_graph(spins_),
              PrimalDualChain::duals_then_variables(spins_.size(), spins_.edges.size()), {true, false}, graph,
              ranks) {}

void PrimalDualSpread::log_scores(const State& state, std::span<double> scores) const {
  const auto mine = [&](std::uint32_t variable) { return spread_.owns(variable); };
  WholeSum::Parts parts = PrimalDualChain::score_of(spins_, spread_.kernel().places(), state, mine).parts();
  ranks().add_up(parts);
  scores[0] = spins_.log_constant + WholeSum::of(parts).value();
}

void PrimalDualSpread::set_inverse_temperatures(State& state,
                                                std::span<const float> inverse_temperatures) const {
  if (inverse_temperatures[0] != 1)
    throw Error(ErrorKind::misfit, "primal-dual sampling on several ranks knows temperature 1 only");
  spread_.kernel().set_inverse_temperatures(state, inverse_temperatures);
}

}  // namespace drover
