// The chain loop: right marginals with honest errors, the same bits whatever the interruptions, batching and
// threads.
#include "drover/run/chain_run.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/blocked/blocked_gibbs.hpp"
#include "drover/sample/dual/tree_primal_dual.hpp"
#include "drover/sample/gibbs/gibbs_spin_bytes.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "tests/run/small_runs.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::bytes_of;
using testing::ReferenceKernel;
using testing::small_graph;

ChainOptions small_options() {
  ChainOptions options;
  options.chains = 20;
  options.burn_in = 50;
  options.sweeps = 400;
  return options;
}

// Over 40 models: the share of entries within two standard errors is that of a normal error, about 95 %. With
// about 500 entries, of which perhaps a third are independent, 88 % is more than three standard deviations
// below it.
TEST(ChainRun, ErrorsAreCalibrated) {
  int within = 0, entries = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = small_graph(seed);
    const Enumeration exact = enumerate(graph);
    const ReferenceKernel kernel(graph, 8);
    ChainRun run(kernel, small_options());
    run.run(no_control());
    run.finish();
    std::size_t entry = 0;
    DiagnosisRoom scratch;
    for (std::size_t v = 0; v < graph.size(); ++v)
      for (std::uint32_t k = graph.cardinalities[v] == 2 ? 1 : 0; k < graph.cardinalities[v]; ++k, ++entry) {
        const double error = std::abs(run.store().mean(entry) - exact.marginals[v][k]);
        const EntryDiagnostics diagnostics = diagnose_entry(run.store(), entry, scratch);
        ASSERT_LT(error, 6 * diagnostics.mcse) << "seed " << seed << " variable " << v;
        within += error < 2 * diagnostics.mcse ? 1 : 0;
        ++entries;
      }
  }
  EXPECT_GT(within, 0.88 * entries);
}

// A lone variable's conditional never changes: its mean must stay exact however long single-precision sums
// would grow.
TEST(ChainRun, LongRunsDoNotDrift) {
  Model model;
  model.cardinalities = {2};
  const double values[2] = {std::log(0.3), std::log(0.7)};
  model.unaries.add(0, values);
  const Graph graph = compile(model);
  const ReferenceKernel kernel(graph, 1);
  ChainOptions options;
  options.chains = 1;
  options.burn_in = 0;
  options.sweeps = 300'000;
  ChainRun run(kernel, options);
  run.run(no_control());
  run.finish();
  EXPECT_EQ(run.store().draws(), 300'000U);
  EXPECT_NEAR(run.store().mean(0), 0.7, precision_floor);
}

// Many chains of many variables take seconds to start: whoever waits can end that at every lane of a wide kernel.
template <class K>
void expect_starts_can_be_ended(const K& kernel) {
  ChainOptions options = small_options();
  options.chains = 3 * kernel.lanes();
  RunControl counting;
  std::size_t all = 0;
  counting.stop_when([&] { return ++all == 0; });
  const ChainRun whole(kernel, options, counting);
  ASSERT_GE(all, std::size_t{options.chains});
  for (std::size_t after : {std::size_t{0}, all / 2, all - 1}) {
    RunControl control;
    std::size_t asked = 0;
    control.stop_when([&] {
      if (++asked > after) control.request_stop();
      return asked > after;
    });
    try {
      const ChainRun ended(kernel, options, control);
      ADD_FAILURE() << "not ended after " << after;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    EXPECT_EQ(asked, after + 1);
  }
}

TEST(ChainRun, StartingEndsWhenItIsToldTo) {
  const Graph graph = compile(grid_ising(130, 130, false, 0.3));
  expect_starts_can_be_ended(GibbsTableLanes(graph, {16, Scan::fixed, {}}));
  expect_starts_can_be_ended(BlockedGibbs(graph));
  expect_starts_can_be_ended(TreePrimalDual(graph, ForestChoice::heaviest));
  expect_starts_can_be_ended(ReferenceKernel(graph, 1));
}

TEST(ChainRun, ResumesBitForBit) {
  const Graph graph = small_graph(3);
  const ReferenceKernel kernel(graph, 8);
  ChainRun whole(kernel, small_options());
  whole.run(no_control());

  ChainOptions shorter = small_options();
  shorter.sweeps = 170;
  ChainRun first(kernel, shorter);
  first.run(no_control());
  LoadArchive archive(bytes_of(first));
  ChainRun second(kernel, small_options());
  second.visit(archive);
  EXPECT_TRUE(archive.at_end());
  second.run(no_control());
  EXPECT_EQ(bytes_of(second), bytes_of(whole));
}

TEST(ChainRun, RefusesStatesOfAnotherLayout) {
  const SpinGraph graph = spin_graph(compile(grid_ising(4, 4, false, 0.3)));
  ChainOptions options = small_options();
  options.chains = 64;
  const GibbsSpinBytes bytes(graph, Scan::fixed, SpinStorage::bytes),
      bits(graph, Scan::fixed, SpinStorage::bits);
  ChainRun first(bytes, options), second(bits, options);
  LoadArchive archive(bytes_of(first));
  EXPECT_THROW(second.visit(archive), Error);
}

TEST(ChainRun, DoesNotDependOnInterruptions) {
  const Graph graph = small_graph(4);
  const ReferenceKernel kernel(graph, 8);
  ChainRun whole(kernel, small_options());
  whole.run(no_control());
  ChainRun sliced(kernel, small_options());
  int calls = 0;
  RunControl impatient;
  impatient.stop_when([&] { return ++calls % 3 == 0; });
  while (!sliced.finished()) sliced.run(impatient);
  EXPECT_EQ(bytes_of(sliced), bytes_of(whole));
}

/// Says stop at the question of this number, and never again.
class StopOnce {
 public:
  explicit StopOnce(int question) : left_(question) {
    control_.stop_when([this] { return --left_ == 0; });
  }
  const RunControl& control() const { return control_; }

 private:
  std::atomic<int> left_;
  RunControl control_;
};

/// Variables without pairs, so many that a sweep of 256 chains may be broken off between two batches.
Graph many_free_variables() {
  Model model;
  model.cardinalities.assign(4000, 2);
  for (VariableId v = 0; v < 4000; ++v) {
    const double values[2] = {0, 0.001 * v - 2};
    model.unaries.add(v, values);
  }
  return compile(model);
}

TEST(ChainRun, GoesOnFromTheMidstOfASweep) {
  const Graph graph = many_free_variables();
  const ReferenceKernel kernel(graph, 32);
  ChainOptions options;
  options.chains = 256;
  options.burn_in = 1;
  options.sweeps = 4;
  ChainRun whole(kernel, options);
  whole.run(no_control());
  whole.finish();
  // A sweep of eight batches asks once before it and once a batch: 9 questions, 3 sweeps and 4 batches.
  ChainRun first(kernel, options);
  const StopOnce stop(3 * 9 + 1 + 5);
  first.run(stop.control());
  EXPECT_EQ(first.sweeps_done(), 3U);
  SaveArchive saved;
  first.visit(saved);
  ChainRun second(kernel, options);
  LoadArchive loaded(saved.take());
  second.visit(loaded);
  EXPECT_TRUE(loaded.at_end());
  second.run(no_control());
  second.finish();
  EXPECT_EQ(bytes_of(second), bytes_of(whole));
}

// The conditional of a free variable is the same in every sweep: so is its mean, however many draws a batch has.
TEST(ChainRun, ASweepThatWasBrokenOffLeavesTheMeansRight) {
  const Graph graph = many_free_variables();
  const ReferenceKernel kernel(graph, 32);
  ChainOptions options;
  options.chains = 256;
  options.burn_in = 0;
  options.sweeps = 100;
  for (const int sweeps : {1, 3}) {
    ChainRun run(kernel, options);
    const StopOnce stop(sweeps * 9 + 1 + 5);
    run.run(stop.control());
    EXPECT_EQ(run.sweeps_done(), static_cast<std::uint64_t>(sweeps));
    run.finish();
    EXPECT_EQ(run.store().draws(), static_cast<std::uint64_t>(sweeps));
    for (std::size_t v = 0; v < graph.size(); v += 100)
      EXPECT_NEAR(run.store().mean(v), 1 / (1 + std::exp(2 - 0.001 * static_cast<double>(v))), 1e-6);
  }
}

TEST(ChainRun, DoesNotDependOnThreads) {
  const Graph graph = small_graph(5);
  const ReferenceKernel kernel(graph, 4);
  std::string bytes[2];
  for (int t = 0; t < 2; ++t) {
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, t == 0 ? 1 : 4);
    ChainRun run(kernel, small_options());
    run.run(no_control());
    run.finish();
    bytes[t] = bytes_of(run);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(ChainRun, DeliversEveryKeptDrawInOrder) {
  const Graph graph = small_graph(6);
  const ReferenceKernel kernel(graph, 8);
  ChainOptions options = small_options();
  options.thin = 7;
  options.sweeps = 100;
  ChainRun run(kernel, options);
  std::uint64_t delivered = 0;
  run.run(no_control(), [&](std::uint32_t chain, std::span<const Value> x, double score) {
    EXPECT_EQ(chain, delivered % options.chains);
    EXPECT_NEAR(score, log_score(graph, x), 1e-4);
    ++delivered;
  });
  EXPECT_EQ(delivered, 14 * options.chains);
  run.finish();
  EXPECT_EQ(run.store().draws(), 14U);
}

TEST(ChainRun, StopsAtTargets) {
  const Graph graph = small_graph(7);
  const ReferenceKernel kernel(graph, 8);
  ChainOptions options = small_options();
  options.sweeps = ChainOptions::unlimited;
  options.target_mcse = 0.01;
  ChainRun run(kernel, options);
  run.run(no_control());
  run.finish();
  EXPECT_TRUE(run.reached_target());
  EXPECT_LE(worst_entry(run.store()).mcse_max, 0.01);
  EXPECT_LT(run.sweeps_done(), 20'000U);
}

// One chain: its first few segments agree by chance, and their R-hat and error mean nothing.
TEST(ChainRun, TargetsNeedEnoughDraws) {
  const Graph graph = small_graph(7);
  const ReferenceKernel kernel(graph, 1);
  for (const bool by_rhat : {true, false}) {
    ChainOptions options = small_options();
    options.chains = 1;
    options.sweeps = ChainOptions::unlimited;
    (by_rhat ? options.target_rhat : options.target_mcse) = by_rhat ? 1.5 : 0.5;
    ChainRun run(kernel, options);
    run.run(no_control());
    run.finish();
    EXPECT_TRUE(run.reached_target());
    EXPECT_GT(run.store().draws(), 150U);
    EXPECT_LT(run.store().draws(), 100'000U);
  }
}

TEST(ChainRun, DiagnosesWhenTheRunHasGrown) {
  const Graph graph = small_graph(7);
  const ReferenceKernel kernel(graph, 8);
  ChainRun run(kernel, small_options());
  run.run(no_control());
  run.finish();
  const auto& points = run.convergence();
  ASSERT_GT(points.size(), 8U);
  for (std::size_t k = 1; k < points.size(); ++k) {
    EXPECT_GE(static_cast<double>(points[k].sweep - 50), 1.5 * static_cast<double>(points[k - 1].sweep - 50));
  }
}

TEST(ChainRun, DamagedCheckpointIsRefused) {
  const Graph graph = small_graph(8);
  const ReferenceKernel kernel(graph, 8);
  ChainRun run(kernel, small_options());
  run.run(no_control());
  const std::string bytes = bytes_of(run);
  for (std::size_t size : {std::size_t{0}, std::size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
    LoadArchive archive(bytes.substr(0, size));
    ChainRun other(kernel, small_options());
    EXPECT_THROW(other.visit(archive), Error) << size;
  }
}

}  // namespace
}  // namespace drover
