#include "drover/methods/memory_need.hpp"

#include <fmt/format.h>

#include <array>

#include "drover/core/plural.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/herded_gibbs_plan.hpp"
#include "drover/methods/pmp.hpp"
#include "drover/methods/sweep_cost.hpp"

namespace drover {

namespace {

const MemoryPrice* price_of(const Method& method, const Problem& problem, Task task) {
  const bool spins = problem.graph().is_spin();
  const std::string own = fmt::format("{} {}", method.name, task_name(task));
  const MemoryPrice* found = nullptr;
  for (const MemoryPrice& price : memory_prices()) {
    if (price.spins != spins) continue;
    if (price.method == own) return &price;
    if (price.method == method.name) found = &price;
  }
  return found;
}

/// As many as the run would have; 0 for what runs no chains.
std::uint32_t chains_of(const Method& method, const Problem& problem, Task task) {
  if (method.usual_chains == nullptr || task == Task::logz) return 0;
  const std::uint32_t usual = method.usual_chains(problem);
  return problem.options().chains.count.value_or(
      task == Task::sample ? chains_for_samples(wanted_samples(problem.options()), usual) : usual);
}

struct PlannedDraws {
  std::uint64_t burn_in, kept;
};

/// Of every chain, as far as they are known: a run that is not told how long it is to be fills its segments. Those of samples are
/// short or long by the burn-in: without one at hand, as short as they may be.
PlannedDraws planned_draws(const Problem& problem, Task task, std::uint32_t chains) {
  const Chains& asked = problem.options().chains;
  const std::uint64_t usual = task == Task::sample ? 0 : usual_burn_in(problem, chains, 1);
  return {asked.burn_in.value_or(usual) / asked.thin,
          asked.sweeps           ? *asked.sweeps / asked.thin
          : task == Task::sample ? (wanted_samples(problem.options()) + chains - 1) / chains
                                 : SegmentStore::unknown_draws};
}

double bytes_with(const MemoryPrice& price, const Problem& problem, Task task, std::uint32_t chains) {
  const Graph& graph = problem.graph();
  SweepSize size = sweep_size(graph);
  if (price.method != "lp")  // a table that factors share is held once
    size.entries = static_cast<double>(graph.tables.log_values.size());
  else  // a column for every pair of states
    for (VariableId v : graph.potts_pairs.first)
      size.entries += static_cast<double>(graph.cardinalities[v]) * graph.cardinalities[v];
  double bytes =
      price.per_variable * size.variables + price.per_link * size.links + price.per_entry * size.entries;
  if (price.method == "exact") bytes += problem.exact_plan().predicted_bytes;
  if (price.method == "pmp") bytes += pmp_bytes(problem, task);
  if (price.method == "herded-gibbs") bytes += herded_plan(problem, task).bytes;
  if (chains == 0) return bytes;
  const bool long_chains = chains <= 8 && graph.size() >= 10'000;
  const std::uint32_t lanes = long_chains ? 1 : price.lanes;
  const std::size_t whole_batches = (chains + lanes - 1) / lanes * lanes;
  const auto held = static_cast<double>(whole_batches);
  std::size_t entries = 0;
  const bool means =
      long_chains && price.method == "gibbs" && !price.spins && !problem.options().state_values.empty();
  for (std::uint32_t states : graph.cardinalities) entries += means || states == 2 ? 1 : states;
  const PlannedDraws draws = planned_draws(problem, task, chains);
  return bytes +
         held * (price.per_state_of_chain * static_cast<double>(graph.unary.size()) +
                 sizeof(float) * static_cast<double>(entries)) +
         static_cast<double>(SegmentStore::planned_bytes(entries, chains, ChainOptions().estimator_memory,
                                                         draws.burn_in, draws.kept));
}

}  // namespace

double needed_bytes(const Method& method, const Problem& problem, Task task) {
  const MemoryPrice* const price = price_of(method, problem, task);
  return price == nullptr ? 0 : bytes_with(*price, problem, task, chains_of(method, problem, task));
}

std::string why_not_memory(const Method& method, const Problem& problem, Task task) {
  const MemoryPrice* const price = price_of(method, problem, task);
  if (price == nullptr) return "";
  const auto limit = static_cast<double>(problem.memory_limit_bytes());
  const std::uint32_t chains = chains_of(method, problem, task);
  const double bytes = bytes_with(*price, problem, task, chains);
  if (bytes <= limit) return "";
  std::uint32_t fewer = chains / 2;
  while (fewer > 0 && bytes_with(*price, problem, task, fewer) > limit) fewer /= 2;
  return fmt::format("it would need about {:.3g} GB{}, the memory limit is {:.3g} GB{}", bytes / 1e9,
                     chains > 0 ? " with " + counted(chains, "chain") : "", limit / 1e9,
                     fewer > 0 ? fmt::format("; {} would fit", counted(fewer, "chain")) : "");
}

std::span<const MemoryPrice> memory_prices() {
  static constexpr std::array rows = {
      MemoryPrice{"exact", true, 1, 0, 20, 0, 0},
      MemoryPrice{"exact", false, 1, 0, 20, 8, 0},
      MemoryPrice{"max-flow", true, 1, 0, 17, 0, 0},
      MemoryPrice{"gibbs", true, 64, 0, 14, 0, 0.5},
      MemoryPrice{"gibbs", false, 64, 0, 0, 30, 0.5},
      MemoryPrice{"blocked-gibbs", true, 64, 170, 0, 0, 6.1},
      MemoryPrice{"blocked-gibbs", false, 64, 170, 0, 8, 28},
      MemoryPrice{"tempering", true, 1, 0, 14, 0, 160},
      MemoryPrice{"tempering", false, 1, 0, 0, 30, 180},
      MemoryPrice{"ais", true, 1, 0, 50, 0, 0},
      MemoryPrice{"ais", false, 1, 0, 8, 28, 0},
      MemoryPrice{"annealed-gibbs", true, 1, 0, 64, 0, 0},
      MemoryPrice{"annealed-gibbs", false, 1, 0, 12, 27, 0},
      MemoryPrice{"icm", true, 1, 0, 12, 0, 0},
      MemoryPrice{"icm", false, 1, 0, 3, 4, 0},
      MemoryPrice{"herded-gibbs", true, 1, 0, 20, 0, 1},
      MemoryPrice{"herded-gibbs", false, 1, 0, 20, 8, 1},
      MemoryPrice{"gwg", true, 1, 0, 6, 0, 9.2},
      MemoryPrice{"pmp", true, 1, 0, 0, 0, 0},
      MemoryPrice{"pmp", false, 1, 0, 52, 0, 0},
      MemoryPrice{"bp", true, 1, 0, 57, 0, 0},
      MemoryPrice{"bp", false, 1, 0, 30, 0, 0},
      MemoryPrice{"max-product", true, 1, 0, 57, 0, 0},
      MemoryPrice{"max-product", false, 1, 0, 26, 0, 0},
      MemoryPrice{"trw", true, 1, 0, 130, 0, 0},
      MemoryPrice{"trw", false, 1, 0, 62, 0, 0},
      MemoryPrice{"mplp", true, 1, 0, 28, 0, 0},
      MemoryPrice{"mplp", false, 1, 0, 14, 0, 0},
      MemoryPrice{"lp", true, 1, 0, 400, 0, 0},
      MemoryPrice{"lp", false, 1, 0, 150, 460, 0},
      MemoryPrice{"primal-dual", true, 64, 100, 0, 0, 0},
      MemoryPrice{"primal-dual", false, 16, 0, 0, 0, 16.3},
      MemoryPrice{"primal-dual logz", true, 1, 0, 54, 0, 0},
      MemoryPrice{"tree-primal-dual", true, 16, 0, 0, 0, 17},
      MemoryPrice{"tree-primal-dual", false, 16, 0, 0, 0, 16.4},
      MemoryPrice{"primal-dual-em", true, 1, 0, 28, 0, 0},
      MemoryPrice{"primal-dual-mean-field", true, 1, 0, 34, 0, 0},
      MemoryPrice{"swendsen-wang", true, 1, 0, 0, 0, 18},
      MemoryPrice{"swendsen-wang", false, 1, 0, 0, 0, 1},
      MemoryPrice{"swendsen-wang logz", true, 1, 0, 148, 0, 0},
      MemoryPrice{"swendsen-wang logz", false, 1, 0, 43, 0, 0},
      MemoryPrice{"partial-swendsen-wang", true, 1, 0, 0, 0, 18},
      MemoryPrice{"partial-swendsen-wang", false, 1, 0, 0, 0, 13.5},
      MemoryPrice{"generalized-swendsen-wang", true, 1, 0, 0, 0, 12.9},
      MemoryPrice{"generalized-swendsen-wang", false, 1, 0, 0, 0, 3.2},
      MemoryPrice{"mean-field", true, 1, 0, 11, 0, 0},
      MemoryPrice{"mean-field", false, 1, 0, 10, 2, 0},
  };
  return rows;
}

}  // namespace drover
