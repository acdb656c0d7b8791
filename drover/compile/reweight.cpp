#include "drover/compile/reweight.hpp"

#include <cassert>

namespace drover {

// The order of spin_graph(): the smaller neighbours of all rows, then the larger ones.
void reweight(SpinGraph& graph, const BinaryMachine& machine) {
  assert(graph.size() == machine.variables() && graph.weight.size() == 2 * machine.edges());
  graph.bias = machine.biases;
  std::vector<std::size_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
  for (std::size_t e = 0; e < machine.edges(); ++e) {
    assert(graph.neighbour[next[machine.second[e]]] == machine.first[e]);
    graph.weight[next[machine.second[e]]++] = machine.weights[e];
  }
  for (std::size_t e = 0; e < machine.edges(); ++e) {
    assert(graph.neighbour[next[machine.first[e]]] == machine.second[e]);
    graph.weight[next[machine.first[e]]++] = machine.weights[e];
  }
}

}  // namespace drover
