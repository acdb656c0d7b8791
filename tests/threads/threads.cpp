// Everything that threads share, once, for the thread sanitizer to look at: loops and their sums, chains in batches and
// by colours, a run that another thread ends, a save in the background, branches of a tree that meet, work that is watched.
// It is compiled with its part of the library alone, so that continuous integration can afford it; `make sanitize` has the
// whole suite. `threads race` has a race on purpose, which the sanitizer must report.
#include <tbb/global_control.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/core/run_control.hpp"
#include "drover/core/watch_while.hpp"
#include "drover/infer/tree_schedule.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/run/checkpoint.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"

namespace {

using namespace drover;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "threads: expected %s\n", what);
  std::exit(1);
}

constexpr std::size_t count = 100'000;

void loops() {
  std::vector<std::uint32_t> squares(count);
  for (int round = 0; round < 10; ++round) {
    parallel_for(std::size_t{0}, count,
                 [&](std::size_t i) { squares[i] += static_cast<std::uint32_t>(i % 7); });
    const double largest = parallel_max(IndexRange(0, count, 100), 0, [&](const IndexRange& block) {
      return static_cast<double>(squares[block.end() - 1]);
    });
    expect(squares[6] == 6U * static_cast<unsigned>(round + 1), "all rounds of a loop");
    expect(largest > 0, "the largest of a loop");
  }
}

/// A width x width lattice of spins.
SpinGraph lattice(std::uint32_t width) {
  SpinGraph graph;
  graph.bias.assign(std::size_t{width} * width, 0.1F);
  graph.offsets.push_back(0);
  for (std::uint32_t r = 0; r < width; ++r)
    for (std::uint32_t c = 0; c < width; ++c) {
      const std::uint32_t v = r * width + c;
      if (r > 0) graph.neighbour.push_back(v - width);
      if (c > 0) graph.neighbour.push_back(v - 1);
      if (c + 1 < width) graph.neighbour.push_back(v + 1);
      if (r + 1 < width) graph.neighbour.push_back(v + width);
      graph.offsets.push_back(graph.neighbour.size());
    }
  graph.weight.assign(graph.neighbour.size(), -0.3F);
  return graph;
}

/// The bytes of a run on so many threads, that another thread ends when it is told to.
std::string chains(const GibbsSpinChain& kernel, std::uint32_t threads, bool end_it) {
  ChainOptions options;
  options.chains = 4;
  options.burn_in = 20;
  options.sweeps = end_it ? ChainOptions::unlimited : 100;
  RunControl control;
  control.limit_threads(threads);
  std::atomic<bool> began = false;
  control.watch([&](const Progress&) { began = true; });
  std::thread ends([&] {
    while (end_it && !began) std::this_thread::yield();
    if (end_it) control.request_stop();
  });
  std::string bytes;
  with_threads(control, [&] {
    ChainRun run(kernel, options, control);
    run.run(control);
    run.finish();
    expect(worst_entry(run.store()).ess_min > 0 || end_it, "an effective sample size");
    SaveArchive archive;
    run.visit(archive);
    bytes = archive.bytes();
  });
  ends.join();
  return bytes;
}

/// Waits for another thread to come here too, a second at most, which orders nothing that the two do.
void meet(std::atomic<int>& here) {
  here.fetch_add(1, std::memory_order_relaxed);
  for (int wait = 0; wait < 1000 && here.load(std::memory_order_relaxed) < 2; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Two threads have a branch each at the same time; the one that is done last goes on with the trunk, and reads what the
/// other wrote. Back again both read what was written in the trunk.
void branches() {
  const std::uint32_t trunk = 2;
  const TreeSchedule schedule(std::vector<std::uint32_t>{trunk, trunk, no_node}, std::vector<double>(3, 1),
                              1);
  RunControl control;
  control.limit_threads(4);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> sum(3), seen(3);
    std::atomic<int> up = 0, down = 0;
    with_threads(control, [&] {
      schedule.upward([&](std::uint32_t v) {
        if (v != trunk) meet(up);
        sum[v] = v == trunk ? sum[0] + sum[1] : round;
      });
      schedule.downward([&](std::uint32_t v) {
        if (v != trunk) meet(down);
        seen[v] = v == trunk ? sum[v] : seen[trunk] + 1;
      });
    });
    expect(seen[0] == 2 * round + 1 && seen[1] == seen[0], "branches that meet");
  }
}

/// Counts the nodes below every node of a forest, and those above it.
void trees() {
  const std::uint32_t nodes = 800;
  std::vector<std::uint32_t> parent(nodes, no_node), below(nodes, 1), above(nodes, 0);
  for (std::uint32_t v = 0; v + 1 < nodes; ++v)
    if (v % 200 != 199) parent[v] = std::min(v + 1 + v * 7919 % 40, v / 200 * 200 + 199);
  const TreeSchedule schedule(parent, std::vector<double>(nodes, 1), 2);
  std::vector<std::vector<std::uint32_t>> children(nodes);
  for (std::uint32_t v = 0; v < nodes; ++v)
    if (parent[v] != no_node) children[parent[v]].push_back(v);
  RunControl control;
  control.limit_threads(4);
  with_threads(control, [&] {
    schedule.upward([&](std::uint32_t v) {
      for (std::uint32_t child : children[v]) below[v] += below[child];
      std::this_thread::sleep_for(
          std::chrono::microseconds(100));  // so that other threads come to have a part
    });
    schedule.downward([&](std::uint32_t v) {
      if (parent[v] != no_node) above[v] = above[parent[v]] + 1;
    });
  });
  std::uint32_t all = 0;
  for (std::uint32_t v = 0; v < nodes; ++v) {
    if (parent[v] == no_node) all += below[v];
    expect(above[v] == (parent[v] == no_node ? 0 : above[parent[v]] + 1), "the depth of a node");
  }
  expect(all == nodes, "every node below a root");
}

/// Saved in the background while the state that was handed over is written anew.
void saves() {
  const std::string file =
      std::filesystem::temp_directory_path() / ("drover-threads-" + std::to_string(getpid()));
  {
    CheckpointKeeper keeper({.file = file, .every = 0}, "threads\n", no_control());
    std::string state(count, 'a');
    for (char letter = 'a'; letter < 'k'; ++letter) {
      std::fill(state.begin(), state.end(), letter);
      keeper.save(state);
      keeper.is_due();
    }
    keeper.wait();
  }
  {
    CheckpointKeeper keeper({.file = file, .every = 0, .resume = true}, "threads\n", no_control());
    expect(*keeper.saved() == std::string(count, 'j'), "the state that was saved last");
  }
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".lock");
}

void watched() {
  RunControl control;
  int asked = 0;  // by this thread alone
  control.stop_when([&] { return ++asked == 0; });
  double largest = 0;
  watch_while(control, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    largest = parallel_max(IndexRange(0, count, 100), 0,
                           [](const IndexRange& block) { return double(block.end()); });
  });
  expect(largest == count && asked > 0, "watched work");
}

/// What must not be: blocks of a loop that write to one place. Two threads have one each at the same time.
void race() {
  RunControl control;
  control.limit_threads(4);
  std::size_t together = 0;
  std::atomic<int> blocks = 0;
  with_threads(control, [&] {
    parallel_for(IndexRange(0, count, 100), [&](const IndexRange& block) {
      meet(blocks);
      together += block.size();
    });
  });
  std::printf("%zu\n", together);
}

}  // namespace

int main(int arguments, char** argument) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    4);  // however many cores there are
  if (arguments > 1 && std::strcmp(argument[1], "race") == 0) {
    race();
    return 0;
  }
  loops();
  const SpinGraph graph = lattice(96);
  const GibbsSpinChain kernel(graph);
  expect(chains(kernel, 1, false) == chains(kernel, 4, false), "the same bytes on one thread and on four");
  chains(kernel, 4, true);
  branches();
  trees();
  saves();
  watched();
  std::puts("threads: no fault");
}
