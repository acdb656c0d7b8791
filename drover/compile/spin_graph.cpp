#include "drover/compile/spin_graph.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "drover/compile/stoppable.hpp"
#include "drover/core/stop_check.hpp"

namespace drover {

namespace {

bool are_ascending(const Pairs& pairs) {
  bool ascending = true;
  for (std::size_t p = 1; p < pairs.size(); ++p)
    ascending &= pairs.first[p - 1] < pairs.first[p] ||
                 (pairs.first[p - 1] == pairs.first[p] && pairs.second[p - 1] < pairs.second[p]);
  return ascending;
}

// Rows of pairs in order of (first, second), each once: they fill in ascending order when the smaller
// neighbours of all rows are put in before the larger ones.
void put_ascending(const Pairs& pairs, std::vector<std::size_t>&& offsets, SpinGraph& spins,
                   StopCheck& check) {
  spins.neighbour.resize(2 * pairs.size());
  spins.weight.resize(2 * pairs.size());
  std::vector<std::size_t> next(offsets.begin(), offsets.end() - 1);
  spins.offsets = std::move(offsets);
  const auto put = [&](VariableId row, VariableId other, double coupling) {
    const std::size_t at = next[row]++;
    spins.neighbour[at] = other;
    spins.weight[at] = static_cast<float>(4 * coupling);
    check.step();
  };
  for (std::size_t p = 0; p < pairs.size(); ++p) put(pairs.second[p], pairs.first[p], pairs.couplings[p]);
  for (std::size_t p = 0; p < pairs.size(); ++p) put(pairs.first[p], pairs.second[p], pairs.couplings[p]);
}

}  // namespace

SpinTerms spin_terms(const Graph& graph) {
  assert(graph.is_spin());
  SpinTerms terms;
  double log_constant = graph.log_constant;  // apart from the biases, so that it stays in a register
  terms.bias.resize(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    terms.bias[i] = graph.unary[2 * i + 1] - graph.unary[2 * i];
    log_constant += graph.unary[2 * i];
  }
  const SpinPairs& pairs = graph.spin_pairs;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const double coupling = pairs.couplings[p];
    log_constant += coupling;
    terms.bias[pairs.first[p]] -= 2 * coupling;
    terms.bias[pairs.second[p]] -= 2 * coupling;
  }
  terms.log_constant = log_constant;
  return terms;
}

SpinGraph spin_graph(const Graph& graph) {
  return spin_graph(graph, no_control());
}

SpinGraph spin_graph(const Graph& graph, const RunControl& control) {
  assert(graph.is_spin());
  StopCheck check(control, "the spins", "were laid out");
  const std::size_t size = graph.size();
  const SpinPairs& pairs = graph.spin_pairs;
  SpinGraph spins;
  {
    const SpinTerms terms = spin_terms(graph);
    spins.log_constant = terms.log_constant;
    spins.bias.assign(terms.bias.begin(), terms.bias.end());
  }
  std::vector<std::size_t> ends(size + 1, 0);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    ++ends[pairs.first[p] + 1];
    ++ends[pairs.second[p] + 1];
    check.step();
  }
  for (std::size_t i = 0; i < size; ++i) ends[i + 1] += ends[i];
  if (are_ascending(pairs)) {
    put_ascending(pairs, std::move(ends), spins, check);
    return spins;
  }

  // Both directions of every pair, row by row; afterwards ends[i] is the end of row i.
  std::vector<std::uint32_t> neighbour(2 * pairs.size());
  std::vector<double> coupling(2 * pairs.size());
  const auto put = [&](VariableId row, VariableId other, double value) {
    neighbour[ends[row]] = other;
    coupling[ends[row]++] = value;
  };
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    put(pairs.first[p], pairs.second[p], pairs.couplings[p]);
    put(pairs.second[p], pairs.first[p], pairs.couplings[p]);
    check.step();
  }

  // Sorts and merges each row in place; the result never overtakes what is still to be read.
  spins.offsets.assign(size + 1, 0);
  spins.weight.resize(2 * pairs.size());
  std::vector<std::pair<std::uint32_t, double>> row;
  std::size_t begin = 0, written = 0;
  for (std::size_t i = 0; i < size; ++i) {
    row.clear();
    check.step();
    for (std::size_t k = begin; k < ends[i]; ++k) row.emplace_back(neighbour[k], coupling[k]);
    begin = ends[i];
    std::sort(row.begin(), row.end());  // by coupling too, so that both rows of a pair add up alike
    for (std::size_t k = 0; k < row.size();) {
      const std::uint32_t other = row[k].first;
      double sum = 0;
      for (; k < row.size() && row[k].first == other; ++k) sum += row[k].second;
      neighbour[written] = other;
      spins.weight[written++] = static_cast<float>(4 * sum);
    }
    spins.offsets[i + 1] = written;
  }
  neighbour.resize(written);
  spins.neighbour = std::move(neighbour);
  spins.weight.resize(written);
  return spins;
}

SpinGraph spin_graph(const BinaryMachine& machine) {
  SpinGraph graph;
  const std::size_t n = machine.variables(), edges = machine.edges();
  graph.bias = machine.biases;
  graph.offsets.assign(n + 1, 0);
  for (std::size_t e = 0; e < edges; ++e) {
    ++graph.offsets[machine.first[e] + 1];
    ++graph.offsets[machine.second[e] + 1];
  }
  for (std::size_t i = 0; i < n; ++i) graph.offsets[i + 1] += graph.offsets[i];
  graph.neighbour.resize(2 * edges);
  graph.weight.resize(2 * edges);
  // Edges ordered by (first, second) fill every row in ascending order when the smaller neighbours of all
  // rows are put in before the larger ones.
  std::vector<std::size_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
  const auto put = [&](VariableId row, VariableId other, float weight) {
    graph.neighbour[next[row]] = other;
    graph.weight[next[row]++] = weight;
  };
  for (std::size_t e = 0; e < edges; ++e) put(machine.second[e], machine.first[e], machine.weights[e]);
  for (std::size_t e = 0; e < edges; ++e) put(machine.first[e], machine.second[e], machine.weights[e]);
  return graph;
}

double largest_field(const SpinGraph& graph) {
  double largest = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    double bound = std::abs(graph.bias[i]);
    for (float weight : graph.weights(i)) bound += std::abs(weight);
    largest = std::max(largest, bound);
  }
  return largest;
}

}  // namespace drover
