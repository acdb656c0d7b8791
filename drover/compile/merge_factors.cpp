#include "drover/compile/merge_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

// Whether no pair stands twice, where that is soon seen: all but a few stand in ascending order, as those of
// grids and tori do.
bool clearly_distinct(const Pairs& pairs) {
  using Ends = std::pair<VariableId, VariableId>;
  const std::size_t most = pairs.size() / 64;
  std::vector<Ends> others;
  Ends last(0, 0);  // no pair: its ends differ
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const Ends ends(pairs.first[p], pairs.second[p]);
    if (ends > last)
      last = ends;
    else if (others.size() == most)
      return false;
    else
      others.push_back(ends);
  }
  std::sort(others.begin(), others.end());
  if (std::adjacent_find(others.begin(), others.end()) != others.end()) return false;
  // Those in order once more, beside the sorted others.
  auto other = others.begin();
  last = {0, 0};
  for (std::size_t p = 0; p < pairs.size() && other != others.end(); ++p) {
    const Ends ends(pairs.first[p], pairs.second[p]);
    if (ends <= last) continue;
    last = ends;
    while (other != others.end() && *other < ends) ++other;
    if (other != others.end() && *other == ends) return false;
  }
  return true;
}

// Keeps the pairs with keep[p] != 0.
void remove_pairs(Pairs& pairs, const std::vector<char>& keep) {
  if (std::ranges::find(keep, 0) == keep.end()) return;
  std::size_t kept = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (!keep[p]) continue;
    pairs.first[kept] = pairs.first[p];
    pairs.second[kept] = pairs.second[p];
    pairs.couplings[kept++] = pairs.couplings[p];
  }
  pairs.first.resize(kept);
  pairs.second.resize(kept);
  pairs.couplings.resize(kept);
}

StopCheck compile_check(const RunControl& control) {
  return {control, "the model", "was compiled"};
}

// Requires first < second in every pair.
void merge_pairs(Pairs& pairs, std::size_t variables, const RunControl& control) {
  if (clearly_distinct(pairs)) return;
  const std::span<const VariableId> firsts = std::as_const(pairs).first,
                                    seconds = std::as_const(pairs).second;
  std::vector<std::size_t> begins(variables + 1, 0);
  for (VariableId v : firsts) ++begins[v + 1];
  for (std::size_t v = 0; v < variables; ++v) begins[v + 1] += begins[v];
  std::vector<std::size_t> by_first(pairs.size()), next(begins.begin(), begins.end() - 1);
  for (std::size_t p = 0; p < pairs.size(); ++p) by_first[next[firsts[p]]++] = p;
  std::vector<VariableId> joined_with(variables,
                                      no_variable);  // the last first variable seen with this second
  std::vector<std::size_t> pair_of(variables);
  std::vector<char> keep(pairs.size(), 1);
  StopCheck check = compile_check(control);
  for (std::size_t p : by_first) {
    check.step();
    const VariableId i = firsts[p], j = seconds[p];
    if (joined_with[j] == i) {
      pairs.couplings[pair_of[j]] += pairs.couplings[p];
      keep[p] = 0;
    } else {
      joined_with[j] = i;
      pair_of[j] = p;
    }
  }
  remove_pairs(pairs, keep);
}

// A factor by its scope; tables come first.
struct Entry {
  std::uint64_t hash;
  enum class Kind : std::uint8_t { table, spin, potts } kind;
  std::size_t index;
};

class TableMerger {
 public:
  TableMerger(Graph& graph, const RunControl& control)
      : graph_(graph),
        check_(compile_check(control)),
        keep_spin_(graph.spin_pairs.size(), 1),
        keep_potts_(graph.potts_pairs.size(), 1) {}

  void run() {
    list_entries();
    std::vector<char> keep(graph_.tables.size(), 1);
    bool changed = false;
    for (std::size_t begin = 0; begin < entries_.size();) {
      check_.step();
      std::size_t end = begin + 1;
      while (end < entries_.size() && entries_[end].hash == entries_[begin].hash) ++end;
      for (std::size_t a = begin; a < end; ++a) {
        if (entries_[a].kind != Entry::Kind::table || !keep[entries_[a].index]) continue;
        for (std::size_t b = a + 1; b < end; ++b) {
          if (entries_[b].kind == Entry::Kind::table && !keep[entries_[b].index]) continue;
          if (sorted_scope(entries_[a]) != sorted_scope(entries_[b])) continue;
          changed = true;
          add(entries_[b], entries_[a].index);
          if (entries_[b].kind == Entry::Kind::table) keep[entries_[b].index] = 0;
        }
      }
      begin = end;
    }
    if (!changed) return;
    graph_.tables = merged_tables(keep);
    remove_pairs(graph_.spin_pairs, keep_spin_);
    remove_pairs(graph_.potts_pairs, keep_potts_);
  }

 private:
  std::vector<VariableId> sorted_scope(const Entry& entry) const {
    if (entry.kind == Entry::Kind::table) {
      const auto scope = graph_.tables.scope(entry.index);
      std::vector<VariableId> sorted(scope.begin(), scope.end());
      std::sort(sorted.begin(), sorted.end());
      return sorted;
    }
    const Pairs& pairs = entry.kind == Entry::Kind::spin ? static_cast<const Pairs&>(graph_.spin_pairs)
                                                         : static_cast<const Pairs&>(graph_.potts_pairs);
    return {pairs.first[entry.index], pairs.second[entry.index]};
  }

  void list_entries() {
    const auto put = [&](Entry entry) {
      for (VariableId v : sorted_scope(entry)) entry.hash = (entry.hash ^ v) * 0x9e3779b97f4a7c15u;
      entries_.push_back(entry);
      check_.step();
    };
    bool pairs = false;
    for (std::size_t f = 0; f < graph_.tables.size(); ++f) {
      put({0, Entry::Kind::table, f});
      pairs |= graph_.tables.scope(f).size() == 2;
    }
    for (std::size_t p = 0; pairs && p < graph_.spin_pairs.size(); ++p) put({0, Entry::Kind::spin, p});
    for (std::size_t p = 0; pairs && p < graph_.potts_pairs.size(); ++p) put({0, Entry::Kind::potts, p});
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.hash, a.kind, a.index) < std::tie(b.hash, b.kind, b.index);
    });
  }

  // The factors that are kept; those that share a table still do, unless something was added to one of them.
  Tables merged_tables(const std::vector<char>& keep) const {
    constexpr std::uint32_t none = ~0U;
    const Tables& tables = graph_.tables;
    std::vector<std::uint32_t> table_now(tables.table_count(), none);
    Tables result;
    for (std::size_t f = 0; f < tables.size(); ++f) {
      if (!keep[f]) continue;
      if (const auto sum = sums_.find(f); sum != sums_.end()) {
        result.add_factor(tables.scope(f), result.add_table(sum->second));
        continue;
      }
      std::uint32_t& now = table_now[tables.table_of[f]];
      if (now == none) now = result.add_table(tables.values(f));
      result.add_factor(tables.scope(f), now);
    }
    return result;
  }

  // Adds a factor to a table of the same variables.
  void add(const Entry& entry, std::size_t to) {
    const auto scope = graph_.tables.scope(to);
    const auto own = graph_.tables.values(to);
    std::vector<double>& values = sums_.try_emplace(to, own.begin(), own.end()).first->second;
    // Per slot of the table: how far its next state is in the other factor.
    std::vector<std::size_t> strides(scope.size(), 0);
    if (entry.kind == Entry::Kind::table) {
      const auto other = graph_.tables.scope(entry.index);
      std::size_t stride = 1;
      for (std::size_t s = other.size(); s-- > 0; stride *= graph_.cardinalities[other[s]])
        strides[static_cast<std::size_t>(std::find(scope.begin(), scope.end(), other[s]) - scope.begin())] =
            stride;
    }
    std::vector<std::uint32_t> state(scope.size(), 0);
    std::size_t at = 0;
    bool possible = false;
    for (std::size_t e = 0; e < values.size(); ++e) {
      values[e] += value_of(entry, at, state);
      possible |= values[e] != log_zero;
      for (std::size_t s = scope.size(); s-- > 0;) {
        at += strides[s];
        if (++state[s] < graph_.cardinalities[scope[s]]) break;
        at -= strides[s] * state[s];
        state[s] = 0;
      }
    }
    if (!possible) fail_impossible(scope);
    if (entry.kind == Entry::Kind::spin) keep_spin_[entry.index] = 0;
    if (entry.kind == Entry::Kind::potts) keep_potts_[entry.index] = 0;
  }

  [[noreturn]] void fail_impossible(std::span<const VariableId> scope) const {
    std::string names;
    for (std::size_t s = 0; s < scope.size() && s < 8; ++s)
      names += (s > 0 ? ", " : "") + graph_.name(scope[s]);
    if (scope.size() > 8) names += ", ...";
    throw Error(ErrorKind::bad_data,
                fmt::format("the model is impossible: the factors over ({}) leave no state", names));
  }

  double value_of(const Entry& entry, std::size_t at, const std::vector<std::uint32_t>& state) const {
    switch (entry.kind) {
      case Entry::Kind::table:
        return graph_.tables.values(entry.index)[at];
      case Entry::Kind::spin:
        return (state[0] == state[1] ? 1 : -1) * graph_.spin_pairs.couplings[entry.index];
      case Entry::Kind::potts:
        return state[0] == state[1] ? graph_.potts_pairs.couplings[entry.index] : 0.0;
    }
    return 0;
  }

  Graph& graph_;
  StopCheck check_;
  std::vector<Entry> entries_;
  std::vector<char> keep_spin_, keep_potts_;
  std::map<std::size_t, std::vector<double>> sums_;  // of the tables that others were added to
};

}  // namespace

void merge_factors(Graph& graph, const RunControl& control) {
  merge_pairs(graph.spin_pairs, graph.size(), control);
  merge_pairs(graph.potts_pairs, graph.size(), control);
  if (graph.tables.size() > 0) TableMerger(graph, control).run();
}

}  // namespace drover
