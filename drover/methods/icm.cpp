// The registry's entry for iterated conditional modes (drover/infer/iterated_modes.hpp).
#include "drover/core/random.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not_icm(const Problem&, Task) {
  return "";
}

// One climb from the best value of each unary, then from random states: as many climbs as chains are asked
// for.
BestStateResult map_by_icm(const Problem& problem, const RunControl& control) {
  const Graph& graph = problem.graph();
  const std::uint32_t climbs = problem.options().chains.count.value_or(16);
  const IteratedModes modes(graph, control);
  const std::vector<std::vector<Value>> supported = starting_states(problem, climbs);
  const Random random(problem.options().seed, Stream::start);
  BestStateResult result;
  result.resolved["chains"] = climbs;
  std::vector<Value> x(graph.size());
  bool complete = true;
  for (std::uint32_t c = 0; c < climbs && !(c > 0 && control.should_stop()); ++c) {
    for (VariableId v = 0; v < graph.size(); ++v) {
      const auto unary = graph.unary_of(v);
      if (!supported.empty()) {
        x[v] = supported[c % supported.size()][v];
      } else if (c == 0) {
        x[v] = static_cast<Value>(std::max_element(unary.begin(), unary.end()) - unary.begin());
      } else {
        x[v] = static_cast<Value>(random.uniform(c, 0, v) * static_cast<double>(unary.size()));
      }
    }
    const Climb climb = modes.climb(x, {}, control);
    complete &= climb.complete;
    result.updates += static_cast<double>(climb.visits);
    if (result.assignment.empty() || climb.log_score > result.log_score) {
      result.assignment = x;
      result.log_score = climb.log_score;
    }
    ++result.chains;
  }
  result.warnings.emplace_back(complete ? "icm stops at a local optimum; portfolio searches further"
                                        : "icm was ended on its way to a local optimum");
  warn_of_connectivity(problem, result);
  return result;
}

}  // namespace

Method icm_method() {
  return {"icm",        "iterated conditional modes: coordinate ascent to a local optimum",
          "Besag 1986", why_not_icm,
          nullptr,      map_by_icm,
          nullptr,      nullptr,
          "chains",     1e300};
}

}  // namespace drover
