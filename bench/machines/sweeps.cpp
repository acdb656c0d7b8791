// Seconds per sweep of one chain that lies on the ranks of mpirun, and what a sweep exchanges.
//
//   mpirun -n 2 bench_machines MODEL VARIABLES DEGREE METHOD DELAY THREADS SECONDS
//
// MODEL: grid (any couplings, DEGREE is not used) or local (every variable has DEGREE / 2 neighbours among the 64 after
// it, drawn at random: as many colours as the degree wants, few pairs between two ranks). METHOD: gibbs or primal-dual.
// DELAY in microseconds is added to every exchange (delayed_ranks.hpp). Rank 0 prints one line of figures: variables,
// colours, ranks, threads, delay, seconds per sweep (the best of five stretches), exchanges, messages and bytes per
// sweep that leave the rank that has most, and sweeps between independent draws of the log score.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

#include "bench/machines/delayed_ranks.hpp"
#include "drover/cluster/mpi_ranks.hpp"
#include "drover/compile/lattice.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/ess.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/sample/spread/gibbs_lattice_spread.hpp"
#include "drover/sample/spread/gibbs_spin_spread.hpp"
#include "drover/sample/spread/primal_dual_spread.hpp"

namespace {

using namespace drover;

struct Facts {
  std::size_t colours = 0, exchanges = 0, messages = 0, bytes = 0;
};

struct Settings {
  std::string model, method;
  std::size_t variables = 0, degree = 4;
  double delay = 0, seconds = 1;
  int threads = 1;
};

Lattice grid(std::size_t variables) {
  const auto width = static_cast<std::size_t>(std::sqrt(static_cast<double>(variables)) / 2) * 2;
  const std::size_t height = variables / width;
  Lattice lattice;
  lattice.width = width;
  lattice.height = height;
  const Random random(1, Stream::generate);
  for (std::size_t i = 0; i < width * height; ++i) {
    const auto draw = [&](std::uint32_t which) {
      return static_cast<float>(4 * (random.uniform(which, i, 0) - 0.5));
    };
    lattice.bias.push_back(draw(0));
    lattice.right.push_back((i + 1) % width == 0 ? 0.0F : draw(1));
    lattice.down.push_back(i / width + 1 == height ? 0.0F : draw(2));
  }
  return lattice;
}

SpinGraph local(std::size_t variables, std::size_t degree) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(variables, 2);
  const double scale = 0.8 / std::sqrt(static_cast<double>(degree));
  for (std::uint32_t v = 0; v < variables; ++v) {
    model.unaries.add(v, std::vector<double>{0, random.normal()});
    for (std::size_t k = 0; k < degree / 2; ++k) {
      const std::uint32_t other = v + 1 + random.below(64);
      if (other < variables) model.spin_pairs.add(v, other, scale * random.normal());
    }
  }
  return spin_graph(compile(model));
}

/// Seconds per sweep, by rank 0's clock.
template <class K>
void measure(const K& kernel, const Settings& settings, const Ranks& ranks, Facts facts) {
  using Clock = std::chrono::steady_clock;
  typename K::State state = kernel.start(1, 0);
  AlignedFloats sums(kernel.entry_count(), 0.0F);
  std::uint64_t sweep = 0;
  const auto run = [&](std::uint64_t count) {
    ranks.vote(0);
    const auto begin = Clock::now();
    for (std::uint64_t k = 0; k < count; ++k) kernel.sweep(state, sweep++, ConditionalSums{sums});
    ranks.vote(0);
    return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(count);
  };
  double once = run(3);
  std::string bytes(reinterpret_cast<const char*>(&once), sizeof(once));
  ranks.broadcast(bytes);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&once));
  const auto stretch = static_cast<std::uint64_t>(std::max(2.0, settings.seconds / 5 / once));
  double best = once;
  for (int k = 0; k < 5; ++k) best = std::min(best, run(stretch));
  std::vector<double> scores(1000);
  if (settings.variables <= 300'000)
    for (double& score : scores) {
      kernel.sweep(state, sweep++);
      kernel.log_scores(state, std::span(&score, 1));
    }
  const double apart =
      settings.variables <= 300'000 ? autocorrelation_time({scores.data(), 1, scores.size()}) : 0;
  std::vector<double> most = joined(ranks, {static_cast<double>(facts.bytes)});
  if (ranks.is_first())
    fmt::print(
        "{} {} {} colours {} ranks {} threads {} delay {} seconds {:.4g} exchanges {} messages {} bytes {} "
        "apart {:.2f}\n",
        settings.model, settings.method, kernel.size(), facts.colours, ranks.size(), settings.threads,
        settings.delay, best, facts.exchanges, facts.messages, *std::ranges::max_element(most), apart);
}

template <class Spread>
Facts facts_of(const Spread& kernel) {
  return {kernel.spread().kernel().colour_count(), kernel.spread().exchanges_per_sweep(),
          kernel.spread().messages_per_sweep(), kernel.spread().bytes_per_sweep()};
}

void run(const Settings& settings, const Ranks& ranks) {
  if (settings.model == "grid") {
    const Lattice lattice = grid(settings.variables);
    const std::size_t bytes = ranks.size() == 1 ? 0 : 4 * lattice.width / 8;
    if (ranks.size() == 1) return measure(GibbsSpinLattice(lattice), settings, ranks, {2, 0, 0, 0});
    return measure(GibbsLatticeSpread(lattice, ranks), settings, ranks, {2, 2, 0, bytes});
  }
  const SpinGraph graph = local(settings.variables, settings.degree);
  if (settings.method == "gibbs") {
    if (ranks.size() == 1) {
      const GibbsSpinChain kernel(graph);
      return measure(kernel, settings, ranks, {kernel.colour_count(), 0, 0, 0});
    }
    const GibbsSpinSpread kernel(graph, ranks);
    return measure(kernel, settings, ranks, facts_of(kernel));
  }
  if (ranks.size() == 1) return measure(PrimalDualChain(graph), settings, ranks, {2, 0, 0, 0});
  const PrimalDualSpread kernel(graph, ranks);
  measure(kernel, settings, ranks, facts_of(kernel));
}

}  // namespace

int main(int argc, char** argv) {
  drover::MpiSession session(argc, argv);
  if (argc != 8) {
    if (session.ranks().is_first())
      fmt::print(stderr, "bench_machines MODEL VARIABLES DEGREE METHOD DELAY THREADS SECONDS\n");
    session.end(true);
    return 64;
  }
  Settings settings;
  settings.model = argv[1];
  settings.variables = std::strtoul(argv[2], nullptr, 10);
  settings.degree = std::strtoul(argv[3], nullptr, 10);
  settings.method = argv[4];
  settings.delay = std::atof(argv[5]);
  settings.threads = std::atoi(argv[6]);
  settings.seconds = std::atof(argv[7]);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(settings.threads));
  if (settings.delay > 0)
    run(settings, drover::bench::DelayedRanks(session.ranks(), settings.delay * 1e-6));
  else
    run(settings, session.ranks());
  session.end(true);
  return 0;
}
