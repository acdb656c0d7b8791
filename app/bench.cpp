// drover bench: what this machine does, in variable updates per nanosecond, all in one run and as ratios to a
// plain loop; kernels of many chains beside the whole run that `drover marginals` makes of them.
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "drover/compile/lattice.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/core/simd.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/blocked/blocked_gibbs.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/gibbs/gibbs_table_chain.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"

namespace drover::app {

namespace {

// The best of several short runs: other work on the machine only ever slows a run down.
double best_rate(double updates_per_call, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(400);
  do {
    const auto start = Clock::now();
    std::size_t calls = 0;
    double elapsed = 0;
    do {
      call();
      ++calls;
      elapsed = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    } while (elapsed < 2e7);
    best = std::max(best, updates_per_call * static_cast<double>(calls) / elapsed);
  } while (Clock::now() < end);
  return best;
}

template <Kernel K>
double kernel_rate(const K& kernel, std::uint32_t batches) {
  std::vector<typename K::State> states;
  for (std::uint32_t b = 0; b < batches; ++b) states.push_back(kernel.start(1, b * kernel.lanes()));
  std::uint64_t sweep = 0;
  const double updates = static_cast<double>(kernel.size()) * kernel.lanes() * batches;
  return best_rate(updates, [&] {
    tbb::parallel_for(std::uint32_t{0}, batches, [&](std::uint32_t b) { kernel.sweep(states[b], sweep); });
    ++sweep;
  });
}

// The usual run of marginals: burn-in, kept sweeps, scores, diagnosis and the table of results.
template <Kernel K>
double run_rate(const Graph& graph, const K& kernel, std::uint32_t batches) {
  using Clock = std::chrono::steady_clock;
  ChainOptions options;
  options.chains = batches * kernel.lanes();
  const double per_sweep = static_cast<double>(kernel.size()) * options.chains;
  options.burn_in = static_cast<std::uint64_t>(std::clamp(1e9 / per_sweep, 100.0, 1000.0));
  options.sweeps = 2 * options.burn_in;
  const auto start = Clock::now();
  ChainRun run(kernel, options);
  run.run(RunControl{});
  run.finish();
  MarginalsResult result;
  fill_marginals(graph, run.store(), result);
  return run.updates() / std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// What a careful person writes first: one chain, neighbour lists, exp and a uniform per visit.
double plain_rate(const SpinGraph& graph) {
  std::vector<std::uint8_t> x(graph.size(), 0);
  RandomSequence random(1, Stream::sweep);
  return best_rate(static_cast<double>(graph.size()), [&] {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      float field = graph.bias[i];
      for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        field += graph.weight[e] * static_cast<float>(x[graph.neighbour[e]]);
      x[i] = static_cast<float>(random()) * 0x1p-32F * (1 + std::exp(-field)) < 1 ? 1 : 0;
    }
  });
}

int run(const Output& output) {
  const Draw coupling = Draw::normal(0, 0.5), field = Draw::normal(0, 0.5);
  struct Row {
    std::string kernel, graph;
    double rate, ratio;
    double run_rate = 0;  ///< of a whole run of marginals; 0: not measured
  };
  std::vector<Row> rows;
  double plain = 0;
  const auto add = [&](const std::string& kernel, const std::string& graph, double rate) {
    rows.push_back({kernel, graph, rate, plain > 0 ? rate / plain : 0});
  };
  const auto spin_case = [&](const std::string& name, const Model& model, bool chain) {
    const Graph compiled = compile(model);
    const SpinGraph graph = spin_graph(compiled);
    plain = plain_rate(graph);
    add("plain loop", name, plain);
    if (!chain) {
      const auto measure = [&](const auto& lanes) {
        add("gibbs, 64 chains as lanes", name, kernel_rate(lanes, 1));
        rows.back().run_rate = run_rate(compiled, lanes, 1);
        add("gibbs, 128 chains, all threads", name, kernel_rate(lanes, 2));
        rows.back().run_rate = run_rate(compiled, lanes, 2);
      };
      if (use_bytes(graph))
        measure(GibbsSpinBytes(graph));
      else
        measure(GibbsSpinLanes(graph));
      return;
    }
    add("gibbs, one chain by colours", name, kernel_rate(GibbsSpinChain(graph), 1));
    if (const auto lattice = recognise_lattice(graph); lattice && lattice->is_checkerboard())
      add("gibbs, one chain on the lattice", name, kernel_rate(GibbsSpinLattice(*lattice), 1));
  };
  spin_case("grid 50x50", ising(grid_edges(50, 50, false), coupling, field, 1), false);
  spin_case("grid 1000x1000", ising(grid_edges(1000, 1000, false), coupling, field, 1), false);
  spin_case("random degree 8, n = 10^4", ising(regular_edges(10'000, 8, 1), coupling, field, 1), false);
  spin_case("grid 1000x1000", ising(grid_edges(1000, 1000, false), coupling, field, 1), true);
  const auto equal =
      equal_lattice(*recognise_lattice(spin_graph(compile(grid_ising(1000, 1000, true, 0.3)))));
  add("gibbs, one chain, one table", "torus 1000x1000, equal couplings",
      kernel_rate(GibbsSpinEqualLattice(*equal), 1));
  plain = 0;
  const Graph potts_graph = compile(potts(grid_edges(200, 200, false), 8, coupling, field, 1));
  add("gibbs, Potts lanes", "Potts K = 8, 200x200", kernel_rate(GibbsTableLanes(potts_graph), 1));
  add("gibbs, Potts chain", "Potts K = 8, 200x200", kernel_rate(GibbsTableChain(potts_graph), 1));
  const Graph tree_graph = compile(ising(grid_edges(50, 50, false), coupling, field, 1));
  add("blocked-gibbs, 16 chains", "grid 50x50", kernel_rate(BlockedGibbs(tree_graph), 1));

  if (output.json) {
    std::vector<std::string> list;
    for (const Row& row : rows) {
      JsonObject one;
      one.add("kernel", row.kernel);
      one.add("graph", row.graph);
      one.add("updates_per_nanosecond", row.rate);
      one.add("ratio_to_plain_loop", row.ratio);
      one.add("run_updates_per_nanosecond", row.run_rate);
      list.push_back(one.line());
    }
    Provenance provenance;
    provenance.question = "bench";
    JsonObject object = json_of(provenance);
    object.add("instruction_set", simd_name());
    object.add_raw("rows", json_list(list));
    print_json(object);
    return 0;
  }
  print_text(fmt::format("instruction set: {}\n", simd_name()));
  TextTable table({"KERNEL", "GRAPH", "UPDATES/NS", "TIMES THE PLAIN LOOP", "IN A RUN OF MARGINALS"});
  for (const Row& row : rows)
    table.row({row.kernel, row.graph, fmt::format("{:.3f}", row.rate),
               row.ratio > 0 ? fmt::format("{:.1f}", row.ratio) : "",
               row.run_rate > 0 ? fmt::format("{:.3f}", row.run_rate) : ""});
  table.print();
  return 0;
}

}  // namespace

Command bench_command() {
  auto output = std::make_shared<Output>();
  auto limits = std::make_shared<Limits>();
  Command command{"bench",
                  "measure this machine: updates per nanosecond of the samplers",
                  {},
                  "drover bench",
                  {},
                  [output, limits](const Call&) {
                    apply(*limits);
                    return run(*output);
                  }};
  describe_threads(command.options, *limits);
  describe(command.options, *output, "", false);
  command.options.remove("config");
  return command;
}

}  // namespace drover::app
