// The samplers of the duality family beside Gibbs sampling, each table in one run:
//   1. updates per nanosecond of primal-dual and of Gibbs, chains as lanes, on graphs of degree four;
//   2. primal-dual, one chain, on one and two threads;
//   3. complete graphs: effective samples of the magnetisation per second, 64 chains as lanes, of Gibbs and
//      primal-dual;
//   4. the critical Ising torus: effective samples of the squared magnetisation per second, Gibbs and
//      Swendsen-Wang.
// Times are thread time (2: wall clock), the best of a few repetitions where a rate is meant.
//
//   bench_primal_dual [largest side of 4, default 1000] [tables, default 1234]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

#include "drover/compile/lattice.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/draws.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/dual/primal_dual_lanes.hpp"
#include "drover/sample/dual/swendsen_wang.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"

namespace drover {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Updates of variables per nanosecond of each kernel, measured in turns so that both see the same machine.
template <Kernel A, Kernel B>
std::pair<double, double> rates(const A& first, const B& second) {
  auto state = first.start(1, 0);
  auto other = second.start(1, 0);
  const auto measure = [](const auto& kernel, auto& chains) {
    const auto sweeps = std::max<std::uint64_t>(2, 40'000'000 / (kernel.size() * kernel.lanes()));
    const double begin = thread_seconds();
    for (std::uint64_t s = 0; s < sweeps; ++s) kernel.sweep(chains, s);
    return static_cast<double>(sweeps * kernel.size() * kernel.lanes()) / (thread_seconds() - begin) * 1e-9;
  };
  double best = 0, best_other = 0;
  for (int repetition = 0; repetition < 12; ++repetition) {
    best = std::max(best, measure(first, state));
    best_other = std::max(best_other, measure(second, other));
  }
  return {best, best_other};
}

void degree_four() {
  fmt::print("1. updates per nanosecond, 64 chains as lanes, one thread\n{:>34} {:>8} {:>12} {:>7}\n", "",
             "Gibbs", "primal-dual", "ratio");
  const auto show = [](const char* name, const Graph& graph) {
    const SpinGraph spins = spin_graph(graph);
    const auto [gibbs, dual] = rates(GibbsSpinLanes(spins), PrimalDualLanes(spins));
    fmt::print("{:>34} {:>8.2f} {:>12.2f} {:>7.2f}\n", name, gibbs, dual, dual / gibbs);
  };
  const Draw random = Draw::normal(0, 0.5);
  show("grid 50x50", compile(ising(grid_edges(50, 50, false), random, random, 1)));
  show("grid 300x300", compile(ising(grid_edges(300, 300, false), random, random, 1)));
  show("random regular, degree 4, n 2500", compile(ising(regular_edges(2500, 4, 1), random, random, 1)));
}

void threads() {
  fmt::print("\n2. one chain, torus 1000x1000, updates per nanosecond of wall clock\n");
  const PrimalDualChain kernel(spin_graph(
      compile(ising(grid_edges(1000, 1000, true), Draw::normal(0, 0.5), Draw::normal(0, 0.5), 1))));
  // Both in turns; the median of the ratios, so that no single disturbance counts.
  double rate[2] = {0, 0};
  std::vector<double> ratios;
  for (int repetition = 0; repetition < 11; ++repetition) {
    double now[2];
    for (int count : {1, 2}) {
      tbb::task_arena arena(count);
      arena.execute([&] {
        auto state = kernel.start(1, 0);
        kernel.sweep(state, 0);
        const double begin = wall_seconds();
        for (std::uint64_t s = 1; s <= 40; ++s) kernel.sweep(state, s);
        now[count - 1] = 40e6 / (wall_seconds() - begin) * 1e-9;
      });
      rate[count - 1] = std::max(rate[count - 1], now[count - 1]);
    }
    ratios.push_back(now[1] / now[0]);
  }
  std::ranges::sort(ratios);
  fmt::print("one thread {:.3f}, two threads {:.3f} (best); ratio {:.2f} (median of 11, {:.2f} to {:.2f})\n",
             rate[0], rate[1], ratios[5], ratios.front(), ratios.back());
}

// Effective samples, in all and per second of thread time, of a function of the state of one chain.
struct Efficiency {
  double per_sweep, per_second;
};

template <Kernel K, class Statistic>
Efficiency efficiency(const K& kernel, std::uint64_t sweeps, const Statistic& statistic) {
  auto state = kernel.start(1, 0);
  std::vector<Value> x(kernel.size());
  std::vector<double> series;
  double seconds = 0;
  for (std::uint64_t s = 0; s < sweeps + sweeps / 5; ++s) {
    const double begin = thread_seconds();
    kernel.sweep(state, s);
    if (s < sweeps / 5) continue;
    seconds += thread_seconds() - begin;
    kernel.read(state, 0, x);
    series.push_back(statistic(x));
  }
  const double effective = ess_mean(Draws{series.data(), 1, series.size()});
  return {effective / static_cast<double>(sweeps), effective / seconds};
}

double magnetisation(const std::vector<Value>& x) {
  double sum = 0;
  for (Value value : x) sum += value == 1 ? 1 : -1;
  return sum / static_cast<double>(x.size());
}

// The same of 64 chains as lanes, all together.
template <Kernel K>
Efficiency efficiency_of_lanes(const K& kernel, std::uint64_t sweeps) {
  auto state = kernel.start(1, 0);
  const std::uint32_t lanes = kernel.lanes();
  std::vector<Value> x(kernel.size());
  std::vector<double> series(lanes * sweeps);  // chain by chain
  const std::uint64_t burn_in = sweeps / 4;
  double seconds = 0;
  for (std::uint64_t s = 0; s < burn_in + sweeps; ++s) {
    const double begin = thread_seconds();
    kernel.sweep(state, s);
    if (s < burn_in) continue;
    seconds += thread_seconds() - begin;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      kernel.read(state, lane, x);
      series[lane * sweeps + s - burn_in] = magnetisation(x);
    }
  }
  const double effective = ess_mean(Draws{series.data(), lanes, sweeps});
  return {effective / static_cast<double>(sweeps * lanes), effective / seconds};
}

void complete_graphs() {
  fmt::print(
      "\n3. complete graph, J = 0.8 / n: effective samples of the magnetisation, 64 chains as lanes, one "
      "thread\n   cores: how many would make one primal-dual chain overtake one sequential chain, its steps "
      "divided evenly\n");
  fmt::print("{:>6} {:>30} {:>32} {:>8} {:>8}\n", "n", "Gibbs: a chain's sweep, second",
             "primal-dual: a chain's sweep, second", "ratio", "cores");
  for (std::uint32_t n : {100U, 200U, 500U, 1000U, 2000U}) {
    const SpinGraph spins =
        spin_graph(compile(ising(complete_edges(n), Draw::constant(0.8 / n), Draw::constant(0), 1)));
    const std::uint64_t sweeps = std::max(300U, 400'000U / n);
    const Efficiency gibbs = efficiency_of_lanes(GibbsSpinLanes(spins), sweeps);
    const Efficiency dual = efficiency_of_lanes(PrimalDualLanes(spins), sweeps);
    const double ratio = dual.per_second / gibbs.per_second;
    fmt::print("{:>6} {:>18.4f} {:>11.0f} {:>20.4f} {:>11.0f} {:>8.3f} {:>8.1f}\n", n, gibbs.per_sweep,
               gibbs.per_second, dual.per_sweep, dual.per_second, ratio, 1 / ratio);
  }
}

void critical_torus(std::uint32_t largest) {
  fmt::print("\n4. critical torus: effective samples of the squared magnetisation, one chain, one thread\n");
  fmt::print("{:>6} {:>26} {:>32} {:>12}\n", "side", "Gibbs: per sweep, second",
             "Swendsen-Wang: per sweep, second", "ratio (time)");
  const double critical = std::log(1 + std::sqrt(2.0)) / 2;
  const auto square = [](const std::vector<Value>& x) { return magnetisation(x) * magnetisation(x); };
  std::uint32_t last_side = 0;
  double last_per_sweep = 0;
  for (std::uint32_t side : {32U, 64U, 128U, 1000U}) {
    if (side > largest) break;
    const Graph graph =
        compile(ising(grid_edges(side, side, true), Draw::constant(critical), Draw::constant(0), 1));
    const SpinGraph spins = spin_graph(graph);
    const Efficiency cluster = efficiency(SwendsenWang(graph), side < 1000 ? 4000 : 300, square);
    const std::uint64_t sweeps = side < 1000 ? 200000 : 2000;
    const auto lattice = recognise_lattice(spins);
    const auto equal = equal_lattice(*lattice);
    const Efficiency gibbs = equal && equal->width >= 128
                                 ? efficiency(GibbsSpinEqualLattice(*equal), sweeps, square)
                                 : efficiency(GibbsSpinChain(spins), sweeps, square);
    // What is too slow to resolve is scaled up from the size before, by the exponent of local dynamics.
    double per_sweep = gibbs.per_sweep;
    const bool resolved = gibbs.per_sweep * static_cast<double>(sweeps) >= 50;
    if (!resolved) per_sweep = last_per_sweep * std::pow(static_cast<double>(last_side) / side, 2.17);
    const double per_second = gibbs.per_second * per_sweep / gibbs.per_sweep;
    fmt::print("{:>6} {:>14.3g} {:>11.3g} {:>19.4f} {:>12.1f} {:>12.1f}{}\n", side, per_sweep, per_second,
               cluster.per_sweep, cluster.per_second, cluster.per_second / per_second,
               resolved ? "" : "  (Gibbs: scaled from the size before by side^-2.17)");
    last_side = side;
    last_per_sweep = per_sweep;
  }
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const int largest = count > 1 ? std::atoi(arguments[1]) : 1000;
  const std::string tables = count > 2 ? arguments[2] : "1234";
  const auto wanted = [&](char table) { return tables.find(table) != std::string::npos; };
  tbb::task_arena(1).execute([&] {
    if (wanted('1')) drover::degree_four();
  });
  if (wanted('2')) drover::threads();
  tbb::task_arena(1).execute([&] {
    if (wanted('3')) drover::complete_graphs();
    if (wanted('4')) drover::critical_torus(static_cast<std::uint32_t>(largest));
  });
}
