// The registry's entry for single-site Gibbs sampling.
#include <algorithm>

#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"

namespace drover {

namespace {

std::string why_not(const Problem& problem, Task) {
  return broken_connectivity(problem);
}

struct GibbsAdapter {
  static std::uint32_t default_chains(const Problem& problem) { return default_gibbs_chains(problem); }
  /// Tables are drawn from state by state.
  static double update_cost(const Problem& problem) {
    const Graph& graph = problem.graph();
    if (graph.is_spin() || graph.size() == 0) return 1;
    return std::max(1.0, static_cast<double>(graph.unary.size()) / (2 * static_cast<double>(graph.size())));
  }

  template <class Go>
  static auto run(const Problem& problem, const ChainOptions& options, const RunControl& control, Go go) {
    return with_gibbs_kernel(problem, options.chains, control.ranks(),
                             [&](const auto& kernel, const char* kernel_name) {
                               auto result = go("gibbs", kernel);
                               result.details["kernel"] = kernel_name;
                               warn_of_unknown_connectivity(problem, result);
                               return result;
                             });
  }
};

}  // namespace

Method gibbs_method() {
  return chain_method<GibbsAdapter>("gibbs", "single-site Gibbs sampling, many chains at once",
                                    "Geman and Geman 1984", why_not, "scan");
}

}  // namespace drover
