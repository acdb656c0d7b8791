// The C++ annealer of dwave-samplers on an instance in drover's .coo text: the best score of three shapes (one
// long read, reads of a tenth of its sweeps, of a hundredth), each as long as SECONDS allow, with its default
// temperatures (a geometric schedule from _default_ising_beta_range), sequential order, Metropolis.
//
//   anneal FILE.coo SECONDS SEED
//
// Compiled by bench/dwave/run together with dwave/samplers/sa/src/cpu_sa.cpp, which is not part of drover.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu_sa.h"

namespace {

using namespace dwave::samplers::sa;

double seconds_now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// What is minimised: energies are minus log factors.
struct Instance {
  std::vector<double> fields, couplings;
  std::vector<int> first, second;

  void grow(int variable) {
    if (fields.size() <= static_cast<std::size_t>(variable)) fields.resize(variable + 1, 0.0);
  }
};

Instance read(const char* path) {
  Instance instance;
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) std::exit(66);
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    int i = 0;
    char second[64], third[64];
    if (line[0] == '#') continue;
    const int columns = std::sscanf(line, "%d %63s %63s", &i, second, third);
    if (columns == 3) {
      const int j = std::atoi(second);
      instance.grow(std::max(i, j));
      instance.first.push_back(i);
      instance.second.push_back(j);
      instance.couplings.push_back(-std::atof(third));
    } else if (columns == 2) {
      instance.grow(i);
      instance.fields[i] -= std::atof(second);
    }
  }
  std::fclose(file);
  return instance;
}

struct Range {
  double hot, cold;
};

// As _default_ising_beta_range of dwave/samplers/sa/sampler.py has it.
Range temperatures(const Instance& instance) {
  std::vector<double> sums(instance.fields.size()),
      least(sums.size(), std::numeric_limits<double>::infinity());
  const auto take = [&](std::size_t variable, double size) {
    sums[variable] += size;
    if (size != 0) least[variable] = std::min(least[variable], size);
  };
  for (std::size_t i = 0; i < sums.size(); ++i) take(i, std::abs(instance.fields[i]));
  for (std::size_t c = 0; c < instance.couplings.size(); ++c)
    for (int variable : {instance.first[c], instance.second[c]})
      take(variable, std::abs(instance.couplings[c]));
  const double smallest = *std::min_element(least.begin(), least.end());
  const auto gaps = static_cast<double>(std::count(least.begin(), least.end(), smallest));
  return {std::log(2) / (2 * *std::max_element(sums.begin(), sums.end())),
          std::log(gaps / 0.01) / (2 * smallest)};
}

struct Run {
  double score, seconds;
};

Run anneal(const Instance& instance, Range range, int reads, int sweeps, std::uint64_t seed) {
  const std::size_t size = instance.fields.size();
  std::vector<std::int8_t> states(reads * size);
  std::mt19937_64 random(seed);
  for (std::int8_t& state : states) state = random() & 1 ? 1 : -1;
  std::vector<double> energies(reads), schedule(sweeps);
  for (int k = 0; k < sweeps; ++k)
    schedule[k] = sweeps == 1 ? range.cold : range.hot * std::pow(range.cold / range.hot, k / (sweeps - 1.0));
  const double begin = seconds_now();
  general_simulated_annealing(states.data(), energies.data(), reads, instance.fields, instance.first,
                              instance.second, instance.couplings, 1, schedule, seed, Sequential, Metropolis,
                              nullptr, nullptr);
  return {-*std::min_element(energies.begin(), energies.end()), seconds_now() - begin};
}

}  // namespace

int main(int, char** arguments) {
  const Instance instance = read(arguments[1]);
  const double seconds = std::atof(arguments[2]);
  const std::uint64_t seed = std::strtoull(arguments[3], nullptr, 10);
  const Range range = temperatures(instance);
  // What one sweep takes depends on the temperature, so a short schedule is timed, then one of the full length.
  const double setup = anneal(instance, range, 1, 1, seed).seconds;
  const auto fitting = [&](int sweeps) {
    const double took = anneal(instance, range, 1, sweeps, seed).seconds - setup;
    return static_cast<int>(std::max(8.0, sweeps * (seconds - setup) / std::max(took, 1e-6)));
  };
  const int sweeps = fitting(fitting(20));
  double best = -std::numeric_limits<double>::infinity();
  std::string text;
  for (const int part : {1, 10, 100}) {
    if (sweeps / part < 20) break;
    const double one = anneal(instance, range, 1, sweeps / part, seed).seconds - setup;
    const int reads = std::max(1, static_cast<int>((seconds - setup) / one + 0.5));
    const Run run = anneal(instance, range, reads, sweeps / part, seed);
    best = std::max(best, run.score);
    char shape[128];
    std::snprintf(shape, sizeof shape, " %dx%d: %.3f (%.2f s)", reads, sweeps / part, run.score, run.seconds);
    text += shape;
  }
  std::printf("%.3f%s\n", best, text.c_str());
}
