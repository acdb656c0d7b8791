#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>

#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/sample/anneal/annealed_gibbs.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::ReferenceKernel;

testing::RandomModelOptions mixed(std::uint64_t seed, double scale = 1) {
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
    const Graph graph = compile(testing::random_model(seed, mixed(seed, seed % 2 ? 4 : 0.5)));
    const Enumeration exact = enumerate(graph);
    const ReferenceKernel kernel(graph, 8);
    AnnealOptions options{.seed = seed, .sweeps = 60, .reads = 32};
    options.cooling = seed % 4 < 2 ? Cooling::geometric : Cooling::linear;
    const AnnealResult result = annealed_gibbs(graph, kernel, options);
    EXPECT_NEAR(result.log_score, exact.best_log_score, 1e-9) << "seed " << seed;
    EXPECT_NEAR(log_score(graph, result.assignment), result.log_score, 1e-9);
    ASSERT_EQ(result.read_scores.size(), 32U);
    EXPECT_EQ(result.sweeps, 60U * 32U);
    EXPECT_FALSE(result.stopped);
    for (double score : result.read_scores) EXPECT_LE(score, result.log_score);
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
    const ReferenceKernel kernel(graph, 64);
    const AnnealOptions options{.seed = seed, .sweeps = 100, .reads = 64};
    for (double score : annealed_gibbs(graph, kernel, options).read_scores) annealed += score > best;
    const IteratedModes modes(graph);
    const auto state = kernel.start(seed, 0);
    std::vector<Value> x(16);
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      kernel.read(state, lane, x);
      climbed += modes.climb(x).log_score > best;
    }
  }
  EXPECT_GT(annealed, 2 * climbed);
}

TEST(AnnealedGibbs, SameBitsForAnyNumberOfThreadsAndLanes) {
  const Graph graph = compile(testing::random_model(5, {.variables = 12, .factors = 24}));
  const AnnealOptions options{.seed = 9, .sweeps = 20, .reads = 50};
  const auto run = [&](int threads, std::uint32_t lanes) {
    oneapi::tbb::task_arena arena(threads);
    const ReferenceKernel kernel(graph, lanes);
    return arena.execute([&] { return annealed_gibbs(graph, kernel, options); });
  };
  const AnnealResult one = run(1, 4);
  for (const AnnealResult& other : {run(4, 4), run(3, 1), run(2, 64)}) {
    EXPECT_EQ(one.assignment, other.assignment);
    EXPECT_EQ(one.log_score, other.log_score);
    EXPECT_EQ(one.read_scores, other.read_scores);
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
  EXPECT_EQ(result.read_scores.size(), 4U);

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
  EXPECT_EQ(result.read_scores.size(), seen);
}

TEST(AnnealedGibbs, TiesGoToTheLowestRead) {
  AnnealCollector collector({.sweeps = 1, .reads = 3}, {});
  const std::vector<Value> a{1}, b{2}, c{3};
  collector.offer(2, 5.0, c);
  collector.offer(1, 5.0, b);
  collector.offer(0, 4.0, a);
  EXPECT_EQ(collector.result().assignment, b);
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
    for (std::uint64_t s = 0; s < sweeps; ++s) all.push_back(cooled(cooling, {0.5, 4}, s, sweeps));
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
