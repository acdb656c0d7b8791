#include "drover/serve/exact_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "drover/core/error.hpp"

namespace drover {

/// The graph with findings on top of its unaries, for as long as this lives, and its tree.
class ExactNetwork::Weighted {
 public:
  Weighted(ExactNetwork& network, std::span<const Finding> findings, const RunControl& control)
      : kept_{network.graph_, network.graph_.unary} {
    Graph& graph = network.graph_;
    for (const Finding& finding : findings) {
      const VariableId free = graph.free_variable[finding.variable];
      if (free == no_variable) {  // a single state, or one that no evidence is needed for
        constant_ += std::log(finding.likelihood[graph.clamped_value[finding.variable]]);
        continue;
      }
      for (std::size_t k = 0; k < finding.likelihood.size(); ++k)
        graph.unary[graph.unary_offsets[free] + k] += std::log(finding.likelihood[k]);
    }
    if (constant_ == log_zero) impossible();
    ExactOptions options = network.options_;
    options.control = &control;
    tree_ = std::make_unique<JunctionTree>(graph, network.plan_, options);
  }

  JunctionTree& tree() { return *tree_; }
  double log_z() { return tree_->log_z() + constant_; }

 private:
  static void impossible() {
    throw Error(ErrorKind::bad_data, "the evidence is impossible: no state agrees with it");
  }

  // A member, so that the graph is as it was though the constructor throws.
  struct Kept {
    Graph& graph;
    SharedArray<double> unary;
    Kept(Graph& of, SharedArray<double> kept) : graph(of), unary(std::move(kept)) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { graph.unary = std::move(unary); }
  };
  Kept kept_;
  double constant_ = 0;
  std::unique_ptr<JunctionTree> tree_;
};

ExactNetwork::ExactNetwork(const Model& model, std::size_t memory_limit_bytes)
    : model_(model), graph_(compile(model)) {
  options_.memory_limit_bytes = memory_limit_bytes;
  if (!can_expand_gates(graph_)) {
    why_not_ = "it has gates too large for tables";
    return;
  }
  if (graph_.gates.size() > 0) graph_ = expand_gates(graph_);
  plan_ = plan_exact(graph_, options_);
  try {
    log_z_ = JunctionTree(graph_, plan_, options_).log_z();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::misfit) throw;
    why_not_ = error.what();
  }
}

void check_findings(const Model& model, std::span<const Finding> findings) {
  for (const Finding& finding : findings) {
    if (finding.variable >= model.variable_count())
      throw Error(ErrorKind::usage, fmt::format("there is no variable {}", finding.variable));
    const std::size_t states = model.cardinalities[finding.variable];
    const bool numbers =
        std::ranges::all_of(finding.likelihood, [](double l) { return l >= 0 && std::isfinite(l); });
    const bool some = std::ranges::any_of(finding.likelihood, [](double l) { return l > 0; });
    if (finding.likelihood.size() != states || !numbers || !some)
      throw Error(ErrorKind::usage,
                  fmt::format("evidence of {} needs {} likelihoods, none negative, not all zero",
                              model.variable_name(finding.variable), states));
  }
}

void ExactNetwork::check(std::span<const Finding> findings) const {
  if (!why_not_.empty()) throw Error(ErrorKind::misfit, why_not_);
  check_findings(model_, findings);
}

Distributions ExactNetwork::spread(std::vector<std::vector<double>> of_free) const {
  Distributions all;
  all.assign(model_.cardinalities, 0);
  for (VariableId v = 0; v < model_.variable_count(); ++v) {
    const VariableId free = graph_.free_variable[v];
    if (free == no_variable)
      all[v][graph_.clamped_value[v]] = 1;
    else
      std::ranges::copy(of_free[free], all[v].begin());
  }
  return all;
}

NetworkAnswer ExactNetwork::solve(std::span<const Finding> findings, const RunControl& control) {
  Weighted weighted(*this, findings, control);
  NetworkAnswer answer;
  answer.probabilities = spread(weighted.tree().marginals());
  answer.log_evidence = weighted.log_z() - log_z_;
  return answer;
}

NetworkAnswer ExactNetwork::marginals(std::span<const Finding> findings, const RunControl& control) {
  check(findings);
  const std::lock_guard hold(mutex_);
  return solve(findings, control);
}

NetworkBest ExactNetwork::best(std::span<const Finding> findings, const RunControl& control) {
  check(findings);
  const std::lock_guard hold(mutex_);
  Weighted weighted(*this, findings, control);
  const ScoredState state = weighted.tree().map();
  return {whole_assignment(graph_, state.assignment), state.log_score - weighted.tree().log_z()};
}

std::vector<Finding> ExactNetwork::with(std::span<const Finding> findings, VariableId variable,
                                        Value value) const {
  std::vector<Finding> more(findings.begin(), findings.end());
  more.push_back({variable, std::vector<double>(model_.cardinalities[variable], 0.0)});
  more.back().likelihood[value] = 1;
  return more;
}

void check_joint(const Model& model, std::span<const VariableId> variables) {
  constexpr std::size_t most_entries = 4096;
  std::size_t entries = 1;
  for (VariableId v : variables) {
    if (v >= model.variable_count()) throw Error(ErrorKind::usage, fmt::format("there is no variable {}", v));
    if (std::ranges::count(variables, v) > 1)
      throw Error(ErrorKind::usage, fmt::format("{} is picked twice", model.variable_name(v)));
    entries *= model.cardinalities[v];
    if (entries > most_entries)
      throw Error(ErrorKind::usage,
                  fmt::format("the joint distribution has more than {} entries", most_entries));
  }
  if (variables.empty()) throw Error(ErrorKind::usage, "no variable is picked");
}

std::vector<double> ExactNetwork::joint(std::span<const Finding> findings,
                                        std::span<const VariableId> variables, const RunControl& control) {
  check(findings);
  check_joint(model_, variables);
  const std::lock_guard hold(mutex_);
  const VariableId last = variables.back();
  std::vector<double> table;
  // p(x_1 .. x_k) by the chain rule: each step conditions on one more of them.
  const auto descend = [&](const auto& self, std::size_t place, std::vector<Finding> known,
                           double share) -> void {
    if (share == 0) {
      std::size_t size = 1;
      for (VariableId v : variables.subspan(place)) size *= model_.cardinalities[v];
      table.insert(table.end(), size, 0.0);
      return;
    }
    const NetworkAnswer answer = solve(known, control);
    const std::span<const double> p = answer.probabilities[variables[place]];
    for (std::size_t k = 0; k < p.size(); ++k) {
      if (variables[place] == last)
        table.push_back(share * p[k]);
      else
        self(self, place + 1, with(known, variables[place], static_cast<Value>(k)), share * p[k]);
    }
  };
  descend(descend, 0, {findings.begin(), findings.end()}, 1);
  return table;
}

std::vector<double> ExactNetwork::information(std::span<const Finding> findings, VariableId target,
                                              const RunControl& control) {
  check(findings);
  if (target >= model_.variable_count())
    throw Error(ErrorKind::usage, fmt::format("there is no variable {}", target));
  const std::lock_guard hold(mutex_);
  const Distributions p = solve(findings, control).probabilities;
  std::vector<double> information(model_.variable_count());
  for (Value t = 0; t < p[target].size(); ++t) {
    if (p[target][t] == 0) continue;
    const Distributions given = solve(with(findings, target, t), control).probabilities;
    for (VariableId v = 0; v < information.size(); ++v)
      for (std::size_t k = 0; k < p[v].size(); ++k)
        if (given[v][k] > 0) information[v] += p[target][t] * given[v][k] * std::log(given[v][k] / p[v][k]);
  }
  for (double& value : information) value = std::max(0.0, value);  // rounding
  information[target] = 0;
  return information;
}

}  // namespace drover
