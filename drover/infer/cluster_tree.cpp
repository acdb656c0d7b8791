#include "drover/infer/cluster_tree.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace drover {
namespace {

// Separators of single-variable elimination, flat: separator of place v is list[offsets[v] .. offsets[v +
// 1]).
struct Separators {
  std::vector<std::size_t> offsets{0};
  std::vector<std::uint32_t> list;
  std::span<const std::uint32_t> of(std::size_t v) const {
    return {list.data() + offsets[v], offsets[v + 1] - offsets[v]};
  }
};

Separators eliminate_symbolically(const Graph& graph, const ClusterTree& tree) {
  const std::uint32_t n = static_cast<std::uint32_t>(graph.size());
  const Adjacency around = adjacency(graph);
  Separators separators;
  std::vector<std::uint32_t> stamp(n, no_node), first_child(n, no_node), next_sibling(n, no_node);
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::size_t begin = separators.list.size();
    const auto add = [&](std::uint32_t u) {
      if (u <= v || stamp[u] == v) return;
      stamp[u] = v;
      separators.list.push_back(u);
    };
    for (VariableId u : around.of(tree.variable_at[v])) add(tree.place_of[u]);
    for (std::uint32_t child = first_child[v]; child != no_node; child = next_sibling[child])
      for (std::size_t k = separators.offsets[child]; k < separators.offsets[child + 1]; ++k)
        add(separators.list[k]);
    std::sort(separators.list.begin() + static_cast<std::ptrdiff_t>(begin), separators.list.end());
    separators.offsets.push_back(separators.list.size());
    if (begin < separators.list.size()) {
      const std::uint32_t parent = separators.list[begin];
      next_sibling[v] = first_child[parent];
      first_child[parent] = v;
    }
  }
  return separators;
}

// Adds a factor whose scope is in any order into a table whose scope ascends.
void add_into(std::span<const std::uint32_t> cardinalities, std::span<const std::uint32_t> table_scope,
              double* table, std::span<const std::uint32_t> scope, const double* values) {
  std::vector<std::size_t> strides(table_scope.size(), 0);
  std::size_t stride = 1;
  for (std::size_t k = scope.size(); k-- > 0;) {
    const auto at = std::lower_bound(table_scope.begin(), table_scope.end(), scope[k]);
    assert(at != table_scope.end() && *at == scope[k]);
    strides[static_cast<std::size_t>(at - table_scope.begin())] = stride;
    stride *= cardinalities[scope[k]];
  }
  const std::size_t entries = table_size(cardinalities, table_scope);
  std::vector<std::uint32_t> digits(table_scope.size(), 0);
  std::size_t offset = 0;
  for (std::size_t e = 0; e < entries; ++e) {
    table[e] += values[offset];
    for (std::size_t a = digits.size(); a-- > 0;) {
      offset += strides[a];
      if (++digits[a] < cardinalities[table_scope[a]]) break;
      offset -= strides[a] * digits[a];
      digits[a] = 0;
    }
  }
}

}  // namespace

double ClusterTree::table_entries() const {
  double total = 0;
  for (std::size_t c = 0; c < size(); ++c) {
    double entries = 1;
    for (std::uint32_t v : scope(c)) entries *= cardinalities[v];
    total += entries;
  }
  return total;
}

ClusterTree build_cluster_tree(const Graph& graph, const std::vector<VariableId>& order) {
  const std::uint32_t n = static_cast<std::uint32_t>(graph.size());
  assert(order.size() == n);
  ClusterTree tree;
  tree.variable_at = order;
  tree.place_of.resize(n);
  tree.cardinalities.resize(n);
  for (std::uint32_t p = 0; p < n; ++p) {
    tree.place_of[order[p]] = p;
    tree.cardinalities[p] = graph.cardinalities[order[p]];
  }
  const Separators separators = eliminate_symbolically(graph, tree);

  // Merge: head[v] is the first variable of the cluster that eliminates v, last[head] the last one.
  std::vector<std::uint32_t> head(n), last(n);
  std::vector<std::size_t> states(n);
  for (std::uint32_t v = 0; v < n; ++v) head[v] = v;
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint32_t h = head[v];
    if (h == v) states[h] = tree.cardinalities[v];
    last[h] = v;
    const auto separator = separators.of(v);
    if (separator.empty()) continue;
    const std::uint32_t up = separator[0];
    if (head[up] == up && separators.of(up).size() + 1 == separator.size() &&
        states[h] * tree.cardinalities[up] <= merged_states) {
      head[up] = h;
      states[h] *= tree.cardinalities[up];
    }
  }

  // Children of every head, then postorder without recursion.
  std::vector<std::uint32_t> up(n, no_node), first_child(n, no_node), next_sibling(n, no_node), stack,
      postorder;
  for (std::uint32_t v = 0; v < n; ++v) {
    if (head[v] != v || separators.of(last[v]).empty()) continue;
    up[v] = head[separators.of(last[v])[0]];
    next_sibling[v] = first_child[up[v]];
    first_child[up[v]] = v;
  }
  for (std::uint32_t root = 0; root < n; ++root) {
    if (head[root] != root || up[root] != no_node) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      if (first_child[v] != no_node) {
        stack.push_back(first_child[v]);
        first_child[v] = next_sibling[first_child[v]];
      } else {
        postorder.push_back(v);
        stack.pop_back();
      }
    }
  }

  std::vector<std::uint32_t> number(n, no_node);
  for (std::uint32_t c = 0; c < postorder.size(); ++c) number[postorder[c]] = c;
  tree.home.resize(n);
  for (std::uint32_t v = 0; v < n; ++v) tree.home[v] = number[head[v]];
  tree.child_offsets.assign(postorder.size() + 1, 0);
  for (std::uint32_t h : postorder) {
    std::uint32_t count = 0;
    for (std::uint32_t v = h;; v = separators.of(v)[0]) {
      tree.scopes.push_back(v);
      ++count;
      if (v == last[h]) break;
    }
    const auto separator = separators.of(last[h]);
    tree.scopes.insert(tree.scopes.end(), separator.begin(), separator.end());
    tree.scope_offsets.push_back(tree.scopes.size());
    tree.eliminated_count.push_back(count);
    tree.parent.push_back(up[h] == no_node ? no_node : number[up[h]]);
    if (up[h] != no_node) ++tree.child_offsets[number[up[h]] + 1];
  }
  for (std::size_t c = 0; c < tree.size(); ++c) tree.child_offsets[c + 1] += tree.child_offsets[c];
  tree.child_list.resize(tree.child_offsets.back());
  std::vector<std::size_t> cursor(tree.child_offsets.begin(), tree.child_offsets.end() - 1);
  for (std::uint32_t c = 0; c < tree.size(); ++c)
    if (tree.parent[c] != no_node) tree.child_list[cursor[tree.parent[c]]++] = c;
  return tree;
}

ClusterFactors gather_factors(const Graph& graph, const ClusterTree& tree) {
  const Tables tables = all_tables(graph);
  std::vector<std::size_t> offsets(tree.size() + 1, 0);
  const auto home_of = [&](std::size_t f) {
    std::uint32_t first = no_node;
    for (VariableId v : tables.scope(f)) first = std::min(first, tree.place_of[v]);
    return tree.home[first];
  };
  for (std::size_t f = 0; f < tables.size(); ++f) ++offsets[home_of(f) + 1];
  for (std::size_t c = 0; c < tree.size(); ++c) offsets[c + 1] += offsets[c];
  std::vector<std::size_t> factors(tables.size());
  std::vector<std::size_t> cursor(offsets.begin(), offsets.end() - 1);
  for (std::size_t f = 0; f < tables.size(); ++f) factors[cursor[home_of(f)]++] = f;

  struct Term {
    std::vector<std::uint32_t> scope;  // of places
    const double* values;
  };
  struct Draft {
    std::vector<std::uint32_t> scope;  // ascending
    std::vector<std::size_t> terms;
  };
  ClusterFactors result;
  result.group_offsets.push_back(0);
  std::vector<Term> terms;
  std::vector<Draft> drafts;
  std::vector<std::uint32_t> joined, sorted;
  for (std::size_t c = 0; c < tree.size(); ++c) {
    terms.clear();
    drafts.clear();
    for (std::uint32_t p : tree.eliminated(c)) {
      const auto unary = graph.unary_of(tree.variable_at[p]);
      if (std::any_of(unary.begin(), unary.end(), [](double x) { return x != 0; }))
        terms.push_back({{p}, unary.data()});
    }
    for (std::size_t k = offsets[c]; k < offsets[c + 1]; ++k) {
      terms.push_back({{}, tables.values(factors[k]).data()});
      for (VariableId v : tables.scope(factors[k])) terms.back().scope.push_back(tree.place_of[v]);
    }
    double entries = 1;
    for (std::uint32_t p : tree.scope(c)) entries *= tree.cardinalities[p];
    const double limit = std::max(64.0, entries / 64);
    for (std::size_t t = 0; t < terms.size(); ++t) {
      sorted = terms[t].scope;
      std::sort(sorted.begin(), sorted.end());
      bool placed = false;
      for (Draft& draft : drafts) {
        joined.clear();
        std::set_union(draft.scope.begin(), draft.scope.end(), sorted.begin(), sorted.end(),
                       std::back_inserter(joined));
        double size = 1;
        for (std::uint32_t p : joined) size *= tree.cardinalities[p];
        if (size > limit && joined.size() > draft.scope.size()) continue;
        draft.scope = joined;
        draft.terms.push_back(t);
        placed = true;
        break;
      }
      if (!placed) drafts.push_back({sorted, {t}});
    }
    for (const Draft& draft : drafts) {
      const std::size_t scope_begin = result.scopes.size(), table_begin = result.values.size();
      result.scopes.insert(result.scopes.end(), draft.scope.begin(), draft.scope.end());
      result.values.resize(table_begin + table_size(tree.cardinalities, draft.scope), 0.0);
      for (std::size_t t : draft.terms)
        add_into(tree.cardinalities, draft.scope, result.values.data() + table_begin, terms[t].scope,
                 terms[t].values);
      result.groups.push_back({scope_begin, result.scopes.size(), table_begin});
    }
    result.group_offsets.push_back(result.groups.size());
  }
  return result;
}

}  // namespace drover
