// Annealing in lanes on three spin models: energies and time to the best energy seen, one thread.
// Usage: bench_annealing [seconds per row, default 2]
//
// Time is processor time, so that a busy machine does not change the figures much. Time to target: the time
// after which the best energy (over all rows of the instance) has been met with probability 99 %,
// t_read * log(0.01) / log(1 - share of reads that met it).
#include <fmt/core.h>
#include <oneapi/tbb/task_arena.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/anneal/annealed_gibbs.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"

namespace {

using namespace drover;

struct Row {
  std::string name;
  double seconds = 0;
  std::vector<double> energies;  ///< of the reads

  double best() const {
    double least = std::numeric_limits<double>::infinity();
    for (double energy : energies) least = std::min(least, energy);
    return least;
  }
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Batches of 64 reads, each with its own seed, until the time is over.
Row anneal(const Graph& graph, const GibbsSpinLanes& kernel, Cooling cooling, std::uint64_t sweeps,
           double seconds) {
  Row row;
  row.name = fmt::format("{} {}", cooling == Cooling::linear ? "linear" : "geometric", sweeps);
  const double start = processor_seconds();
  for (std::uint64_t seed = 1; row.seconds < seconds; ++seed) {
    const AnnealOptions options{.seed = seed, .sweeps = sweeps, .reads = 64, .cooling = cooling};
    for (double score : annealed_gibbs(graph, kernel, options).read_scores) row.energies.push_back(-score);
    row.seconds = processor_seconds() - start;
  }
  return row;
}

void print(const std::string& instance, const std::vector<Row>& rows) {
  double target = std::numeric_limits<double>::infinity();
  for (const Row& row : rows) target = std::min(target, row.best());
  fmt::print("{}: best energy {:.4f}\n", instance, target);
  fmt::print("  {:<18} {:>7} {:>9} {:>12} {:>12} {:>8} {:>12}\n", "schedule", "reads", "ms/read", "best",
             "mean", "met", "99 % after s");
  for (const Row& row : rows) {
    const auto reads = static_cast<double>(row.energies.size());
    double sum = 0, met = 0;
    for (double energy : row.energies) {
      sum += energy;
      met += energy < target + 1e-6 * std::abs(target);
    }
    const double per_read = row.seconds / reads;
    const double tries = met == reads ? 1 : std::max(1.0, std::log(0.01) / std::log1p(-met / reads));
    fmt::print("  {:<18} {:>7} {:>9.3f} {:>12.4f} {:>12.4f} {:>7.2f}% {:>12.4g}\n", row.name, reads,
               1000 * per_read, row.best(), sum / reads, 100 * met / reads, per_read * tries);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const Draw none = Draw::constant(0);
  const std::pair<const char*, Model> instances[] = {
      {"grid 50x50, couplings +-1", ising(grid_edges(50, 50, false), Draw::sign(1), none, 1)},
      {"1000 variables of degree 8, normal couplings",
       ising(regular_edges(1000, 8, 1), Draw::normal(0, 1), none, 1)},
      {"dense 200, normal couplings", ising(complete_edges(200), Draw::normal(0, 1), none, 1)},
  };
  oneapi::tbb::task_arena one_thread(1);
  for (const auto& [name, model] : instances) {
    const Graph graph = compile(model);
    const GibbsSpinLanes kernel(spin_graph(graph));
    std::vector<Row> rows;
    for (const Cooling cooling : {Cooling::geometric, Cooling::linear})
      for (const std::uint64_t sweeps : {100, 1000, 4000})
        one_thread.execute([&] { rows.push_back(anneal(graph, kernel, cooling, sweeps, seconds)); });
    print(name, rows);
  }
}
