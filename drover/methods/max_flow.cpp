// The registry's entry for cheapest cuts (drover/infer/spin_cuts.hpp): a best state of balanced spin models.
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/spin_cuts.hpp"
#include "drover/methods/all.hpp"

namespace drover {

namespace {

std::string why_not_max_flow(const Problem& problem, Task) {
  const Graph& graph = problem.graph();
  if (!graph.is_spin())
    return "it takes binary variables with strictly positive factors of one or two variables";
  if (!balancing_flips(graph))
    return "some cycle of the model has an odd number of repulsive pairs, so that no turning round of spins "
           "makes all pairs attractive";
  return "";
}

BestStateResult map_by_max_flow(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.graph();
  SpinCut cut = balanced_cut(graph, *balancing_flips(graph), control);
  BestStateResult result;
  // Cut short there is a bound but no state: the nearest local optimum then.
  if (!cut.complete) IteratedModes(graph).climb(cut.state);
  result.assignment = std::move(cut.state);
  result.log_score = log_score(graph, result.assignment);
  result.optimal = cut.complete;
  result.upper = cut.complete ? result.log_score : std::max(cut.upper, result.log_score);
  if (!cut.complete)
    result.warnings.emplace_back("the flow was not finished: the state is a local optimum, the bound holds");
  return result;
}

}  // namespace

Method max_flow_method() {
  return {"max-flow",
          "a cheapest cut: a proven best state where spins can be turned so that all pairs attract",
          "Greig, Porteous and Seheult 1989; Boykov and Kolmogorov 2004",
          why_not_max_flow,
          nullptr,
          map_by_max_flow,
          nullptr,
          nullptr,
          " ",
          1e12};
}

}  // namespace drover
