// The registry's entry for the portfolio: what roof duality decides is held (drover/infer/spin_cuts.hpp),
// what can be maximised out goes (drover/infer/maximum_reduction.hpp), each part of what remains is searched
// with a proof in view (drover/infer/best_state_search.hpp), and annealing takes turns with that search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "drover/core/figures.hpp"
#include "drover/infer/best_state_search.hpp"
#include "drover/infer/branch_and_bound.hpp"
#include "drover/infer/maximum_reduction.hpp"
#include "drover/infer/sequential_reweighting.hpp"
#include "drover/infer/spin_cuts.hpp"
#include "drover/infer/support.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/sample/anneal/annealed_gibbs.hpp"

namespace drover {

namespace {

constexpr double most_exact_entries = 5e7;  // of all tables, as they are laid out for the search
constexpr std::size_t most_variables = 20'000;
constexpr double all_work = 4e9;  // table entries without a time limit: about half a minute
constexpr double first_slice = 1e7, longest_slice = 4e8;
constexpr std::uint32_t reads = 64;
constexpr std::uint64_t roof_work = 100'000'000;  // arcs: about a second

double table_entries(const Graph& graph) {
  double entries = 4 * static_cast<double>(graph.spin_pairs.size());
  for (std::size_t p = 0; p < graph.potts_pairs.size(); ++p) {
    const double states = graph.cardinalities[graph.potts_pairs.first[p]];
    entries += states * states;
  }
  for (std::size_t f = 0; f < graph.tables.size(); ++f)
    entries += static_cast<double>(graph.tables.values(f).size());
  return entries;
}

std::string why_not_portfolio(const Problem& problem, Task) {
  if (problem.graph().size() > most_variables)
    return fmt::format("it has {} free variables, more than {}: annealing does more on so many",
                       problem.graph().size(), most_variables);
  const double entries = table_entries(problem.graph());
  if (entries <= most_exact_entries) return "";
  return fmt::format("its tables would have {:.2g} entries, more than {:.0e}", entries, most_exact_entries);
}

/// One connected part of the reduced model, and all that is at work on it.
class PartSearch {
 public:
  PartSearch(const MaximumReduction::Part& part, const Problem& problem)
      : variables_(part.variables),
        tables_(compile(part.model, {}, PairTables::kept)),
        search_(tables_, problem.options().seed, problem.memory_limit_bytes()),
        seed_(problem.options().seed) {
    InferenceOptions options;
    options.seed = problem.options().seed;
    // Without a control: what ends the run must not end what lays out a kernel, when there is a state
    // already.
    annealed_ = std::make_unique<Problem>(compile(part.model), options);
    const Graph& graph = annealed_->graph();
    double links = 2 * static_cast<double>(graph.pair_count()) + static_cast<double>(graph.unary.size());
    for (std::size_t f = 0; f < graph.tables.size(); ++f)
      for (VariableId v : graph.tables.scope(f)) links += graph.cardinalities[v];
    sweep_cost_ = (graph.is_spin() ? 0.1 : 0.25) * links * reads;
  }

  void work(double slice, const RunControl& control) {
    if (!search_.has_state() || turn_++ % 2 == 0) {
      search_.run(static_cast<std::uint64_t>(slice), control);
    } else {
      anneal(slice * share_, control);
    }
  }

  const std::vector<VariableId>& variables() const { return variables_; }
  const BestStateSearch& search() const { return search_; }
  BestStateSearch& search() { return search_; }
  const Graph& tables() const { return tables_; }
  double work_done() const { return annealing_work_ + static_cast<double>(search_.work()); }
  std::uint64_t reads_done() const { return reads_done_; }

 private:
  void anneal(double budget, const RunControl& control) {
    const Graph& graph = annealed_->graph();
    AnnealOptions options;
    options.seed = seed_ += 0x9E3779B97F4A7C15U;  // fresh reads, far from any seed a person would type
    options.reads = reads;
    options.sweeps = static_cast<std::uint64_t>(std::clamp(budget / sweep_cost_, 20.0, 20'000.0));
    options.control = &control;
    AnnealResult run;
    if (graph.is_spin()) {
      run = with_lane_kernel(*annealed_, reads,
                             [&](const auto& kernel) { return annealed_gibbs(graph, kernel, options); });
    } else {
      GibbsTableLanes::Options kernel;
      kernel.starts = {search_.state()};
      run = annealed_gibbs(graph, GibbsTableLanes(graph, kernel), options);
    }
    annealing_work_ += sweep_cost_ * static_cast<double>(run.sweeps) / reads;
    reads_done_ += run.reads;
    const bool better = search_.offer(run.assignment);
    share_ = better ? std::min(2.0, 2 * share_) : std::max(0.25, share_ / 2);
  }

  std::vector<VariableId> variables_;
  Graph tables_;
  BestStateSearch search_;
  std::unique_ptr<Problem> annealed_;
  std::uint64_t seed_, reads_done_ = 0;
  std::size_t turn_ = 0;
  double share_ = 1, sweep_cost_ = 1, annealing_work_ = 0;
};

/// The parts together.
struct PortfolioStanding {
  double log_score = 0, upper = 0, work = 0, tolerance = 0;
  bool complete = true, proven = true;
};

PortfolioStanding standing_of(const MaximumReduction& reduction,
                              const std::vector<std::unique_ptr<PartSearch>>& parts) {
  PortfolioStanding all{reduction.constant(), reduction.constant()};
  for (const auto& part : parts) {
    all.log_score += part->search().log_score();
    all.upper += part->search().upper();
    all.work += part->work_done();
    all.tolerance += part->search().tolerance();
    all.complete &= part->search().has_state();
    all.proven &= part->search().proven();
  }
  return all;
}

void report(const PortfolioStanding& now, const RunControl& control) {
  const std::string phase =
      now.complete && std::isfinite(now.upper)
          ? fmt::format("best {}, at most {}", log_text(now.log_score, 6), log_text(now.upper, 6))
          : std::string("searching");
  control.report({phase, std::max(control.time_fraction(), std::min(1.0, now.work / all_work)), 0, 0, 0});
}

void tell(const std::vector<std::unique_ptr<PartSearch>>& parts, const MaximumReduction& reduction,
          BestStateResult& result) {
  std::size_t largest = 0;
  std::uint64_t nodes = 0, anneals = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    nodes += parts[p]->search().nodes();
    anneals += parts[p]->reads_done();
    if (parts[p]->variables().size() > parts[largest]->variables().size()) largest = p;
  }
  result.details["eliminated"] = reduction.eliminated();
  result.details["parts"] = parts.size();
  result.details["nodes"] = nodes;
  result.details["reads"] = anneals;
  if (parts.empty()) {
    result.details["found_by"] = "elimination";
    result.details["proven_by"] = "elimination";
    return;
  }
  result.details["found_by"] = parts[largest]->search().found_by();
  if (result.optimal) result.details["proven_by"] = parts[largest]->search().proven_by();
}

// A tree that takes some minutes, when all else was tried and there is time.
bool can_solve_exactly(const Problem& problem) {
  const ExactPlan& plan = problem.exact_plan();
  return plan.fits(problem.memory_limit_bytes()) && plan.predicted_operations <= 5e10;
}

// Elimination keeps the best state only, so the others are searched for in the whole model, from the best on.
void find_others(const Problem& problem, const RunControl& control, BestStateResult& result) {
  const Graph tables = problem.table_graph();
  const CostNetwork network = cost_network(tables);
  std::vector<VariableId> order(tables.size());
  std::iota(order.begin(), order.end(), 0);
  SoftConsistency consistency(network, order);
  consistency.propagate(infinite_cost);
  ReweightingOptions bound;
  bound.work = 60'000'000;
  bound.target = network.cost(result.assignment);
  reweight_sequentially(consistency, order, bound, control);
  consistency.propagate(infinite_cost);
  BranchAndBound search(consistency, problem.options().best);
  search.offer(result.assignment);
  const auto offer_changes = [&] {
    for (std::size_t k = 0; k < search.found().size() && !control.should_stop(); ++k) {
      std::vector<Value> x = search.found()[k].state;
      for (VariableId v = 0; v < x.size(); ++v) {
        const Value kept = x[v];
        for (x[v] = 0; x[v] < tables.cardinalities[v]; ++x[v])
          if (x[v] != kept) search.offer(x);
        x[v] = kept;
      }
      if (k >= 3) break;
    }
  };
  offer_changes();
  double work = 0;
  while (!search.proven() && !control.should_stop() && (control.has_time_limit() || work < all_work)) {
    search.run(50'000'000, control);
    work += 50'000'000;
    control.report(
        {"other states", std::max(control.time_fraction(), std::min(1.0, work / all_work)), 0, 0, 0});
  }
  if (search.found().empty()) return;
  result.optimal = search.proven();
  for (const BranchAndBound::Found& found : search.found())
    result.states.push_back({found.state, log_score(problem.graph(), found.state)});
  std::stable_sort(result.states.begin(), result.states.end(),
                   [](const RankedState& a, const RankedState& b) { return a.log_score > b.log_score; });
  result.assignment = result.states.front().assignment;
  result.log_score = result.states.front().log_score;
  if (result.optimal) result.upper = result.log_score;
  result.details["nodes_for_others"] = search.nodes();
  if (!result.optimal)
    result.warnings.emplace_back(
        "the states are those found so far: that no other is among the best is not proven");
}

// The variables, of the model, whose value in every best state roof duality knows.
Evidence decided_by_roof_duality(const Problem& problem, const RunControl& control) {
  Evidence decided;
  const Graph& graph = problem.graph();
  if (!graph.is_spin() || !problem.knows_model()) return decided;
  const RunControl part(
      control, control.has_time_limit() ? std::optional(0.1 * control.seconds_left()) : std::nullopt);
  const SpinCut cut = roof_duality(graph, part, roof_work);
  for (VariableId v = 0; v < graph.size(); ++v) {
    if (!cut.decided[v]) continue;
    decided.variables.push_back(graph.model_variable[v]);
    decided.values.push_back(cut.state[v]);
  }
  return decided;
}

BestStateResult best_one(const Problem& problem, const RunControl& control) {
  const Evidence decided = decided_by_roof_duality(problem, control);
  const Graph tables = problem.table_graph(decided);
  const MaximumReduction reduction(tables, {4, 64});
  if (reduction.constant() == log_zero) {
    find_supported_state(tables, problem.options().seed);  // says which factors leave nothing
    throw Error(ErrorKind::bad_data,
                "the model is impossible: Z = 0, every joint state has probability zero");
  }
  std::vector<std::unique_ptr<PartSearch>> parts;
  for (const MaximumReduction::Part& part : reduction.parts())
    parts.push_back(std::make_unique<PartSearch>(part, problem));
  if (!problem.start().empty())
    for (const auto& part : parts) {
      std::vector<Value> x;
      for (VariableId v : part->variables())
        x.push_back(problem.start()[problem.graph().free_variable[tables.model_variable[v]]]);
      part->search().offer(x);
    }

  double slice = first_slice;
  PortfolioStanding now = standing_of(reduction, parts);
  report(now, control);
  while (!now.proven && !(now.complete && control.should_stop()) &&
         (control.has_time_limit() || now.work < all_work)) {
    for (const auto& part : parts) {
      if (part->search().proven()) continue;
      part->work(slice, control);
      if (part->search().has_state()) continue;
      // Without a state of positive probability there is no answer at all.
      if (part->search().proven() || control.should_stop())
        part->search().offer(find_supported_state(part->tables(), problem.options().seed));
    }
    slice = std::min(longest_slice, 1.2 * slice);
    now = standing_of(reduction, parts);
    report(now, control);
  }

  BestStateResult result;
  if (!now.proven && !control.has_time_limit() && !control.should_stop() && can_solve_exactly(problem)) {
    result = exact_method().map(problem, control);
    result.details["found_by"] = "junction tree";
    result.details["proven_by"] = "junction tree";
    return result;
  }
  std::vector<Value> found(tables.size());
  for (const auto& part : parts)
    for (std::size_t k = 0; k < part->variables().size(); ++k)
      found[part->variables()[k]] = part->search().state()[k];
  reduction.extend(found);
  const std::vector<Value> whole = whole_assignment(tables, found);
  for (VariableId v : problem.graph().model_variable) result.assignment.push_back(whole[v]);
  result.log_score = log_score(problem.graph(), result.assignment);
  // Costs of very different sizes leave too few digits for a proof.
  result.optimal = now.proven && now.tolerance <= 1e-6 * (1 + std::abs(result.log_score));
  result.upper = result.optimal ? result.log_score : std::max(now.upper, result.log_score + now.tolerance);
  result.details["gap"] = std::max(0.0, result.upper - result.log_score);
  result.details["work"] = now.work;
  result.details["decided"] = decided.variables.size();
  tell(parts, reduction, result);
  return result;
}

BestStateResult map_by_portfolio(const Problem& problem, const RunControl& control) {
  if (problem.options().best == 1) return best_one(problem, control);
  // Half of the time for the best one.
  const RunControl half(control,
                        control.has_time_limit() ? std::optional(control.seconds_left() / 2) : std::nullopt);
  BestStateResult result = best_one(problem, half);
  find_others(problem, control, result);
  return result;
}

}  // namespace

Method portfolio_method() {
  return {"portfolio",
          "branch and bound, reweighted bounds, tabu search, large neighbourhoods and annealing in turns: a "
          "state, a "
          "bound, a proof",
          "Allouche et al. 2015; Kolmogorov 2015; Hamze and de Freitas 2004",
          why_not_portfolio,
          nullptr,
          map_by_portfolio,
          nullptr,
          nullptr,
          "best",
          1e12};
}

}  // namespace drover
