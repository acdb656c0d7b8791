#include "drover/task/kernel_rates.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "drover/compile/lattice.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/large_memory.hpp"
#include "drover/core/parallel.hpp"
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
#include "drover/task/inference.hpp"

namespace drover {

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

// As a run calls it: several sweeps at once where the kernel can do that. `summed`: with conditional sums.
template <Kernel K>
double kernel_rate(const K& kernel, std::uint32_t batches, bool summed = false) {
  constexpr std::uint64_t together = 16;
  std::vector<typename K::State> states;
  std::vector<AlignedFloats> sums(batches);
  for (std::uint32_t b = 0; b < batches; ++b) {
    states.push_back(kernel.start(1, b * kernel.lanes()));
    if (summed) assign_large(sums[b], kernel.entry_count() * kernel.lanes(), 0.0F);
  }
  std::uint64_t sweep = 0;
  const auto step = [&](std::uint32_t b) {
    if constexpr (requires { kernel.sweeps(states[b], sweep, together); }) {
      if (summed)
        kernel.sweeps(states[b], sweep, together, ConditionalSums{sums[b]});
      else
        kernel.sweeps(states[b], sweep, together);
    } else {
      for (std::uint64_t k = 0; k < together; ++k)
        if (summed)
          kernel.sweep(states[b], sweep + k, ConditionalSums{sums[b]});
        else
          kernel.sweep(states[b], sweep + k);
    }
  };
  const double updates = static_cast<double>(together * kernel.size()) * kernel.lanes() * batches;
  return best_rate(updates, [&] {
    parallel_for(std::uint32_t{0}, batches, step);
    sweep += together;
  });
}

// The usual run of marginals: compiling, burn-in, kept sweeps, scores, diagnosis, the answer; the best of two.
struct RunRate {
  double rate = 0;
  double burn_in_share = 0;  ///< of the sweeps
};
RunRate run_rate(const Model& model, std::uint32_t chains, const RunControl& control) {
  InferenceOptions options;
  options.method = "gibbs";
  options.chains.count = chains;
  RunRate best;
  for (int time = 0; time < 2; ++time) {
    const Marginals answer = marginals(model, options, control);
    const double rate = answer.updates / answer.provenance.seconds * 1e-9;
    if (rate > best.rate)
      best = {rate,
              static_cast<double>(answer.burn_in) / static_cast<double>(answer.burn_in + answer.sweeps)};
  }
  return best;
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

void measure_all(KernelRates& result, const RunControl& control) {
  const Draw coupling = Draw::normal(0, 0.5), field = Draw::normal(0, 0.5);
  std::vector<KernelRate>& rows = result.rows;
  double plain = 0;
  const auto add = [&](const std::string& kernel, const std::string& graph, double rate) {
    fail_if_stopped(control, "measuring");
    rows.push_back({.kernel = kernel, .graph = graph, .rate = rate});
    if (plain > 0) rows.back().ratio = rate / plain;
  };
  const auto add_with_run = [&](const std::string& name, const std::string& graph, const auto& kernel,
                                std::uint32_t batches, const Model& model) {
    add(name, graph, kernel_rate(kernel, batches));
    KernelRate& row = rows.back();
    row.summed_rate = kernel_rate(kernel, batches, true);
    const RunRate rate = run_rate(model, batches * kernel.lanes(), control);
    row.run_rate = rate.rate;
    row.machinery =
        1 - rate.rate * (rate.burn_in_share / row.rate + (1 - rate.burn_in_share) / row.summed_rate);
  };
  const auto spin_case = [&](const std::string& name, const Model& model, bool chain) {
    const SpinGraph graph = spin_graph(compile(model));
    plain = plain_rate(graph);
    add("plain loop", name, plain);
    if (!chain) {
      const auto measure = [&](const auto& lanes) {
        add_with_run("gibbs, 64 chains as lanes", name, lanes, 1, model);
        add_with_run("gibbs, 128 chains, all threads", name, lanes, 2, model);
      };
      if (use_bytes(graph))
        measure(GibbsSpinBytes(graph));
      else
        measure(GibbsSpinLanes(graph));
      return;
    }
    if (const auto lattice = recognise_lattice(graph); lattice && lattice->is_checkerboard()) {
      if (const auto equal = equal_lattice(*lattice))
        add_with_run("gibbs, one chain, one table", name, GibbsSpinEqualLattice(*equal), 1, model);
      else
        add_with_run("gibbs, one chain on the lattice", name, GibbsSpinLattice(*lattice), 1, model);
    } else {
      add_with_run("gibbs, one chain by colours", name, GibbsSpinChain(graph), 1, model);
    }
  };
  spin_case("grid 50x50", ising(grid_edges(50, 50, false), coupling, field, 1), false);
  spin_case("grid 1000x1000", ising(grid_edges(1000, 1000, false), coupling, field, 1), false);
  spin_case("random degree 8, n = 10^4", ising(regular_edges(10'000, 8, 1), coupling, field, 1), false);
  spin_case("random degree 4, n = 10^5", ising(regular_edges(100'000, 4, 1), coupling, field, 1), true);
  spin_case("grid 1000x1000", ising(grid_edges(1000, 1000, false), coupling, field, 1), true);
  spin_case("grid 3000x3000", ising(grid_edges(3000, 3000, false), coupling, field, 1), true);
  spin_case("torus 1000x1000, equal couplings", grid_ising(1000, 1000, true, 0.3), true);
  plain = 0;
  const Graph potts_graph = compile(potts(grid_edges(200, 200, false), 8, coupling, field, 1));
  add("gibbs, Potts lanes", "Potts K = 8, 200x200", kernel_rate(GibbsTableLanes(potts_graph), 1));
  add("gibbs, Potts chain", "Potts K = 8, 200x200", kernel_rate(GibbsTableChain(potts_graph), 1));
  const Graph tree_graph = compile(ising(grid_edges(50, 50, false), coupling, field, 1));
  add("blocked-gibbs, 16 chains", "grid 50x50", kernel_rate(BlockedGibbs(tree_graph), 1));
}

}  // namespace

KernelRates kernel_rates(const RunControl& control) {
  KernelRates result;
  result.provenance.question = "bench";
  result.instruction_set = simd_name();
  const double start = control.seconds();
  with_threads(control, [&] { measure_all(result, control); });
  result.provenance.seconds = control.seconds() - start;
  return result;
}

JsonObject to_json(const KernelRates& rates) {
  std::vector<std::string> list;
  for (const KernelRate& row : rates.rows) {
    JsonObject one;
    one.add("kernel", row.kernel);
    one.add("graph", row.graph);
    one.add("updates_per_nanosecond", row.rate);
    one.add("ratio_to_plain_loop", row.ratio);
    one.add("summed_updates_per_nanosecond", row.summed_rate);
    one.add("run_updates_per_nanosecond", row.run_rate);
    one.add("machinery_share", row.machinery);
    list.push_back(one.line());
  }
  JsonObject object = json_of(rates.provenance);
  object.add("instruction_set", rates.instruction_set);
  object.add_raw("rows", json_list(list));
  return object;
}

}  // namespace drover
