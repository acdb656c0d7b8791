// Which variables share a factor.
#include <algorithm>

#include "drover/compile/graph.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

Adjacency adjacency(const Graph& graph) {
  return adjacency(graph, no_control());
}

Adjacency adjacency(const Graph& graph, const RunControl& control) {
  const std::size_t n = graph.size();
  StopCheck check(control, "the neighbours of the variables", "were listed");
  Adjacency result;
  result.offsets.assign(n + 1, 0);
  const auto for_each_edge = [&](auto&& visit) {
    for (const Pairs* pairs :
         {static_cast<const Pairs*>(&graph.spin_pairs), static_cast<const Pairs*>(&graph.potts_pairs)})
      for (std::size_t f = 0; f < pairs->size(); ++f) visit(pairs->first[f], pairs->second[f]);
    for (std::size_t f = 0; f < graph.tables.size(); ++f) {
      const auto scope = graph.tables.scope(f);
      for (std::size_t a = 0; a < scope.size(); ++a)
        for (std::size_t b = a + 1; b < scope.size(); ++b) visit(scope[a], scope[b]);
    }
    for (std::size_t g = 0; g < graph.gates.size(); ++g) {
      const auto scope = graph.gates.scope(g);
      for (std::size_t a = 0; a < scope.size(); ++a)
        for (std::size_t b = a + 1; b < scope.size(); ++b) visit(scope[a], scope[b]);
    }
  };
  for_each_edge([&](VariableId i, VariableId j) {
    check.step();
    ++result.offsets[i + 1];
    ++result.offsets[j + 1];
  });
  for (std::size_t v = 0; v < n; ++v) result.offsets[v + 1] += result.offsets[v];
  result.list.resize(result.offsets[n]);
  std::vector<std::size_t> cursor(result.offsets.begin(), result.offsets.end() - 1);
  for_each_edge([&](VariableId i, VariableId j) {
    check.step();
    result.list[cursor[i]++] = j;
    result.list[cursor[j]++] = i;
  });
  std::size_t write = 0;
  std::size_t begin = 0;
  for (std::size_t v = 0; v < n; ++v) {
    const std::size_t end = result.offsets[v + 1];
    check.step(1 + end - begin);
    std::sort(result.list.begin() + static_cast<std::ptrdiff_t>(begin),
              result.list.begin() + static_cast<std::ptrdiff_t>(end));
    const std::size_t row = write;
    for (std::size_t e = begin; e < end; ++e)
      if (write == row || result.list[write - 1] != result.list[e]) result.list[write++] = result.list[e];
    begin = end;
    result.offsets[v + 1] = write;
  }
  result.list.resize(write);
  return result;
}

}  // namespace drover
