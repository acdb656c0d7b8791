#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>

#include "drover/compile/lattice.hpp"
#include "drover/compile/spin_graph.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/anneal/annealed_gibbs.hpp"
#include "drover/sample/gibbs/gibbs_spin_chain.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::ReferenceKernel;

testing::RandomModelOptions mixed_for_annealing(std::uint64_t seed, double scale = 1) {
  return {.variables = 7,
          .max_states = 4,
          .max_arity = 3,
          .factors = 10,
          .scale = scale,
          .zero_share = seed % 3 == 2 ? 0.2 : 0.0};
}

// Single-site moves may be unable to connect the support, so models with zeros need their many starts.
TEST(AnnealedGibbs, FindsTheBestStateOfSmallModels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = compile(testing::random_model(seed, mixed_for_annealing(seed, seed % 2 ? 4 : 0.5)));
    const Enumeration exact = enumerate(graph);
    const ReferenceKernel kernel(graph, 8);
    AnnealOptions options{.seed = seed, .sweeps = 60, .reads = 32};
    options.cooling = seed % 4 < 2 ? Cooling::geometric : Cooling::linear;
    const AnnealResult result = annealed_gibbs(graph, kernel, options);
    EXPECT_NEAR(result.log_score, exact.best_log_score, 1e-9) << "seed " << seed;
    EXPECT_NEAR(log_score(graph, result.assignment), result.log_score, 1e-9);
    ASSERT_EQ(result.batch_scores.size(), 4U);
    EXPECT_EQ(result.sweeps, 60U * 32U);
    EXPECT_EQ(result.reads, 32U);
    EXPECT_FALSE(result.stopped);
    for (double score : result.batch_scores) EXPECT_LE(score, result.log_score + 1e-9);
  }
}

// Frustrated grids have many local optima; cooling must reach the best far more often than ascent from the
// same starts. With a schedule that stays cold (or hot) throughout this fails.
TEST(AnnealedGibbs, CoolingBeatsAscentFromTheSameStarts) {
  std::uint32_t annealed = 0, climbed = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Model model;
    model.cardinalities.assign(16, 2);
    RandomSequence random(seed, Stream::generate);
    for (VariableId v = 0; v < 16; ++v) {
      if (v % 4 < 3) model.spin_pairs.add(v, v + 1, random.normal());
      if (v < 12) model.spin_pairs.add(v, v + 4, random.normal());
    }
    const Graph graph = compile(model);
    const double best = enumerate(graph).best_log_score - 1e-9;
    const ReferenceKernel kernel(graph, 1);  // one chain in a batch, no rounds: annealing alone
    const AnnealOptions options{.seed = seed, .sweeps = 100, .reads = 64, .round_sweeps = 0};
    for (double score : annealed_gibbs(graph, kernel, options).batch_scores) annealed += score > best;
    const IteratedModes modes(graph);
    std::vector<Value> x(16);
    for (std::uint32_t chain = 0; chain < 64; ++chain) {
      kernel.read(kernel.start(seed, chain), 0, x);
      climbed += modes.climb(x).log_score > best;
    }
  }
  EXPECT_GT(annealed, 2 * climbed);
}

// On a frustrated grid of 20 x 20 no chain finds the best everywhere; from the best parts of all, and by
// rounds, the score must rise. The one anneal has as many sweeps.
TEST(AnnealedGibbs, RecombinationAndRoundsBeatTheBestChain) {
  double by_chain = 0, by_parts = 0, by_rounds = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Graph graph =
        compile(ising(grid_edges(20, 20, false), Draw::normal(0, 1), Draw::constant(0), seed));
    AnnealOptions options{.seed = seed, .sweeps = 100, .reads = 16, .round_sweeps = 0};
    const auto alone = annealed_gibbs(graph, ReferenceKernel(graph, 1), options).batch_scores;
    by_chain += *std::max_element(alone.begin(), alone.end());
    by_parts += annealed_gibbs(graph, ReferenceKernel(graph, 16), options).log_score;
    options.sweeps = 400;
    options.round_sweeps = 75;
    by_rounds += annealed_gibbs(graph, ReferenceKernel(graph, 16), options).log_score;
  }
  EXPECT_GT(by_parts, by_chain + 5);
  EXPECT_GT(by_rounds, by_parts + 1);
}

// The kernels of one long chain, by rounds: the best state of frustrated 4 x 5 grids.
TEST(AnnealedGibbs, OneLongChainFindsTheBestState) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Draw coupling = seed % 2 ? Draw::normal(0, 1) : Draw::sign(1);
    const Graph graph = compile(ising(grid_edges(4, 5, false), coupling, Draw::normal(0, 0.2), seed));
    const SpinGraph spins = spin_graph(graph);
    const double best = enumerate(graph).best_log_score;
    const AnnealOptions options{.seed = seed, .sweeps = 500, .reads = 24};
    const auto expect_best = [&](const auto& kernel) {
      const AnnealResult result = annealed_gibbs(graph, kernel, options);
      EXPECT_NEAR(result.log_score, best, 1e-6) << "seed " << seed;
      EXPECT_NEAR(log_score(graph, result.assignment), result.log_score, 1e-9);
    };
    expect_best(GibbsSpinLattice(recognise_lattice(spins).value()));
    expect_best(GibbsSpinChain(spins));
  }
}

TEST(AnnealedGibbs, SameBitsForAnyNumberOfThreads) {
  const Graph graph = compile(testing::random_model(5, {.variables = 12, .factors = 24}));
  const AnnealOptions options{.seed = 9, .sweeps = 300, .reads = 50};
  const auto run = [&](int threads) {
    oneapi::tbb::task_arena arena(threads);
    const ReferenceKernel kernel(graph, 4);
    return arena.execute([&] { return annealed_gibbs(graph, kernel, options); });
  };
  const AnnealResult one = run(1);
  for (const AnnealResult& other : {run(4), run(3)}) {
    EXPECT_EQ(one.assignment, other.assignment);
    EXPECT_EQ(one.log_score, other.log_score);
    EXPECT_EQ(one.batch_scores, other.batch_scores);
  }
}

TEST(AnnealedGibbs, StopsWhenAskedAndStillAnswers) {
  const Graph graph = compile(testing::random_model(6, {.variables = 10, .factors = 20}));
  const ReferenceKernel kernel(graph, 4);
  AnnealOptions options{.seed = 1, .sweeps = 1000, .reads = 4000};
  RunControl ended;
  ended.request_stop();
  options.control = &ended;
  AnnealResult result = annealed_gibbs(graph, kernel, options);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.sweeps, 0U);
  EXPECT_EQ(result.assignment.size(), graph.size());
  EXPECT_EQ(result.batch_scores.size(), 1U);

  std::atomic<int> calls = 0;
  RunControl counting;
  counting.stop_when([&] { return ++calls > 5000; });
  options.control = &counting;
  std::uint32_t seen = 0;
  result = annealed_gibbs(graph, kernel, options, [&](std::uint32_t reads, double) {
    EXPECT_GT(reads, seen);
    seen = reads;
  });
  EXPECT_TRUE(result.stopped);
  EXPECT_GT(result.sweeps, 0U);
  EXPECT_LT(result.sweeps, 21000U);
  EXPECT_EQ(result.reads, seen);
}

// Whatever the clock does, batches are whole: the first ends although the time is over, and every answer is
// a local optimum.
TEST(AnnealedGibbs, FitsATimeLimit) {
  const Graph graph = compile(testing::random_model(6, {.variables = 10, .factors = 20}));
  const ReferenceKernel kernel(graph, 4);
  const double exact = enumerate(graph).best_log_score;
  for (double seconds : {0.0, 0.05}) {
    RunControl control;
    control.limit_time(seconds);
    const AnnealOptions options{.seed = 3, .sweeps = 50, .control = &control};
    const AnnealResult result = annealed_gibbs_by_time(graph, kernel, options, 2);
    ASSERT_EQ(result.assignment.size(), graph.size());
    EXPECT_NEAR(result.log_score, log_score(graph, result.assignment), 1e-9);
    EXPECT_LE(result.log_score, exact + 1e-9);
    EXPECT_GE(result.batch_scores.size(), 1U);
    std::vector<Value> state = result.assignment;
    EXPECT_EQ(IteratedModes(graph).climb(state).changes, 0U);
  }
}

TEST(AnnealedGibbs, BudgetsInSweeps) {
  const AnnealBudget budget(200.0);
  EXPECT_EQ(budget.spent(0), 0);
  EXPECT_EQ(budget.spent_after(199), 1);
  RunControl control;
  control.limit_time(1000);
  const AnnealBudget time(control, 0.5, 0);
  EXPECT_LT(time.spent(1'000'000), 0.5);
}

TEST(AnnealedGibbs, RefusesWrongOptions) {
  const Graph graph = compile(testing::random_model(6, {}));
  const ReferenceKernel kernel(graph, 4);
  EXPECT_THROW(annealed_gibbs(graph, kernel, {.reads = 0}), Error);
  EXPECT_THROW(annealed_gibbs(graph, kernel, {.sweeps = 0}), Error);
  EXPECT_THROW(annealed_gibbs(graph, kernel, {.range = {2, 1}}), Error);
}

TEST(Temperatures, RangeFollowsTheCouplings) {
  Model model;
  model.cardinalities.assign(3, 2);
  model.spin_pairs.add(0, 1, 0.5);
  model.spin_pairs.add(1, 2, -1.5);
  const TemperatureRange range = temperature_range(compile(model));
  EXPECT_NEAR(range.hot, 1.5 / 4, 1e-12);  // variable 1 feels 2 * 0.5 + 2 * 1.5
  EXPECT_NEAR(range.cold, 14.0, 1e-12);    // variable 0 feels 2 * 0.5
  // Hard zeros do not count: the first row has one finite value, the second differs by 5.
  Model zeros;
  zeros.cardinalities.assign(2, 2);
  const VariableId scope[2] = {0, 1};
  const double values[4] = {0, log_zero, 2, 7};
  zeros.tables.add(scope, values);
  EXPECT_NEAR(temperature_range(compile(zeros)).hot, 1.5 / 5, 1e-12);
  // A model that feels nothing has nothing to anneal.
  Model flat;
  flat.cardinalities.assign(3, 2);
  EXPECT_EQ(temperature_range(compile(flat)).hot, 1);
}

TEST(Temperatures, SchedulesRunFromHotToCold) {
  const auto schedule = [](Cooling cooling, std::uint64_t sweeps) {
    std::vector<double> all;
    for (std::uint64_t s = 0; s < sweeps; ++s)
      all.push_back(cooled(cooling, {0.5, 4}, sweeps == 1 ? 1.0 : static_cast<double>(s) / (sweeps - 1)));
    return all;
  };
  const auto linear = schedule(Cooling::linear, 8);
  const auto geometric = schedule(Cooling::geometric, 4);
  EXPECT_NEAR(linear.front(), 0.5, 1e-6);
  EXPECT_NEAR(linear.back(), 4, 1e-5);
  EXPECT_NEAR(1 / linear[1], 1.75, 1e-6);  // temperatures 2, 1.75, ..., 0.25
  EXPECT_NEAR(geometric[1], 1, 1e-6);
  EXPECT_NEAR(geometric[2], 2, 1e-6);
  EXPECT_NEAR(schedule(Cooling::linear, 1).front(), 4, 1e-6);
}

TEST(Temperatures, EqualCostSpacing) {
  const double betas[] = {0, 0.5, 1};
  const double costs[] = {3, 1};
  const auto spaced = equal_cost_spacing(betas, costs, 5);
  const double expected[] = {0, 1 / 6.0, 2 / 6.0, 0.5, 1};
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(spaced[t], expected[t], 1e-5);
  const double free[] = {0, 0};
  EXPECT_NEAR(equal_cost_spacing(betas, free, 5)[1], 0.25, 1e-9);
}

}  // namespace
}  // namespace drover
