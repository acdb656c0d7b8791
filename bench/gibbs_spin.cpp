// Variable updates per nanosecond of the spin kernels, with the generators they could use and a plain CSR
// loop as baseline, all in one run. Every figure is the median and the best of short repetitions; on a shared
// machine the best is the one that means something.
//
//   bench_gibbs_spin [all | generators | lanes | bytes | curve | chain | threads]
#include <fmt/format.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "drover/core/aligned.hpp"
#include "drover/core/random.hpp"
#include "drover/core/simd.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_equal_lattice.hpp"
#include "drover/sample/gibbs/gibbs_spin_lanes.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/lane_random_targets.hpp"

#define HWY_TARGET_INCLUDE "bench/lane_generators-inl.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/lane_generators-inl.hpp"

namespace drover {
namespace {

SpinGraph grid(std::uint32_t width, std::uint32_t height, bool equal = false) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{width} * height, 2);
  for (std::uint32_t i = 0; i < width * height; ++i) {
    const double values[2] = {0, equal ? 0.0 : random.normal()};
    model.unaries.add(i, values);
  }
  for (std::uint32_t y = 0; y < height; ++y)
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint32_t i = y * width + x;
      if (x + 1 < width) model.spin_pairs.add(i, i + 1, equal ? 0.3 : 0.5 * random.normal());
      if (y + 1 < height) model.spin_pairs.add(i, i + width, equal ? 0.3 : 0.5 * random.normal());
    }
  return spin_graph(compile(model));
}

// A union of random cycles through all variables: every variable has `degree` neighbours (now and then
// fewer).
SpinGraph random_regular(std::uint32_t size, std::uint32_t degree) {
  RandomSequence random(1, Stream::generate);
  Model model;
  model.cardinalities.assign(size, 2);
  std::vector<VariableId> order(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const double values[2] = {0, random.normal()};
    model.unaries.add(i, values);
    order[i] = i;
  }
  for (std::uint32_t cycle = 0; cycle < degree / 2; ++cycle) {
    for (std::uint32_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (std::uint32_t i = 0; i < size; ++i)
      model.spin_pairs.add(order[i], order[(i + 1) % size], 0.3 * random.normal());
  }
  return spin_graph(compile(model));
}

struct Rate {
  double best = 0, median = 0;
};

enum class Clock { thread, wall };

double nanoseconds(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// `work` makes `updates` updates; repeated for about 0.4 seconds, at least 7 times. Work of one thread is
// timed by that thread's own clock, so that other programs do not count.
template <class Work>
Rate measure(double updates, Work work, Clock clock = Clock::thread) {
  work();
  std::vector<double> rates;
  const double begin = nanoseconds(Clock::wall);
  while (rates.size() < 7 || (nanoseconds(Clock::wall) - begin < 4e8 && rates.size() < 200)) {
    const double start = nanoseconds(clock);
    work();
    rates.push_back(updates / (nanoseconds(clock) - start));
  }
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2]};
}

void print(const std::string& what, Rate rate) {
  fmt::print("{:<58} {:8.3f} {:8.3f}\n", what, rate.best, rate.median);
  std::fflush(stdout);
}

// Sweeps until a repetition takes about a millisecond or more.
template <class K>
Rate measure_sweeps(const K& kernel, typename K::State& state, Clock clock = Clock::thread) {
  const std::uint64_t sweeps = std::max<std::uint64_t>(1, 2'000'000 / (kernel.size() * kernel.lanes()));
  std::uint64_t sweep = 0;
  return measure(
      static_cast<double>(sweeps * kernel.size() * kernel.lanes()),
      [&] {
        for (std::uint64_t k = 0; k < sweeps; ++k) kernel.sweep(state, sweep++);
      },
      clock);
}

template <class K>
Rate measure_sweeps(const K& kernel, Clock clock = Clock::thread) {
  auto state = kernel.start(1, 0);
  return measure_sweeps(kernel, state, clock);
}

HWY_EXPORT(run_ars7);
HWY_EXPORT(run_ars5);
HWY_EXPORT(run_philox10);
HWY_EXPORT(run_philox7);
HWY_EXPORT(run_threefry20);
HWY_EXPORT(run_threefry12);

void generators() {
  fmt::print("\n-- generators, 64 words of 32 bits per step (words/ns), {}\n",
             hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
  using Run = std::uint32_t (*)(std::uint32_t, std::uint64_t);
  const std::pair<const char*, Run> candidates[] = {
      {"ARS-7 (LaneRandom)", HWY_DYNAMIC_DISPATCH(run_ars7)},
      {"ARS-5", HWY_DYNAMIC_DISPATCH(run_ars5)},
      {"Philox4x32-10", HWY_DYNAMIC_DISPATCH(run_philox10)},
      {"Philox4x32-7", HWY_DYNAMIC_DISPATCH(run_philox7)},
      {"Threefry4x32-20", HWY_DYNAMIC_DISPATCH(run_threefry20)},
      {"Threefry4x32-12", HWY_DYNAMIC_DISPATCH(run_threefry12)}};
  volatile std::uint32_t kept = 0;
  for (const auto& [name, run] : candidates)
    print(name, measure(64.0 * 4096, [&, run = run] { kept = kept ^ run(4096, 1); }));
}

// What a careful programmer writes without vectors: one chain, CSR rows, float fields, expf, Philox by blocks
// of four.
void plain_sweep(const SpinGraph& graph, std::vector<std::uint8_t>& x, const Random& random,
                 std::uint64_t sweep) {
  Random::Block block{};
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (i % 4 == 0) block = random.block(0, sweep, i / 4);
    float field = graph.bias[i];
    for (std::size_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
      field += graph.weight[e] * static_cast<float>(x[graph.neighbour[e]]);
    x[i] = static_cast<float>(block[i % 4]) * 0x1p-32f * (1 + std::exp(-field)) < 1;
  }
}

Rate plain(const SpinGraph& graph) {
  std::vector<std::uint8_t> x(graph.size(), 0);
  const Random random(1, Stream::sweep);
  std::uint64_t sweep = 0;
  const std::uint64_t sweeps = std::max<std::uint64_t>(1, 200'000 / graph.size());
  return measure(static_cast<double>(sweeps * graph.size()), [&] {
    for (std::uint64_t k = 0; k < sweeps; ++k) plain_sweep(graph, x, random, sweep++);
  });
}

void lanes() {
  fmt::print("\n-- 64 chains as lanes, one thread (updates/ns)\n");
  const std::pair<const char*, SpinGraph> graphs[] = {
      {"grid 50x50", grid(50, 50)},
      {"random, degree 8, 2500", random_regular(2500, 8)},
      {"grid 1000x1000", grid(1000, 1000)},
      {"random, degree 8, 10^6", random_regular(1'000'000, 8)}};
  for (const auto& [name, graph] : graphs) {
    const std::string label = name;
    const Rate base = plain(graph);
    print(label + ": plain CSR loop", base);
    const GibbsSpinLanes kernel(graph);
    const Rate rate = measure_sweeps(kernel);
    print(label + ": lanes", rate);
    fmt::print("{:<58} {:8.1f} {:8.1f}\n", label + ": ratio to the plain loop", rate.best / base.best,
               rate.median / base.median);
    print(label + ": lanes, random scan", measure_sweeps(GibbsSpinLanes(graph, Scan::random)));
    auto state = kernel.start(1, 0);
    std::vector<float> sums(kernel.size() * 64, 0.0f);
    std::uint64_t sweep = 0;
    const double updates = 64.0 * static_cast<double>(kernel.size());
    print(label + ": lanes, conditionals added",
          measure(updates, [&] { kernel.sweep(state, sweep++, ConditionalSums{sums}); }));
    std::vector<double> scores(64);
    print(label + ": lanes, log scores", measure(updates, [&] { kernel.log_scores(state, scores); }));
    std::vector<float> inverse(64, 0.9f);
    kernel.set_inverse_temperatures(state, inverse);
    print(label + ": lanes, tempered", measure_sweeps(kernel, state));
  }
}

// A graph of so many variables with pairs drawn at random.
SpinGraph random_pairs(std::uint32_t size, std::uint32_t pairs) {
  RandomSequence random(7, Stream::generate);
  Model model;
  model.cardinalities.assign(size, 2);
  for (std::uint32_t i = 0; i < size; ++i) {
    const double values[2] = {0, random.normal()};
    model.unaries.add(i, values);
  }
  for (std::uint32_t k = 0; k < pairs; ++k) {
    const std::uint32_t a = random.below(size), b = random.below(size);
    if (a != b) model.spin_pairs.add(a, b, 0.3 * random.normal());
  }
  return spin_graph(compile(model));
}

// Both kernels of 64 chains in turns: sweeps, sweeps with sums (several at once where the kernel can),
// scores.
template <class K>
void bytes_of(const std::string& label, const SpinGraph& graph) {
  const K kernel(graph);
  auto state = kernel.start(1, 0);
  AlignedFloats sums(64 * kernel.size(), 0.0f);
  constexpr std::uint64_t together = 4;
  const std::uint64_t repeats = std::max<std::uint64_t>(1, 40'000 / kernel.size());
  const double updates = 64.0 * static_cast<double>(kernel.size() * repeats * together);
  std::uint64_t sweep = 0;
  const auto run = [&](auto... sums_or_none) {
    for (std::uint64_t k = 0; k < repeats; ++k, sweep += together) {
      if constexpr (requires { kernel.sweeps(state, sweep, together); })
        kernel.sweeps(state, sweep, together, sums_or_none...);
      else
        for (std::uint64_t s = sweep; s < sweep + together; ++s) kernel.sweep(state, s, sums_or_none...);
    }
  };
  print(label, measure(updates, [&] { run(); }));
  print(label + ", conditionals added", measure(updates, [&] { run(ConditionalSums{sums}); }));
  std::vector<double> scores(64);
  print(label + ", log scores",
        measure(64.0 * static_cast<double>(kernel.size()), [&] { kernel.log_scores(state, scores); }));
  kernel.set_inverse_temperatures(state, std::vector<float>(64, 0.9f));
  print(label + ", at another temperature", measure(updates, [&] { run(); }));
}

void bytes() {
  fmt::print("\n-- 64 chains as bits and as bytes, one thread (updates/ns)\n");
  const std::pair<std::string, SpinGraph> graphs[] = {
      {"grid 50x50", grid(50, 50)},
      {"random, 1000 variables, 4000 pairs", random_pairs(1000, 4000)},
      {"random, degree 6, 1000", random_regular(1000, 6)},
      {"random, degree 6, 10^5", random_regular(100'000, 6)},
      {"random, degree 8, 1000", random_regular(1000, 8)},
      {"random, degree 8, 2500", random_regular(2500, 8)},
      {"random, degree 8, 10^4", random_regular(10'000, 8)},
      {"random, degree 8, 10^6", random_regular(1'000'000, 8)},
      {"random, degree 16, 1000", random_regular(1000, 16)},
      {"random, degree 64, 1000", random_regular(1000, 64)},
      {"grid 1000x1000", grid(1000, 1000)}};
  for (const auto& [name, graph] : graphs) {
    bytes_of<GibbsSpinLanes>(name + ": bits", graph);
    bytes_of<GibbsSpinBytes>(name + ": bytes", graph);
  }
}

void curve() {
  fmt::print("\n-- lanes on square grids, 10^3 to 10^7 variables (updates/ns)\n");
  for (std::uint32_t side : {32U, 100U, 316U, 1000U, 3162U}) {
    const SpinGraph graph = grid(side, side);
    const double begin = nanoseconds(Clock::wall);
    const GibbsSpinLanes kernel(graph);
    const double seconds = (nanoseconds(Clock::wall) - begin) * 1e-9;
    print(fmt::format("grid {0}x{0} (kernel made in {1:.3f} s)", side, seconds), measure_sweeps(kernel));
  }
}

void chain() {
  fmt::print("\n-- one chain, one thread (updates/ns)\n");
  const SpinGraph graph = grid(1000, 1000), equal = grid(1000, 1000, true),
                  sparse = random_regular(1'000'000, 8);
  tbb::task_arena(1).execute([&] {
    print("random, degree 8, 10^6: by colours", measure_sweeps(GibbsSpinChain(sparse)));
    const GibbsSpinChain general(graph);
    auto state = general.start(1, 0);
    print("grid 1000x1000: by colours", measure_sweeps(general, state));
    general.set_inverse_temperatures(state, std::vector<float>(1, 0.9f));
    print("grid 1000x1000: by colours, tempered", measure_sweeps(general, state));
    print("grid 1000x1000: lattice", measure_sweeps(GibbsSpinLattice(recognise_lattice(graph).value())));
    const GibbsSpinEqualLattice sliced(equal_lattice(recognise_lattice(equal).value()).value());
    print("grid 1000x1000: equal couplings, one table", measure_sweeps(sliced));
    const SpinGraph large = grid(4096, 4096, true);
    print("grid 4096x4096: equal couplings, one table",
          measure_sweeps(GibbsSpinEqualLattice(equal_lattice(recognise_lattice(large).value()).value())));
  });
}

// Two batches of 64 chains on two threads, and one chain on two threads.
void threads() {
  fmt::print("\n-- one and two threads (updates/ns)\n");
  const std::pair<const char*, SpinGraph> graphs[] = {{"grid 50x50", grid(50, 50)},
                                                      {"grid 1000x1000", grid(1000, 1000)}};
  for (const auto& [name, graph] : graphs) {
    const GibbsSpinLanes kernel(graph);
    for (int count : {1, 2}) {
      std::vector<GibbsSpinLanes::State> states{kernel.start(1, 0), kernel.start(1, 64)};
      const std::uint64_t sweeps = std::max<std::uint64_t>(1, 10'000'000 / (64 * kernel.size()));
      const double updates = static_cast<double>(sweeps * kernel.size() * 64);
      // The thread clocks of both: what two undisturbed cores would do.
      std::vector<Rate> rates(2);
      const auto run = [&](int batch) {
        std::uint64_t sweep = 0;
        rates[batch] = measure(updates, [&] {
          for (std::uint64_t k = 0; k < sweeps; ++k) kernel.sweep(states[batch], sweep++);
        });
      };
      std::vector<std::thread> workers;
      for (int batch = 0; batch < count; ++batch) workers.emplace_back(run, batch);
      for (std::thread& worker : workers) worker.join();
      const Rate total = {rates[0].best + rates[1].best, rates[0].median + rates[1].median};
      print(fmt::format("{}: lanes, {} threads with 64 chains each", name, count), total);
    }
  }
  const GibbsSpinChain general(graphs[1].second);
  const GibbsSpinLattice lattice(recognise_lattice(graphs[1].second).value());
  const GibbsSpinEqualLattice sliced(
      equal_lattice(recognise_lattice(grid(4096, 4096, true)).value()).value());
  for (int count : {1, 2})
    tbb::task_arena(count).execute([&] {
      print(fmt::format("grid 1000x1000: by colours, {} threads", count),
            measure_sweeps(general, Clock::wall));
      print(fmt::format("grid 1000x1000: lattice, {} threads", count), measure_sweeps(lattice, Clock::wall));
      print(fmt::format("grid 4096x4096: equal couplings, {} threads", count),
            measure_sweeps(sliced, Clock::wall));
    });
}

}  // namespace
}  // namespace drover

int main(int count, char** arguments) {
  const std::string which = count > 1 ? arguments[1] : "all";
  const auto wanted = [&](const char* name) { return which == "all" || which == name; };
  drover::check_simd_limit();
  fmt::print("instruction set: {}\n{:<58} {:>8} {:>8}\n", drover::simd_name(), "", "best", "median");
  if (wanted("generators")) drover::generators();
  if (wanted("lanes")) drover::lanes();
  if (wanted("bytes")) drover::bytes();
  if (wanted("curve")) drover::curve();
  if (wanted("chain")) drover::chain();
  if (wanted("threads")) drover::threads();
}
