#include "drover/infer/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>

#include "drover/core/error.hpp"
#include "drover/infer/support_sat.hpp"
#include "drover/infer/support_search.hpp"

namespace drover {

namespace {

constexpr std::size_t max_dead_ends = 2000;
constexpr std::size_t factors_named = 4;

std::string scope_name(const Graph& graph, std::size_t factor) {
  const auto scope = graph.tables.scope(factor);
  std::string text;
  for (std::size_t a = 0; a < scope.size() && a < 8; ++a) text += (a > 0 ? ", " : "") + graph.name(scope[a]);
  return "(" + text + (scope.size() > 8 ? ", ...)" : ")");
}

[[noreturn]] void fail_impossible(const std::string& reason) {
  throw Error(ErrorKind::bad_data, "the model is impossible: Z = 0, " + reason);
}

[[noreturn]] void fail_contradiction(const Graph& graph) {
  const std::vector<std::size_t> core = contradicting_factors(graph);
  if (core.empty()) fail_impossible("its constraints together admit no state");
  std::string names;
  for (std::size_t f = 0; f < core.size() && f < factors_named; ++f)
    names += (f > 0 ? ", " : "") + scope_name(graph, core[f]);
  if (core.size() > factors_named) names += fmt::format(" and {} more", core.size() - factors_named);
  fail_impossible("the factors over " + names + " together admit no state");
}

std::vector<Value> random_values(const Graph& graph, std::uint64_t seed, std::uint32_t number) {
  RandomSequence random(seed, Stream::start, number);
  std::vector<Value> x(graph.size());
  for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(random.below(graph.cardinalities[v]));
  return x;
}

}  // namespace

bool in_support(const Graph& graph, std::span<const Value> x) {
  assert(x.size() == graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.unary[graph.unary_offsets[v] + x[v]] == log_zero) return false;
  for (std::size_t f = 0; f < graph.tables.size(); ++f) {
    std::size_t index = 0;
    for (VariableId v : graph.tables.scope(f)) index = index * graph.cardinalities[v] + x[v];
    if (graph.tables.values(f)[index] == log_zero) return false;
  }
  return true;
}

std::vector<std::vector<Value>> find_supported_states(const Graph& graph, std::uint64_t seed,
                                                      std::size_t count, const RunControl& control) {
  std::vector<std::vector<Value>> states(count);
  if (graph.is_strictly_positive()) {
    for (std::size_t s = 0; s < count; ++s)
      states[s] = random_values(graph, seed, static_cast<std::uint32_t>(s));
    return states;
  }
  StopCheck check(control, "a possible state", "was found");
  SupportSearch search(graph, &check);
  if (const auto culprit = search.propagate_constraints())
    fail_impossible(
        fmt::format("no value of variable {} is left by the factor over {} and the constraints around it",
                    graph.name(culprit->variable), scope_name(graph, culprit->factor)));
  std::unique_ptr<SupportSolver> solver;
  for (std::size_t s = 0; s < count; ++s) {
    const auto number = static_cast<std::uint32_t>(s);
    check.ask();
    states[s].resize(graph.size());
    if (!solver) {
      const auto outcome = search.search(seed, number, max_dead_ends, states[s]);
      if (outcome == SupportSearch::Outcome::found) continue;
      if (outcome == SupportSearch::Outcome::impossible) fail_contradiction(graph);
      solver = std::make_unique<SupportSolver>(graph, search);
    }
    if (!solver->solve(seed, number, states[s])) fail_contradiction(graph);
  }
  return states;
}

std::vector<Value> find_supported_state(const Graph& graph, std::uint64_t seed) {
  return std::move(find_supported_states(graph, seed, 1).front());
}

}  // namespace drover
