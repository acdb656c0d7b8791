// Annealing under a time limit: the score that `map --method annealed-gibbs --time` reaches, one thread.
// Usage: bench_annealing [seconds per run, default 3] [first seed, default 101] [seeds, default 3]
//        bench_annealing coo FILE KIND SEED    writes an instance as lines "i j coupling" (i = j: a field)
//
// Instances are made from seeds that nothing was tuned on. Beside the score: the best of the chains of one
// anneal of the same length, without recombination and rounds.
#include <fmt/core.h>
#include <oneapi/tbb/task_arena.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/anneal/annealed_gibbs.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"

namespace {

using namespace drover;

struct Kind {
  const char* name;
  Model (*make)(std::uint64_t seed);
};

const Draw none = Draw::constant(0);

const Kind kinds[] = {
    {"grid50-normal",
     [](std::uint64_t s) { return ising(grid_edges(50, 50, false), Draw::normal(0, 1), none, s); }},
    {"grid50-signs",
     [](std::uint64_t s) { return ising(grid_edges(50, 50, false), Draw::sign(1), none, s); }},
    {"random1000-normal",
     [](std::uint64_t s) { return ising(regular_edges(1000, 8, s), Draw::normal(0, 1), none, s); }},
    {"random1000-signs",
     [](std::uint64_t s) { return ising(regular_edges(1000, 8, s), Draw::sign(1), none, s); }},
    {"grid200-uniform-fields",
     [](std::uint64_t s) {
       return ising(grid_edges(200, 200, false), Draw::uniform(-1, 1), Draw::normal(0, 0.3), s);
     }},
    {"grid200-normal",
     [](std::uint64_t s) { return ising(grid_edges(200, 200, false), Draw::normal(0, 1), none, s); }},
    {"grid200-signs",
     [](std::uint64_t s) { return ising(grid_edges(200, 200, false), Draw::sign(1), none, s); }},
    {"random20000-normal",
     [](std::uint64_t s) { return ising(regular_edges(20'000, 6, s), Draw::normal(0, 1), none, s); }},
    {"grid1000-normal",
     [](std::uint64_t s) { return ising(grid_edges(1000, 1000, false), Draw::normal(0, 1), none, s); }},
    {"grid1000-signs",
     [](std::uint64_t s) { return ising(grid_edges(1000, 1000, false), Draw::sign(1), none, s); }},
};

int write_instance(const char* path, const std::string& kind, std::uint64_t seed) {
  for (const Kind& each : kinds) {
    if (kind != each.name) continue;
    const Graph graph = compile(each.make(seed));
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return 73;
    for (VariableId v = 0; v < graph.size(); ++v)
      fmt::print(file, "{} {} {}\n", v, v, (graph.unary_of(v)[1] - graph.unary_of(v)[0]) / 2);
    const SpinPairs& pairs = graph.spin_pairs;
    for (std::size_t f = 0; f < pairs.size(); ++f)
      fmt::print(file, "{} {} {}\n", pairs.first[f], pairs.second[f], pairs.couplings[f]);
    return std::fclose(file) == 0 ? 0 : 73;
  }
  fmt::print(stderr, "no such kind: {}\n", kind);
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "coo")
    return write_instance(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 101;
  const std::uint64_t seeds = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 3;
  oneapi::tbb::task_arena one_thread(1);
  fmt::print("{:<24} {:>5} {:>8} {:>14} {:>8} {:>9} {:>14}\n", "instance", "seed", "seconds", "score",
             "batches", "updates/ns", "one anneal");
  for (const Kind& kind : kinds)
    for (std::uint64_t seed = first; seed < first + seeds; ++seed)
      one_thread.execute([&] {
        const Graph graph = compile(kind.make(seed));
        const GibbsSpinBytes kernel(spin_graph(graph));
        RunControl control;
        control.limit_time(seconds);
        AnnealOptions options{.seed = seed, .sweeps = 2000, .control = &control};
        const AnnealResult result = annealed_gibbs_by_time(graph, kernel, options, 1);
        const double took = control.seconds();
        // One anneal of as many sweeps as all batches had, each chain by itself.
        options.control = &no_control();
        options.sweeps = result.sweeps / 64;
        std::vector<float> temperature(64);
        std::vector<double> scores(64);
        auto state = kernel.start(seed, 0);
        const TemperatureRange range = temperature_range(graph);
        for (std::uint64_t sweep = 0; sweep < options.sweeps; ++sweep) {
          const double progress = static_cast<double>(sweep + 1) / static_cast<double>(options.sweeps);
          temperature.assign(64, static_cast<float>(cooled(Cooling::geometric, range, progress)));
          kernel.set_inverse_temperatures(state, temperature);
          kernel.sweep(state, sweep);
        }
        kernel.log_scores(state, scores);
        fmt::print("{:<24} {:>5} {:>8.2f} {:>14.3f} {:>8} {:>9.2f} {:>14.3f}\n", kind.name, seed, took,
                   result.log_score, result.batch_scores.size(),
                   static_cast<double>(result.sweeps) * static_cast<double>(graph.size()) / took * 1e-9,
                   *std::max_element(scores.begin(), scores.end()));
      });
}
