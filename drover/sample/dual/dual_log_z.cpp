#include "drover/sample/dual/dual_log_z.hpp"

#include <algorithm>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/dual/primal_dual_plain.hpp"
#include "drover/sample/dual/swendsen_wang.hpp"

namespace drover {

namespace {

// -log p(x | log-odds of 1)
double surprise(Value x, double log_odds) {
  const double against = x == 1 ? -log_odds : log_odds;
  return against > 0 ? against + std::log1p(std::exp(-against)) : std::log1p(std::exp(against));
}

// The effect of dual t = 2 theta - 1 on the log-odds of its variables.
void add_dual(const SpinEdges::Edge& edge, const SpinDual& dual, bool theta, std::span<double> log_odds) {
  const double gain = theta ? dual.strength : -dual.strength;
  log_odds[edge.first] += gain;
  log_odds[edge.second] += dual.flip ? -gain : gain;
}

std::vector<SpinDual> duals_of(const SpinEdges& graph) {
  std::vector<SpinDual> duals;
  duals.reserve(graph.edges.size());
  for (const auto& edge : graph.edges) duals.push_back(dual_of_coupling(edge.coupling));
  return duals;
}

// Runs the chains round by round, so that all have equally many draws when stopped: make(chain) gives a
// function from the number of a sweep to log V.
template <class Make>
DualLogZDraws run_chains(const DualLogZOptions& options, const Make& make) {
  constexpr std::uint64_t round = 32;
  using Step = decltype(make(std::uint32_t{0}));
  std::vector<Step> steps;
  for (std::uint32_t c = 0; c < options.chains; ++c) steps.push_back(make(c));
  const std::uint64_t total = options.burn_in + options.sweeps;
  std::vector<std::vector<double>> values(options.chains);
  std::uint64_t done = 0;
  while (done < total) {
    if (options.control->should_stop()) {
      if (done > options.burn_in + 3) break;
      fail_stopped(*options.control, "the bound by duals");
    }
    const std::uint64_t end = std::min(total, done + round);
    parallel_for(std::uint32_t{0}, options.chains, [&](std::uint32_t c) {
      for (std::uint64_t sweep = done; sweep < end; ++sweep) {
        const double log_v = steps[c](sweep);
        if (sweep >= options.burn_in) values[c].push_back(log_v);
      }
    });
    done = end;
  }
  DualLogZDraws draws;
  draws.chains = options.chains;
  draws.draws = done - options.burn_in;
  for (const auto& chain : values) draws.log_v.insert(draws.log_v.end(), chain.begin(), chain.end());
  return draws;
}

}  // namespace

double log_dual_weight(const SpinEdges& graph, std::span<const Value> x, std::span<const Value> duals) {
  std::vector<double> log_odds(graph.field.begin(), graph.field.end());
  for (std::size_t e = 0; e < graph.edges.size(); ++e)
    add_dual(graph.edges[e], dual_of_coupling(graph.edges[e].coupling), duals[e] == 1, log_odds);
  double total = log_score(graph, x);
  for (std::size_t i = 0; i < graph.size(); ++i) total += surprise(x[i], log_odds[i]);
  return total;
}

DualLogZDraws dual_log_z(const SpinEdges& graph, const DualLogZOptions& options) {
  const std::vector<SpinDual> duals = duals_of(graph);
  const Random start(options.seed, Stream::start), random(options.seed, Stream::sweep);
  const auto first_site = static_cast<std::uint32_t>(graph.edges.size());
  return run_chains(options, [&](std::uint32_t chain) {
    std::vector<Value> x(graph.size());
    for (std::uint32_t i = 0; i < graph.size(); ++i) x[i] = start.uniform(chain, 0, i) < 0.5 ? 0 : 1;
    return [&, chain, first_site, x = std::move(x),
            log_odds = std::vector<double>(graph.size())](std::uint64_t sweep) mutable {
      std::ranges::copy(graph.field, log_odds.begin());
      for (std::uint32_t e = 0; e < graph.edges.size(); ++e) {
        const auto& edge = graph.edges[e];
        const bool agree = (x[edge.first] == x[edge.second]) != duals[e].flip;
        const bool noise = random.uniform(chain, sweep, e) < (agree ? duals[e].noise : 0.5);
        add_dual(edge, duals[e], (x[edge.first] == 1) != noise, log_odds);
      }
      double log_v = 0;
      for (std::uint32_t i = 0; i < graph.size(); ++i) {
        x[i] = random.uniform(chain, sweep, first_site + i) < 1 / (1 + std::exp(-log_odds[i])) ? 1 : 0;
        log_v += surprise(x[i], log_odds[i]);
      }
      return log_v + log_score(graph, x);
    };
  });
}

DualLogZDraws cluster_log_z(const Graph& graph, const DualLogZOptions& options) {
  const SwendsenWang kernel(graph);
  return run_chains(options, [&](std::uint32_t chain) {
    return [&, state = kernel.start(options.seed, chain),
            sums = std::vector<float>(kernel.entry_count())](std::uint64_t sweep) mutable {
      kernel.sweep(state, sweep, ConditionalSums{sums});
      return log_score(graph, state.values) - kernel.log_cluster_probability(state);
    };
  });
}

}  // namespace drover
