// The registry's entry for herded Gibbs (drover/sample/herded/herded_gibbs_tables.hpp,
// herded_gibbs_visited.hpp, herded_gibbs_lattice.hpp).
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "drover/infer/iterated_modes.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/methods/herded_gibbs_plan.hpp"
#include "drover/sample/herded/herded_gibbs_lattice.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"

namespace drover {

std::uint32_t default_herded_chains(const Problem& problem) {
  return problem.graph().size() <= 100'000 ? 16 : 4;
}

namespace {

ChainOptions herded_options(const Problem& problem, Task task) {
  std::uint32_t chains = default_herded_chains(problem);
  if (task == Task::sample) chains = chains_for_samples(wanted_samples(problem.options()), chains);
  ChainOptions options = chain_options(problem, task, chains);
  if (task == Task::map) options.burn_in = 0;
  return options;
}

HerdedPlan plan_for(const Problem& problem, const ChainOptions& options) {
  // A run without a number of sweeps is taken for one of a million.
  const bool open = options.sweeps == ChainOptions::unlimited || options.burn_in == ChainOptions::unlimited;
  const std::uint64_t visits = open ? 1'000'000 : options.burn_in + options.sweeps;
  const Herded& herded = problem.options().herded;
  if (!herded.share)
    return automatic_herded_plan(problem.graph(), options.chains, visits,
                                 static_cast<double>(problem.memory_limit_bytes()));
  return herded_plan(problem.graph(), *herded.share, *herded.share == HerdedShare::bins ? herded.bins : 0,
                     options.chains, visits);
}

/// Which kernel runs, and in which order.
struct HerdedChoice {
  HerdedPlan plan;
  HerdedSchedule schedule;
  std::optional<HerdedLattice> lattice;  ///< set: the kernel for lattices

  std::string_view kernel() const {
    if (lattice) return "lattice of equal couplings, 64 sites at a time";
    return plan.enumerated ? "tables" : "tables of what was visited";
  }
};

HerdedChoice herded_choice(const Problem& problem, const ChainOptions& options) {
  const auto given = problem.options().herded.schedule;
  const bool large = problem.graph().size() >= 10'000;
  HerdedChoice choice{plan_for(problem, options),
                      given.value_or(large ? HerdedSchedule::colours : HerdedSchedule::sequential),
                      {}};
  if (choice.plan.share == HerdedShare::exact &&
      given.value_or(HerdedSchedule::colours) == HerdedSchedule::colours)
    choice.lattice = herded_lattice(problem.graph());
  // Rows are padded to 128 sites: below this width they would exceed the memory planned for tables.
  constexpr std::size_t narrowest = 64;
  if (choice.lattice && choice.lattice->lattice.width < narrowest) choice.lattice.reset();
  if (choice.lattice) choice.schedule = HerdedSchedule::colours;
  return choice;
}

std::string why_not_herded_gibbs(const Problem& problem, Task task) {
  if (task != Task::map) {
    std::string broken = broken_connectivity(problem);
    if (!broken.empty()) return broken;
  }
  if (problem.options().messages.schedule && !problem.options().herded.schedule)
    return fmt::format("herded-gibbs has no schedule {} (sequential, colours, jacobi)",
                       choice_name(*problem.options().messages.schedule));
  if (problem.options().herded.schedule == HerdedSchedule::jacobi && !problem.graph().is_strictly_positive())
    return "the jacobi schedule may leave the support of a model with hard zeros; sequential and colours do "
           "not";
  const HerdedPlan plan = herded_plan(problem, task);
  const auto limit = static_cast<double>(problem.memory_limit_bytes());
  if (plan.bytes <= limit) return "";
  return fmt::format(
      "its weights ({}) would need up to {:.3g} GB, the limit is {:.3g} GB: share them by bins, take fewer "
      "chains "
      "or raise the limit",
      herded_share_text(plan), plan.bytes / 1e9, limit / 1e9);
}

/// A kernel for the problem; its weights were seen to fit. Calls use(kernel).
template <class Use>
auto with_herded_kernel(const Problem& problem, HerdedChoice choice, std::uint32_t chains, Use use) {
  const HerdedPlan& plan = choice.plan;
  HerdedOptions options;
  options.schedule = choice.schedule;
  options.starts = starting_states(problem, chains);
  if (choice.lattice) {
    return use(HerdedGibbsLattice(problem.graph(), std::move(*choice.lattice), options.starts));
  }
  if (plan.enumerated)
    return use(HerdedGibbsTables(
        problem.graph(), plan.share == HerdedShare::exact ? HerdedSharing::exact : HerdedSharing::none,
        options));
  const HerdedKey key = plan.share == HerdedShare::hashed  ? HerdedKey::configuration
                        : plan.share == HerdedShare::exact ? HerdedKey::conditional
                                                           : HerdedKey::bins;
  return use(HerdedGibbsVisited(problem.graph(), key, std::max(1U, plan.bins), options));
}

/// Pins what a checkpoint's weights belong to.
std::string herded_gibbs_run_name(const HerdedChoice& choice) {
  return fmt::format("herded-gibbs {} {}{}", herded_share_text(choice.plan), choice_name(choice.schedule),
                     choice.lattice ? " lattice" : "");
}

bool is_complete(const Graph& graph) {
  const Adjacency near = adjacency(graph);
  for (VariableId v = 0; v < graph.size(); ++v)
    if (near.of(v).size() + 1 != graph.size()) return false;
  return true;
}

void note(const HerdedChoice& choice, RunFacts& facts) {
  facts.details["tables"] = herded_share_text(choice.plan);
  facts.details["kernel"] = std::string(choice.kernel());
  facts.details["schedule"] = choice_name(choice.schedule);
  facts.details["predicted_bytes"] = choice.plan.bytes;
}

void warn(const Problem& problem, const HerdedChoice& choice, RunFacts& facts) {
  facts.details["approximates"] = true;
  const HerdedPlan& plan = choice.plan;
  const bool whole = plan.share == HerdedShare::dense || plan.share == HerdedShare::hashed;
  if (!is_complete(problem.graph()))
    facts.warnings.emplace_back(
        "herded Gibbs is only known to converge on complete graphs; this graph is not complete, and the "
        "estimates may settle beside the true values: compare with exact marginals or another method");
  else if (!whole || choice.schedule == HerdedSchedule::jacobi)
    facts.warnings.emplace_back(
        "herded Gibbs is only known to converge with one weight per configuration and variables updated in "
        "turn; shared and binned weights and the jacobi schedule carry no guarantee");
  facts.warnings.emplace_back(
      "the draws are deterministic: standard errors, R-hat and effective sample sizes measure the spread "
      "between chains that began with different weights, and see no error that all chains have in common");
  warn_of_unknown_connectivity(problem, facts);
}

void run_herded_gibbs(const Problem& problem, const ChainOptions& options, const RunControl&,
                      ChainTask& task) {
  const HerdedChoice choice = herded_choice(problem, options);
  with_herded_kernel(problem, choice, options.chains, [&](const auto& kernel) {
    RunFacts& facts = task.run(herded_gibbs_run_name(choice), kernel);
    note(choice, facts);
    warn(problem, choice, facts);
  });
}

constexpr ChainSampler herded_gibbs_sampler{default_herded_chains, run_herded_gibbs};

// The best joint state over all sweeps of all chains, and every chain's last, each climbed to its top.
BestStateResult map_by_herded_gibbs(const Problem& problem, const RunControl& control) {
  const ChainOptions options = herded_options(problem, Task::map);
  const HerdedChoice choice = herded_choice(problem, options);
  return with_herded_kernel(problem, choice, options.chains, [&](const auto& kernel) {
    ChainRun run(kernel, options, control);
    run.run(control, [](std::uint32_t, std::span<const Value>, double) {});
    BestStateResult result;
    const IteratedModes modes(problem.graph());
    const auto offer = [&](std::vector<Value> x) {
      const Climb climb = modes.climb(x);
      if (!result.assignment.empty() && climb.log_score <= result.log_score) return;
      result.assignment = std::move(x);
      result.log_score = climb.log_score;
    };
    if (!run.best_state().empty()) offer(run.best_state());
    std::vector<Value> last(problem.graph().size());
    for (std::uint32_t chain = 0; chain < options.chains; ++chain) {
      run.read(chain, last);
      offer(last);
    }
    fill_facts(run, result);
    note(choice, result);
    result.details["best_draw_log_score"] = run.best_log_score();
    warn_of_connectivity(problem, result);
    return result;
  });
}

}  // namespace

std::string herded_share_text(const HerdedPlan& plan) {
  const std::string name(choice_name(plan.share));
  return plan.share == HerdedShare::bins ? name + ":" + std::to_string(plan.bins) : name;
}

HerdedPlan herded_plan(const Problem& problem, Task task) {
  return plan_for(problem, herded_options(problem, task));
}

Method herded_gibbs_method() {
  Method method = chain_method<herded_gibbs_sampler>(
      "herded-gibbs",
      "deterministic Gibbs: a weight per variable and neighbourhood holds the frequencies down",
      "Bornn, Chen, de Freitas, Eskelin, Fang and Welling 2013", why_not_herded_gibbs, "share bins schedule");
  method.map = map_by_herded_gibbs;
  return method;
}

}  // namespace drover
