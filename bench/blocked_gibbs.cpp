// Blocked Gibbs: variable updates per nanosecond, and effective samples of the energy per second on a
// strongly coupled 50x50 grid against a plain single-site loop (one chain, adjacency lists) in the same run.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/sample/blocked/blocked_gibbs.hpp"

namespace {

using namespace drover;

enum class Couplings { critical, glass };

/// critical: equal couplings at the phase transition; glass: random couplings and weak fields.
Graph grid(std::uint32_t side, Couplings kind) {
  RandomSequence random(1, Stream::generate);
  const auto coupling = [&] { return kind == Couplings::critical ? 0.4407 : random.normal(); };
  Model model;
  model.cardinalities.assign(std::size_t{side} * side, 2);
  for (VariableId r = 0; r < side; ++r)
    for (VariableId c = 0; c < side; ++c) {
      const VariableId v = r * side + c;
      if (c + 1 < side) model.spin_pairs.add(v, v + 1, coupling());
      if (r + 1 < side) model.spin_pairs.add(v, v + side, coupling());
      const double field[2] = {0.0, kind == Couplings::critical ? 0.0 : 0.2 * random.normal()};
      model.unaries.add(v, field);
    }
  return compile(model);
}

/// A 3-state grid of tables with hard zeros on every fourth edge.
Graph hard_grid(std::uint32_t side) {
  RandomSequence random(2, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{side} * side, 3);
  const auto add = [&](VariableId i, VariableId j) {
    std::vector<double> values(9);
    for (double& value : values) value = random.normal();
    if ((i + j) % 4 == 1) values[1] = values[5] = values[6] = log_zero;
    const VariableId scope[2] = {i, j};
    model.tables.add(scope, values);
  };
  for (VariableId r = 0; r < side; ++r)
    for (VariableId c = 0; c < side; ++c) {
      if (c + 1 < side) add(r * side + c, r * side + c + 1);
      if (r + 1 < side) add(r * side + c, (r + 1) * side + c);
    }
  return compile(model);
}

void report_updates(benchmark::State& state, double updates_per_iteration) {
  const double updates = updates_per_iteration * static_cast<double>(state.iterations());
  state.counters["updates/ns"] = benchmark::Counter(updates * 1e-9, benchmark::Counter::kIsRate);
}

void sweep_updates(benchmark::State& state, const Graph& graph, std::size_t max_entries) {
  const BlockedGibbs kernel(graph, BlockOptions{.max_entries = max_entries});
  auto chains = kernel.start(1, 0);
  std::uint64_t sweep = 0;
  for (auto _ : state) kernel.sweep(chains, sweep++);
  report_updates(state, kernel.updates_per_sweep() * kernel.lanes());
}

void BM_GridTrees(benchmark::State& state) {
  sweep_updates(state, grid(static_cast<std::uint32_t>(state.range(0)), Couplings::glass), 0);
}
BENCHMARK(BM_GridTrees)->Arg(50)->Arg(500)->Unit(benchmark::kMicrosecond);

void BM_GridWidth(benchmark::State& state) {
  sweep_updates(state, grid(50, Couplings::glass), static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(BM_GridWidth)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMicrosecond);

void BM_HardGrid(benchmark::State& state) {
  sweep_updates(state, hard_grid(50), 0);
}
BENCHMARK(BM_HardGrid)->Unit(benchmark::kMicrosecond);

constexpr std::size_t burn_in = 500;
constexpr std::size_t traced_sweeps = 4000;

void report_energies(benchmark::State& state, const std::vector<double>& energies, std::size_t chains) {
  const Draws draws{energies.data(), chains, traced_sweeps};
  state.counters["sweeps/sample"] = autocorrelation_time(draws);
  state.counters["samples/s"] = benchmark::Counter(ess_mean(draws) * static_cast<double>(state.iterations()),
                                                   benchmark::Counter::kIsRate);
}

void BM_EnergyBlocked(benchmark::State& state) {
  const Graph graph = grid(50, static_cast<Couplings>(state.range(0)));
  const BlockedGibbs kernel(graph, BlockOptions{.max_entries = static_cast<std::size_t>(state.range(1))});
  const std::size_t chains = kernel.lanes();
  std::vector<double> energies(chains * traced_sweeps), scores(chains);
  auto batch = kernel.start(1, 0);
  std::uint64_t sweep = 0;
  while (sweep < burn_in) kernel.sweep(batch, sweep++);
  for (auto _ : state)
    for (std::size_t t = 0; t < traced_sweeps; ++t) {
      kernel.sweep(batch, sweep++);
      state.PauseTiming();
      kernel.log_scores(batch, scores);
      for (std::size_t c = 0; c < chains; ++c) energies[c * traced_sweeps + t] = scores[c];
      state.ResumeTiming();
    }
  report_energies(state, energies, chains);
}

void BM_EnergySingleSite(benchmark::State& state) {
  const Graph graph = grid(50, static_cast<Couplings>(state.range(0)));
  const std::size_t n = graph.size();
  const Adjacency neighbours = adjacency(graph);
  std::vector<float> couplings(neighbours.list.size()), fields(n);
  for (std::size_t f = 0; f < graph.spin_pairs.size(); ++f) {
    const VariableId i = graph.spin_pairs.first[f], j = graph.spin_pairs.second[f];
    for (std::size_t e = neighbours.offsets[i]; e < neighbours.offsets[i + 1]; ++e)
      if (neighbours.list[e] == j) couplings[e] = static_cast<float>(2 * graph.spin_pairs.couplings[f]);
    for (std::size_t e = neighbours.offsets[j]; e < neighbours.offsets[j + 1]; ++e)
      if (neighbours.list[e] == i) couplings[e] = static_cast<float>(2 * graph.spin_pairs.couplings[f]);
  }
  for (std::size_t v = 0; v < n; ++v)
    fields[v] = static_cast<float>(graph.unary[2 * v + 1] - graph.unary[2 * v]);
  RandomSequence random(1, Stream::sweep);
  std::vector<float> spins(n);
  for (float& spin : spins) spin = random.below(2) ? 1.0F : -1.0F;
  const auto run_sweep = [&] {
    for (std::size_t v = 0; v < n; ++v) {
      float odds = fields[v];
      for (std::size_t e = neighbours.offsets[v]; e < neighbours.offsets[v + 1]; ++e)
        odds += couplings[e] * spins[neighbours.list[e]];
      const float u = static_cast<float>(random()) * 0x1p-32F;
      spins[v] = u * (1 + std::exp(-odds)) < 1 ? 1.0F : -1.0F;
    }
  };
  std::vector<double> energies(traced_sweeps);
  std::vector<Value> x(n);
  for (std::size_t t = 0; t < burn_in; ++t) run_sweep();
  for (auto _ : state)
    for (std::size_t t = 0; t < traced_sweeps; ++t) {
      run_sweep();
      state.PauseTiming();
      for (std::size_t v = 0; v < n; ++v) x[v] = spins[v] > 0;
      energies[t] = log_score(graph, x);
      state.ResumeTiming();
    }
  report_energies(state, energies, 1);
}

#define ENERGY(function) BENCHMARK(function)->Iterations(1)->Unit(benchmark::kMillisecond)
ENERGY(BM_EnergySingleSite)->Arg(0)->Arg(1);
ENERGY(BM_EnergyBlocked)
    ->Args({0, 4})
    ->Args({0, 16})
    ->Args({0, 64})
    ->Args({1, 4})
    ->Args({1, 16})
    ->Args({1, 64});

}  // namespace

BENCHMARK_MAIN();
