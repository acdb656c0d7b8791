#include "drover/compile/connectivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <optional>

namespace drover {
namespace {

/// The possible values of every variable. Removals are recorded, so that a search can take them back.
class Domains {
 public:
  explicit Domains(const Graph& graph) : graph_(&graph), allowed_(graph.unary.size()) {
    for (std::size_t e = 0; e < allowed_.size(); ++e) allowed_[e] = graph.unary[e] != log_zero;
  }
  bool allows(VariableId v, std::uint32_t k) const { return allowed_[graph_->unary_offsets[v] + k] != 0; }
  std::uint32_t count(VariableId v) const {
    std::uint32_t values = 0;
    for (std::uint32_t k = 0; k < graph_->cardinalities[v]; ++k) values += allows(v, k);
    return values;
  }
  void remove(VariableId v, std::uint32_t k) {
    const std::size_t entry = graph_->unary_offsets[v] + k;
    if (allowed_[entry]) removed_.push_back(entry);
    allowed_[entry] = 0;
  }
  /// Leaves v the value k alone.
  void fix(VariableId v, std::uint32_t k) {
    assert(allows(v, k));
    for (std::uint32_t other = 0; other < graph_->cardinalities[v]; ++other)
      if (other != k) remove(v, other);
  }
  std::size_t removals() const { return removed_.size(); }
  /// Takes back all removals but the first `removals`.
  void restore(std::size_t removals) {
    for (; removed_.size() > removals; removed_.pop_back()) allowed_[removed_.back()] = 1;
  }

 private:
  const Graph* graph_;
  std::vector<char> allowed_;
  std::vector<std::size_t> removed_;
};

/// The tables with zeros, and what they allow.
class HardConstraints {
 public:
  explicit HardConstraints(const Graph& graph) : graph_(graph), queued_(graph.tables.size(), 0) {
    std::vector<char> has_zero(graph.tables.table_count());
    for (std::size_t t = 0; t < has_zero.size(); ++t)
      has_zero[t] = std::ranges::count(graph.tables.table(t), log_zero) > 0;
    for (std::uint32_t f = 0; f < graph.tables.size(); ++f)
      if (has_zero[graph.tables.table_of[f]]) {
        if (factors_.empty()) factors_of_.resize(graph.size());  // most models have none, and large ones too
        factors_.push_back(f);
        for (VariableId v : graph.tables.scope(f)) factors_of_[v].push_back(f);
      }
  }

  const std::vector<std::uint32_t>& factors() const { return factors_; }
  const std::vector<std::uint32_t>& factors_of(VariableId v) const { return factors_of_[v]; }

  /// Calls visit(entry, values) for every possible entry of a table whose values all lie in the domains.
  template <class Visit>
  void for_each_possible(std::uint32_t f, const Domains& domains, const Visit& visit) const {
    const auto scope = graph_.tables.scope(f);
    const auto table = graph_.tables.values(f);
    std::vector<std::uint32_t> x(scope.size(), 0);
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      bool possible = table[entry] != log_zero;
      for (std::size_t a = 0; possible && a < x.size(); ++a) possible = domains.allows(scope[a], x[a]);
      if (possible) visit(entry, x);
      for (std::size_t a = x.size(); a-- > 0 && ++x[a] == graph_.cardinalities[scope[a]];) x[a] = 0;
    }
  }

  /// Removes values without support in some table until none is left; false when a domain becomes empty.
  bool propagate(Domains& domains, std::vector<std::uint32_t> queue) {
    for (std::uint32_t f : queue) queued_[f] = 1;
    std::vector<std::vector<char>> supported;
    while (!queue.empty()) {
      const std::uint32_t f = queue.back();
      queue.pop_back();
      queued_[f] = 0;
      const auto scope = graph_.tables.scope(f);
      supported.resize(scope.size());
      for (std::size_t a = 0; a < scope.size(); ++a) supported[a].assign(graph_.cardinalities[scope[a]], 0);
      for_each_possible(f, domains, [&](std::size_t, const std::vector<std::uint32_t>& x) {
        for (std::size_t a = 0; a < x.size(); ++a) supported[a][x[a]] = 1;
      });
      for (std::size_t a = 0; a < scope.size(); ++a) {
        const VariableId v = scope[a];
        bool changed = false;
        for (std::uint32_t k = 0; k < graph_.cardinalities[v]; ++k)
          if (domains.allows(v, k) && !supported[a][k]) {
            domains.remove(v, k);
            changed = true;
          }
        if (!changed) continue;
        for (std::uint32_t g : factors_of_[v])
          if (!queued_[g]) {
            queued_[g] = 1;
            queue.push_back(g);
          }
        if (domains.count(v) == 0) {
          for (std::uint32_t g : queue) queued_[g] = 0;
          return false;
        }
      }
    }
    return true;
  }

  /// A value of v that every state of the domains can take without a further change, if there is one.
  std::optional<std::uint32_t> safe_value(VariableId v, const Domains& domains) const {
    std::vector<char> safe(graph_.cardinalities[v]);
    for (std::uint32_t k = 0; k < safe.size(); ++k) safe[k] = domains.allows(v, k);
    std::vector<std::vector<char>> possible;  // [configuration of the others][own value]
    for (std::uint32_t f : factors_of_[v]) {
      const auto scope = graph_.tables.scope(f);
      possible.assign(graph_.tables.values(f).size() / safe.size(), {});
      for_each_possible(f, domains, [&](std::size_t, const std::vector<std::uint32_t>& x) {
        std::size_t configuration = 0;
        std::uint32_t own = 0;
        for (std::size_t a = 0; a < x.size(); ++a)
          if (scope[a] == v)
            own = x[a];
          else
            configuration = configuration * graph_.cardinalities[scope[a]] + x[a];
        possible[configuration].resize(safe.size(), 0);
        possible[configuration][own] = 1;
      });
      for (const std::vector<char>& row : possible)
        for (std::size_t k = 0; k < row.size(); ++k) safe[k] &= row[k];
    }
    const auto found = std::ranges::find(safe, 1);
    if (found == safe.end()) return std::nullopt;
    return static_cast<std::uint32_t>(found - safe.begin());
  }

  /// The variables that cannot be settled one after the other at safe values.
  std::vector<VariableId> unsettled(Domains domains) const {
    std::vector<VariableId> queue;
    std::vector<char> settled(graph_.size(), 1);
    for (std::size_t v = graph_.size(); v-- > 0;)
      if (!factors_of_[v].empty()) {
        settled[v] = 0;
        queue.push_back(static_cast<VariableId>(v));
      }
    while (!queue.empty()) {
      const VariableId v = queue.back();
      queue.pop_back();
      if (settled[v]) continue;
      const auto value = safe_value(v, domains);
      if (!value) continue;
      settled[v] = 1;
      domains.fix(v, *value);
      for (std::uint32_t f : factors_of_[v])
        for (VariableId u : graph_.tables.scope(f))
          if (!settled[u]) queue.push_back(u);
    }
    std::vector<VariableId> left;
    for (std::size_t v = 0; v < graph_.size(); ++v)
      if (!settled[v]) left.push_back(static_cast<VariableId>(v));
    return left;
  }

  /// One possible entry of each component of a table.
  std::vector<std::size_t> components(std::uint32_t f, const Domains& domains) const {
    const auto scope = graph_.tables.scope(f);
    std::vector<std::size_t> parent(graph_.tables.values(f).size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t e) {
      while (parent[e] != e) e = parent[e] = parent[parent[e]];
      return e;
    };
    std::vector<std::size_t> entries, last;
    std::size_t stride = 1;
    for (std::size_t a = scope.size(); a-- > 0;) {
      // Entries that differ in variable a alone agree in the entry at which that variable is 0.
      last.assign(parent.size(), parent.size());
      for_each_possible(f, domains, [&](std::size_t entry, const std::vector<std::uint32_t>& x) {
        std::size_t& seen = last[entry - x[a] * stride];
        if (seen != parent.size()) parent[root(entry)] = root(seen);
        seen = entry;
      });
      stride *= graph_.cardinalities[scope[a]];
    }
    for_each_possible(f, domains, [&](std::size_t entry, const std::vector<std::uint32_t>&) {
      if (root(entry) == entry) entries.push_back(entry);
    });
    return entries;
  }

  /// Whether a greedy search with propagation finds a state of the support with this entry of a table. Each
  /// variable takes its first value that propagation does not refute; earlier choices are not taken back.
  bool finds_state(std::uint32_t f, std::size_t entry, Domains& domains) {
    const std::size_t before = domains.removals();
    const bool found = place_entry(f, entry, domains) && place_all(domains);
    domains.restore(before);
    return found;
  }

 private:
  bool place_entry(std::uint32_t f, std::size_t entry, Domains& domains) {
    const auto scope = graph_.tables.scope(f);
    std::vector<std::uint32_t> touched;
    for (std::size_t a = scope.size(); a-- > 0;) {
      const std::uint32_t states = graph_.cardinalities[scope[a]];
      domains.fix(scope[a], static_cast<std::uint32_t>(entry % states));
      entry /= states;
      touched.insert(touched.end(), factors_of_[scope[a]].begin(), factors_of_[scope[a]].end());
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    return propagate(domains, touched);
  }

  bool place_all(Domains& domains) {
    for (VariableId v = 0; v < graph_.size(); ++v) {
      bool placed = factors_of_[v].empty() || domains.count(v) == 1;
      for (std::uint32_t k = 0; k < graph_.cardinalities[v] && !placed; ++k) {
        if (!domains.allows(v, k)) continue;
        const std::size_t before = domains.removals();
        domains.fix(v, k);
        placed = propagate(domains, factors_of_[v]);
        if (!placed) domains.restore(before);
      }
      if (!placed) return false;
    }
    return true;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> factors_;
  std::vector<std::vector<std::uint32_t>> factors_of_;
  std::vector<char> queued_;  ///< which factors wait in propagate(); all zero outside it
};

std::string name_some(const Graph& graph, const std::vector<VariableId>& variables) {
  std::string text;
  for (std::size_t i = 0; i < variables.size() && i < 3; ++i)
    text += (i == 0 ? "" : ", ") + graph.name(variables[i]);
  if (variables.size() > 3) text += fmt::format(" and {} more", variables.size() - 3);
  return text;
}

/// Visits the support from one of its states; exact.
ConnectivityReport flood_fill(const Graph& graph, const HardConstraints& hard) {
  const std::size_t n = graph.size();
  std::vector<std::size_t> strides(n + 1, 1);
  for (std::size_t v = n; v-- > 0;) strides[v] = strides[v + 1] * graph.cardinalities[v];
  std::vector<char> open(strides[0], 1);  // in the support and not yet visited
  std::vector<Value> x(n, 0);
  for (std::size_t s = 0; s < open.size(); ++s) {
    for (VariableId v = 0; v < n && open[s]; ++v) open[s] = graph.unary_of(v)[x[v]] != log_zero;
    for (std::size_t i = 0; i < hard.factors().size() && open[s]; ++i) {
      std::size_t entry = 0;
      for (VariableId v : graph.tables.scope(hard.factors()[i]))
        entry = entry * graph.cardinalities[v] + x[v];
      open[s] = graph.tables.values(hard.factors()[i])[entry] != log_zero;
    }
    for (std::size_t v = n; v-- > 0 && ++x[v] == graph.cardinalities[v];) x[v] = 0;
  }
  const auto first = std::ranges::find(open, 1);
  if (first == open.end()) return {Connectivity::unknown, "no state is possible", {}};
  const auto start = static_cast<std::size_t>(first - open.begin());
  std::vector<std::size_t> stack{start};
  open[start] = 0;
  while (!stack.empty()) {
    const std::size_t s = stack.back();
    stack.pop_back();
    for (std::size_t v = 0; v < n; ++v) {
      const std::size_t base = s - s / strides[v + 1] % graph.cardinalities[v] * strides[v + 1];
      for (std::size_t k = 0; k < graph.cardinalities[v]; ++k) {
        const std::size_t next = base + k * strides[v + 1];
        if (!open[next]) continue;
        open[next] = 0;
        stack.push_back(next);
      }
    }
  }
  const auto missed = std::ranges::find(open, 1);
  if (missed == open.end())
    return {Connectivity::known, "single-site moves reach every possible state (all were visited)", {}};
  const auto other = static_cast<std::size_t>(missed - open.begin());
  ConnectivityReport report{Connectivity::broken, "", {}};
  for (std::size_t v = 0; v < n; ++v)
    if (start / strides[v + 1] % graph.cardinalities[v] != other / strides[v + 1] % graph.cardinalities[v])
      report.variables.push_back(static_cast<VariableId>(v));
  report.reason = fmt::format("hard zeros separate states that differ in {}: no single-site moves join them",
                              name_some(graph, report.variables));
  return report;
}

}  // namespace

ConnectivityReport analyse_connectivity(const Graph& graph, double exact_log2_states) {
  HardConstraints hard(graph);
  if (hard.factors().empty()) return {Connectivity::known, "no table has a hard zero", {}};
  Domains domains(graph);
  if (!hard.propagate(domains, hard.factors())) return {Connectivity::unknown, "no state is possible", {}};

  const std::vector<VariableId> unsettled = hard.unsettled(domains);
  if (unsettled.empty())
    return {Connectivity::known, "every variable has a safe value that the others cannot forbid", {}};

  ConnectivityReport split{Connectivity::unknown, "", {}};
  constexpr int most_searches = 16;  // each may visit every table
  int searches = 0;
  for (std::uint32_t f : hard.factors()) {
    const std::vector<std::size_t> parts = hard.components(f, domains);
    if (parts.size() < 2) continue;
    const auto scope = graph.tables.scope(f);
    split.variables.insert(split.variables.end(), scope.begin(), scope.end());
    int found = 0;
    for (std::size_t p = 0; p < parts.size() && found < 2; ++p)
      if (split.connectivity == Connectivity::unknown && searches++ < most_searches)
        found += hard.finds_state(f, parts[p], domains);
    if (found == 2) split.connectivity = Connectivity::broken;
  }
  std::ranges::sort(split.variables);
  split.variables.erase(std::unique(split.variables.begin(), split.variables.end()), split.variables.end());
  if (split.connectivity == Connectivity::broken) {
    split.reason = fmt::format("a table ties its variables so that they can only change together: {}",
                               name_some(graph, split.variables));
    return split;
  }

  double log2_states = 0;
  for (std::uint32_t states : graph.cardinalities) log2_states += std::log2(states);
  if (log2_states <= exact_log2_states) return flood_fill(graph, hard);
  if (split.variables.empty()) {
    split.variables = unsettled;
    split.reason = fmt::format("hard zeros leave {} without a safe value", name_some(graph, unsettled));
  } else {
    split.reason = fmt::format("a table seems to tie its variables so that they can only change together: {}",
                               name_some(graph, split.variables));
  }
  return split;
}

}  // namespace drover
