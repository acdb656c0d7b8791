// Measures what a sweep of every sampler costs and prints the rows of drover/methods/sweep_cost.cpp.
// Usage: bench_sweep_cost [seconds per model and method, default 0.2]
// Each sampler runs its usual number of chains on models of several sizes and degrees; the three prices are
// fitted by non-negative least squares of the relative error. One thread; run it on an idle machine.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "bench/race_models.hpp"
#include "drover/core/error.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/sweep_cost.hpp"
#include "drover/run/chain_run.hpp"

namespace {

using namespace drover;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

struct Sample {
  std::array<double, 3> size;
  double nanoseconds;  ///< of a sweep of one chain
};

// Coordinate descent on sum ((price . size) / ns - 1)^2 with prices >= 0.
std::array<double, 3> fit(const std::vector<Sample>& samples) {
  std::array<double, 3> price = {1, 1, 1};
  for (int round = 0; round < 20000; ++round)
    for (std::size_t k = 0; k < 3; ++k) {
      double numerator = 0, denominator = 0;
      for (const Sample& sample : samples) {
        const double slope = sample.size[k] / sample.nanoseconds;
        double rest = 1;
        for (std::size_t j = 0; j < 3; ++j)
          if (j != k) rest -= price[j] * sample.size[j] / sample.nanoseconds;
        numerator += slope * rest;
        denominator += slope * slope;
      }
      price[k] = denominator > 0 ? std::max(0.0, numerator / denominator) : 0;
    }
  return price;
}

std::vector<bench::NamedModel> models() {
  std::vector<bench::NamedModel> list;
  const Draw field = Draw::normal(0, 0.2);
  for (std::uint32_t side : {12, 40, 120})
    list.push_back({"", ising(grid_edges(side, side, false), Draw::normal(0, 0.5), field, 1)});
  for (std::uint32_t side : {12, 80})
    list.push_back({"", ising(grid_edges(side, side, false), Draw::constant(0.3), field, 1)});
  list.push_back({"", ising(regular_edges(1000, 8, 2), Draw::normal(0, 0.3), field, 2)});
  list.push_back({"", ising(regular_edges(500, 6, 2), Draw::constant(0.1), field, 2)});
  list.push_back({"", ising(complete_edges(60), Draw::normal(0, 0.1), field, 3)});
  list.push_back({"", rbm(100, 40, Draw::normal(0, 0.3), field, 4)});
  for (std::uint32_t states : {3, 6})
    for (std::uint32_t side : {10, 40})
      list.push_back({"", potts(grid_edges(side, side, false), states, Draw::constant(0.3), field, 1)});
  for (std::uint32_t arity : {3, 4, 5})
    list.push_back({"", random_tables(100, 2, 150, arity, Draw::normal(0, 0.3), 0, 5)});
  list.push_back({"", random_tables(300, 4, 300, 3, Draw::normal(0, 0.3), 0, 6)});
  list.push_back(bench::noisy_or_network(50, 150, 7));
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.2;
  RunControl control;
  control.limit_threads(1);
  const std::vector<bench::NamedModel> list = models();
  with_threads(control, [&] {
    for (const Method& method : all_methods()) {
      if (method.enter == nullptr || method.name == "herded-gibbs") continue;  // no contestant of the race
      for (bool spins : {true, false}) {
        std::vector<Sample> samples;
        for (const bench::NamedModel& named : list) {
          InferenceOptions options;
          options.method = method.name;
          const Problem problem(compile(named.model, named.evidence), options);
          if (problem.graph().is_spin() != spins) continue;
          if (!why_not(method, problem, Task::marginals).empty()) continue;
          ChainOptions chains;
          chains.chains = 0;
          chains.burn_in = 4;
          chains.score_every = 8;
          chains.tuning = 64;
          try {
            method.enter(problem, chains, no_control(), [&](LiveChains& live) {
              live.run_to(8, no_control());
              double begin = cpu_seconds(), spent = 0;
              std::uint64_t sweeps = 0;
              for (std::uint64_t more = 8; spent < seconds; more *= 2) {
                live.run_to(live.sweeps_done() + more, no_control());
                sweeps += more;
                spent = cpu_seconds() - begin;
              }
              const SweepSize size = live.sweep_size();
              samples.push_back(
                  {{size.variables, size.links, size.entries},
                   1e9 * spent / static_cast<double>(sweeps) / live.chains() / live.replicas()});
            });
          } catch (const Error& error) {
            fmt::print(stderr, "{}: {}\n", method.name, error.what());
          }
        }
        if (samples.empty()) continue;
        const auto price = fit(samples);
        double worst = 1;
        for (const Sample& sample : samples) {
          const double predicted =
              price[0] * sample.size[0] + price[1] * sample.size[1] + price[2] * sample.size[2];
          worst = std::max({worst, predicted / sample.nanoseconds, sample.nanoseconds / predicted});
        }
        fmt::print("      SweepCost{{\"{}\", {}, {:.3g}, {:.3g}, {:.3g}}},  // within a factor of {:.1f}\n",
                   method.name, spins, price[0], price[1], price[2], worst);
        std::fflush(stdout);
      }
    }
  });
}
