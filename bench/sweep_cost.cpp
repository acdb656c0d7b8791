// Measures what a sweep of every sampler costs and prints the rows of drover/methods/sweep_cost.cpp.
// Usage: bench_sweep_cost [seconds per model and method, default 0.2] [part of a method's name]
// Each sampler runs its usual number of chains on models of several sizes and degrees; of several stretches the fastest
// counts, which other work on the machine lengthened least. The prices are those that miss the worst model by the smallest
// factor. Below a row stand the kinds of models that it misses by more than a factor of 1.5. One thread.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
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

using Numbers = std::array<double, 4>;

struct Sample {
  std::string model;
  Numbers size;
  double nanoseconds;  ///< of a sweep of one chain
};

double ratio(const Numbers& price, const Sample& sample) {
  return std::inner_product(price.begin(), price.end(), sample.size.begin(), 0.0) / sample.nanoseconds;
}

// Coordinate descent on sum weight (ratio - 1)^2 with prices >= 0.
Numbers least_squares(const std::vector<Sample>& samples, const std::vector<double>& weights, Numbers price) {
  for (int round = 0; round < 2000; ++round)
    for (std::size_t k = 0; k < price.size(); ++k) {
      double numerator = 0, denominator = 0;
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const double slope = samples[s].size[k] / samples[s].nanoseconds;
        numerator += weights[s] * slope * (1 - ratio(price, samples[s]) + price[k] * slope);
        denominator += weights[s] * slope * slope;
      }
      price[k] = denominator > 0 ? std::max(0.0, numerator / denominator) : 0;
    }
  return price;
}

struct Fit {
  Numbers price;
  double worst = std::numeric_limits<double>::infinity();  ///< the factor by which a model is missed
};

// Models that are missed count more from round to round (Lawson 1961), and what is missed by most is so on both sides.
Fit fit(const std::vector<Sample>& samples) {
  std::vector<double> weights(samples.size(), 1.0);
  Fit best;
  for (int round = 0; round < 40; ++round) {
    Fit one{least_squares(samples, weights, {1, 0, 0, 0})};
    double least = one.worst, most = 0;
    for (const Sample& sample : samples) {
      least = std::min(least, ratio(one.price, sample));
      most = std::max(most, ratio(one.price, sample));
    }
    for (double& price : one.price) price = price < 1e-9 ? 0 : price / std::sqrt(least * most);
    one.worst = std::sqrt(most / least);
    double total = 0;
    for (std::size_t s = 0; s < samples.size(); ++s)
      total += weights[s] *= 0.05 + std::abs(std::log(ratio(one.price, samples[s])));
    for (double& weight : weights) weight /= total;
    if (one.worst < best.worst) best = one;
  }
  return best;
}

std::vector<bench::NamedModel> models() {
  std::vector<bench::NamedModel> list;
  const Draw field = Draw::normal(0, 0.2), table = Draw::normal(0, 0.3);
  for (std::uint32_t side : {12, 40, 120})
    list.push_back({fmt::format("glass, side {}", side),
                    ising(grid_edges(side, side, false), Draw::normal(0, 0.5), field, 1)});
  for (std::uint32_t side : {12, 80})
    list.push_back({fmt::format("ferromagnet, side {}", side),
                    ising(grid_edges(side, side, false), Draw::constant(0.3), field, 1)});
  list.push_back({"degree 8", ising(regular_edges(1000, 8, 2), table, field, 2)});
  list.push_back({"ferromagnet of degree 6", ising(regular_edges(500, 6, 2), Draw::constant(0.1), field, 2)});
  list.push_back({"complete 60", ising(complete_edges(60), Draw::normal(0, 0.1), field, 3)});
  list.push_back({"rbm 100x40", rbm(100, 40, table, field, 4)});
  for (std::uint32_t states : {3, 6})
    for (std::uint32_t side : {10, 40})
      list.push_back({fmt::format("potts of {} states, side {}", states, side),
                      potts(grid_edges(side, side, false), states, Draw::constant(0.3), field, 1)});
  for (std::uint32_t states : {4, 11, 16})  // 11 and 16 as in object detection
    list.push_back({fmt::format("pairs of {} states", states),
                    random_tables(60, states, 210, 2, Draw::normal(0, 1), 0, 8)});
  for (std::uint32_t arity : {3, 4, 5})
    list.push_back(
        {fmt::format("binary tables of {}", arity), random_tables(100, 2, 150, arity, table, 0, 5)});
  for (std::uint32_t arity : {8, 10})
    list.push_back({fmt::format("binary tables of {}", arity), random_tables(60, 2, 40, arity, table, 0, 5)});
  list.push_back({"tables of 3, 4 states", random_tables(300, 4, 300, 3, table, 0, 6)});
  list.push_back({"tables of 3, 8 states", random_tables(60, 8, 60, 3, table, 0, 6)});
  list.push_back({"tables of 3, zeros", random_tables(60, 3, 60, 3, table, 0.1, 6)});
  list.push_back({"pairs with zeros", random_tables(60, 4, 100, 2, table, 0.1, 6)});
  list.push_back({"noisy-or 50x150", bench::noisy_or_network(50, 150, 7).model});
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.2;
  const std::string_view part = argc > 2 ? argv[2] : "";
  RunControl control;
  control.limit_threads(1);
  const std::vector<bench::NamedModel> list = models();
  with_threads(control, [&] {
    for (const Method& method : all_methods()) {
      if (method.enter == nullptr || method.name == "herded-gibbs") continue;  // no contestant of the race
      if (method.name.find(part) == std::string_view::npos) continue;
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
              double fastest = std::numeric_limits<double>::infinity();
              std::uint64_t sweeps = 8;
              for (double spent = 0; spent < seconds;) {
                const double begin = cpu_seconds();
                live.run_to(live.sweeps_done() + sweeps, no_control());
                const double stretch = cpu_seconds() - begin;
                spent += stretch;
                if (stretch < seconds / 8)
                  sweeps *= 2;
                else
                  fastest = std::min(fastest, stretch / static_cast<double>(sweeps));
              }
              const SweepSize size = live.sweep_size();
              samples.push_back({named.name,
                                 {size.variables, size.links, size.reads, size.entries},
                                 1e9 * fastest / live.chains() / live.replicas()});
            });
          } catch (const Error& error) {
            fmt::print(stderr, "{}: {}\n", method.name, error.what());
          }
        }
        if (samples.empty()) continue;
        const auto [price, worst] = fit(samples);
        fmt::print("      SweepCost{{\"{}\", {}, {:.3g}}},  // within a factor of {:.2f}\n", method.name,
                   spins, fmt::join(price, ", "), worst);
        for (const Sample& sample : samples)
          if (const double of = ratio(price, sample); of > 1.5 || of < 1 / 1.5)
            fmt::print("        // {}: {:.2f} of {:.4g} ns (sizes {:.4g})\n", sample.model, of,
                       sample.nanoseconds, fmt::join(sample.size, " "));
        std::fflush(stdout);
      }
    }
  });
}
