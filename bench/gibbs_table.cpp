// Updates per nanosecond of the table kernels: Potts models and tables on a grid, random tables of three
// variables, one thread and two, against a plain loop. Usage: bench_gibbs_table [quick]
#include <fmt/core.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"

namespace {

using namespace drover;
using Clock = std::chrono::steady_clock;

double measured_seconds = 0.6;

/// A grid with random couplings; `as_tables` perturbs every entry so that nothing is recognised.
Graph potts_grid(std::uint32_t rows, std::uint32_t columns, std::uint32_t states, bool as_tables) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{rows} * columns, states);
  std::vector<double> values(states), table(std::size_t{states} * states);
  for (VariableId v = 0; v < model.cardinalities.size(); ++v) {
    for (double& value : values) value = 0.3 * random.normal();
    model.unaries.add(v, values);
  }
  const auto join = [&](VariableId i, VariableId j) {
    const double coupling = 0.5 + 0.3 * random.normal();
    if (!as_tables) return model.potts_pairs.add(i, j, coupling);
    for (std::uint32_t a = 0; a < states; ++a)
      for (std::uint32_t b = 0; b < states; ++b)
        table[a * states + b] = (a == b ? coupling : 0) + 0.1 * random.normal();
    model.tables.add(std::vector<VariableId>{i, j}, table);
  };
  for (std::uint32_t r = 0; r < rows; ++r)
    for (std::uint32_t c = 0; c < columns; ++c) {
      if (c + 1 < columns) join(r * columns + c, r * columns + c + 1);
      if (r + 1 < rows) join(r * columns + c, (r + 1) * columns + c);
    }
  return compile(model);
}

/// As many random tables of three variables as there are variables.
Graph triples(std::uint32_t variables, std::uint32_t states) {
  RandomSequence random(2, Stream::generate);
  Model model;
  model.cardinalities.assign(variables, states);
  std::vector<double> table(std::size_t{states} * states * states);
  for (std::uint32_t f = 0; f < variables; ++f) {
    std::vector<VariableId> scope{random.below(variables)};
    while (scope.size() < 3) {
      const VariableId v = random.below(variables);
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) scope.push_back(v);
    }
    for (double& value : table) value = 0.5 * random.normal();
    model.tables.add(scope, table);
  }
  return compile(model);
}

/// The best of many repetitions, in updates per nanosecond.
double best_rate(double updates, const std::function<void(std::uint64_t)>& sweep) {
  sweep(0);
  double best = 1e300;
  const auto begin = Clock::now();
  for (std::uint64_t t = 1; std::chrono::duration<double>(Clock::now() - begin).count() < measured_seconds;
       ++t) {
    const auto before = Clock::now();
    sweep(t);
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - before).count());
  }
  return updates / best;
}

double lanes_rate(const Graph& graph, std::uint32_t lanes, unsigned threads) {
  const GibbsTableLanes kernel(graph, {lanes, Scan::fixed, {}});
  std::vector<GibbsTableLanes::State> states;
  for (unsigned t = 0; t < threads; ++t) states.push_back(kernel.start(1, t * lanes));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  return best_rate(static_cast<double>(graph.size()) * lanes * threads, [&](std::uint64_t sweep) {
    tbb::parallel_for(0U, threads, [&](unsigned t) { kernel.sweep(states[t], sweep); });
  });
}

double chain_rate(const Graph& graph, unsigned threads) {
  const GibbsTableChain kernel(graph);
  auto state = kernel.start(1, 0);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  return best_rate(static_cast<double>(graph.size()),
                   [&](std::uint64_t sweep) { kernel.sweep(state, sweep); });
}

/// What one writes first: every factor is a table in double, indices are computed per entry.
double naive_rate(const Graph& graph) {
  const Tables tables = all_tables(graph);
  std::vector<std::vector<std::size_t>> factors_of(graph.size());
  for (std::size_t f = 0; f < tables.size(); ++f)
    for (VariableId v : tables.scope(f)) factors_of[v].push_back(f);
  RandomSequence random(3, Stream::sweep);
  std::vector<Value> x(graph.size(), 0);
  std::vector<double> weights(graph.max_cardinality());
  return best_rate(static_cast<double>(graph.size()), [&](std::uint64_t) {
    for (VariableId v = 0; v < graph.size(); ++v) {
      const std::uint32_t states = graph.cardinalities[v];
      double total = 0;
      for (std::uint32_t k = 0; k < states; ++k) {
        x[v] = static_cast<Value>(k);
        double field = graph.unary_of(v)[k];
        for (std::size_t f : factors_of[v]) {
          std::size_t index = 0;
          for (VariableId u : tables.scope(f)) index = index * graph.cardinalities[u] + x[u];
          field += tables.values(f)[index];
        }
        total += weights[k] = std::exp(field);
      }
      double u = random.uniform() * total;
      std::uint32_t k = 0;
      while (k + 1 < states && (u -= weights[k]) >= 0) ++k;
      x[v] = static_cast<Value>(k);
    }
  });
}

void print_row(const std::string& name, const Graph& graph) {
  fmt::print("{:28} {:8.4f} {:9.4f} {:9.4f} {:9.4f} {:9.4f} {:9.4f}\n", name, naive_rate(graph),
             lanes_rate(graph, 64, 1), lanes_rate(graph, 64, 2), lanes_rate(graph, 16, 1),
             chain_rate(graph, 1), chain_rate(graph, 2));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "quick") == 0;
  if (quick) measured_seconds = 0.1;
  fmt::print("updates per nanosecond\n{:28} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "model", "naive",
             "64 lanes", "2 threads", "16 lanes", "chain", "2 threads");
  for (std::uint32_t states : {3U, 8U, 32U}) {
    print_row(fmt::format("Potts K = {} 200x200", states), potts_grid(200, 200, states, false));
    print_row(fmt::format("tables K = {} 200x200", states), potts_grid(200, 200, states, true));
  }
  print_row("triples K = 2, 40000", triples(40000, 2));
  print_row("triples K = 4, 40000", triples(40000, 4));
  for (std::uint32_t side : {32U, 100U, 316U, 1000U}) {
    if (quick && side > 316) break;
    print_row(fmt::format("Potts K = 3 {}x{}", side, side), potts_grid(side, side, 3, false));
    print_row(fmt::format("tables K = 3 {}x{}", side, side), potts_grid(side, side, 3, true));
  }
}
