#include "drover/sample/anneal/annealed_importance.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::ReferenceKernel;

testing::RandomModelOptions mixed_for_importance(std::uint64_t seed) {
  return {.variables = 6, .max_states = 4, .max_arity = 3, .factors = 8, .scale = seed % 2 ? 0.7 : 1.5};
}

// (log_z - exact) / mcse is close to standard normal, so over N independent models its squares add up to a
// chi-square of N degrees: mean N, variance 2 N. N = 150: within 5 standard deviations is 63 .. 237, a
// ratio of spread to reported error between 0.65 and 1.26. Four errors are exceeded with probability 6e-5
// per model, 0.01 in all (fixed seeds: it either happens or does not).
TEST(AnnealedImportance, ErrorBarIsRightOnRandomModels) {
  const int models = 150;
  double squares = 0, sum = 0;
  int covered = 0;
  for (std::uint64_t seed = 0; seed < models; ++seed) {
    const Graph graph = compile(testing::random_model(seed, mixed_for_importance(seed)));
    const double exact = enumerate(graph).log_z;
    const ReferenceKernel kernel(graph, 16);
    const ImportanceResult result =
        annealed_importance(graph, kernel, {.seed = seed, .sweeps = 30, .chains = 256});
    const double score = (result.log_z - exact) / result.mcse;
    EXPECT_LT(std::abs(score), 4) << "seed " << seed << " log_z " << result.log_z << " exact " << exact;
    EXPECT_LT(result.bound, exact + 5 * result.bound_mcse);
    EXPECT_LE(result.bound, result.log_z);
    EXPECT_GT(result.effective_samples, 20) << "seed " << seed;
    EXPECT_LE(result.effective_samples, 256 + 1e-6);
    EXPECT_EQ(result.log_weights.size(), 256U);
    squares += score * score;
    sum += score;
    covered += result.lower <= exact && exact <= result.upper;
  }
  const double degrees = models;
  EXPECT_GT(squares, degrees - 5 * std::sqrt(2 * degrees));
  EXPECT_LT(squares, degrees + 5 * std::sqrt(2 * degrees));
  EXPECT_LT(std::abs(sum), 5 * std::sqrt(degrees));
  // Coverage 95 %: binomial, 5 standard deviations below.
  EXPECT_GT(covered, 0.95 * degrees - 5 * std::sqrt(0.95 * 0.05 * degrees));
}

// The same model many times: the spread of the answers against the mean reported error.
TEST(AnnealedImportance, ReportedErrorEqualsTheSpreadOverSeeds) {
  const Graph graph = compile(testing::random_model(3, {.variables = 8, .factors = 14, .scale = 1}));
  const double exact = enumerate(graph).log_z;
  const ReferenceKernel kernel(graph, 32);
  const int runs = 200;
  double squares = 0, reported = 0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const ImportanceResult result =
        annealed_importance(graph, kernel, {.seed = seed, .sweeps = 20, .chains = 128});
    squares += (result.log_z - exact) * (result.log_z - exact);
    reported += result.mcse * result.mcse;
  }
  // squares / (mean reported variance) is chi-square with `runs` degrees.
  const double statistic = squares / (reported / runs);
  EXPECT_GT(statistic, runs - 5 * std::sqrt(2.0 * runs));
  EXPECT_LT(statistic, runs + 5 * std::sqrt(2.0 * runs));
}

// Without interactions one step is enough to see the formula: log w = l(x_0), E[w] = Z / Z_0; and more sweeps
// bring the spread of the weights down.
TEST(AnnealedImportance, MoreSweepsSharpenTheWeights) {
  const Graph graph = compile(testing::random_model(5, {.variables = 10, .factors = 15, .scale = 1.5}));
  const ReferenceKernel kernel(graph, 64);
  const auto few = annealed_importance(graph, kernel, {.seed = 1, .sweeps = 10, .chains = 256});
  const auto many = annealed_importance(graph, kernel, {.seed = 1, .sweeps = 300, .chains = 256});
  EXPECT_LT(many.mcse, 0.6 * few.mcse);
  EXPECT_GT(many.effective_samples, few.effective_samples);
  EXPECT_LT(std::abs(many.log_z - enumerate(graph).log_z), 4 * many.mcse);
  EXPECT_GT(many.bound, few.bound);
}

// The kernel that users run: 64 lanes with float fields.
TEST(AnnealedImportance, WorksOverTableLanes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = compile(testing::random_model(seed, mixed_for_importance(seed)));
    const GibbsTableLanes kernel(graph);
    const auto result = annealed_importance(graph, kernel, {.seed = seed, .sweeps = 100, .chains = 512});
    EXPECT_LT(std::abs(result.log_z - enumerate(graph).log_z), 4 * result.mcse) << "seed " << seed;
  }
}

// The weights need a uniform start; a kernel's own start need not be one.
TEST(AnnealedImportance, DoesNotRelyOnTheKernelsStart) {
  struct StartsAtZero : ReferenceKernel {
    using ReferenceKernel::ReferenceKernel;
    State start(std::uint64_t seed, std::uint32_t first_chain) const {
      State state = ReferenceKernel::start(seed, first_chain);
      std::fill(state.values.begin(), state.values.end(), Value{0});
      return state;
    }
  };
  const Graph graph = compile(testing::random_model(8, mixed_for_importance(0)));
  const StartsAtZero kernel(graph, 16);
  const auto result = annealed_importance(graph, kernel, {.seed = 1, .sweeps = 2, .chains = 4096});
  EXPECT_LT(std::abs(result.log_z - enumerate(graph).log_z), 4 * result.mcse);
}

TEST(AnnealedImportance, SameBitsForAnyNumberOfThreads) {
  const Graph graph = compile(testing::random_model(6, mixed_for_importance(0)));
  const ReferenceKernel kernel(graph, 8);
  const auto run = [&](int threads) {
    oneapi::tbb::task_arena arena(threads);
    return arena.execute(
        [&] { return annealed_importance(graph, kernel, {.seed = 2, .sweeps = 12, .chains = 100}); });
  };
  const ImportanceResult one = run(1), two = run(2);
  EXPECT_EQ(one.log_weights, two.log_weights);
  EXPECT_EQ(one.log_weights.size(), 100U);
  EXPECT_EQ(one.log_z, two.log_z);
  EXPECT_EQ(one.lower, two.lower);
}

TEST(AnnealedImportance, StopsWithTheAnnealsThatEnded) {
  const Graph graph = compile(testing::random_model(6, mixed_for_importance(0)));
  const ReferenceKernel kernel(graph, 8);
  std::atomic<int> calls = 0;
  oneapi::tbb::task_arena one_thread(1);
  const ImportanceResult result = one_thread.execute([&] {
    // A pilot of 4 batches asks 16 times each, a batch 11 times: the third batch hears it.
    RunControl control;
    control.stop_when([&] { return ++calls > 64 + 25; });
    return annealed_importance(graph, kernel, {.seed = 2, .sweeps = 12, .chains = 100, .control = &control});
  });
  EXPECT_EQ(result.log_weights.size(), 16U);
}

TEST(AnnealedImportance, StoppedBeforeAnyAnnealEndedIsAnError) {
  const Graph graph = compile(testing::random_model(6, mixed_for_importance(0)));
  const ReferenceKernel kernel(graph, 8);
  for (int allowed : {0, 10, 70}) {  // in the pilot, and in the first batch
    std::atomic<int> calls = 0;
    oneapi::tbb::task_arena one_thread(1);
    one_thread.execute([&] {
      try {
        RunControl control;
        control.stop_when([&] { return ++calls > allowed; });
        annealed_importance(graph, kernel, {.seed = 2, .sweeps = 12, .chains = 100, .control = &control});
        ADD_FAILURE() << allowed;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::stopped);
      }
    });
  }
}

// 10^15 sweeps need no more memory than a thousand.
TEST(AnnealedImportance, LongPathsTakeNoMemory) {
  const Graph graph = compile(testing::random_model(6, mixed_for_importance(0)));
  const ReferenceKernel kernel(graph, 32);
  int calls = 0;
  RunControl control;
  control.stop_when([&] { return ++calls > 2500; });
  EXPECT_THROW(
      annealed_importance(graph, kernel,
                          {.seed = 2, .sweeps = 1'000'000'000'000'000, .chains = 2, .control = &control}),
      Error);
}

TEST(AnnealedImportance, ReportsProgress) {
  const Graph graph = compile(testing::random_model(6, mixed_for_importance(0)));
  const ReferenceKernel kernel(graph, 8);
  std::vector<double> shares;
  oneapi::tbb::task_arena one_thread(1);
  one_thread.execute([&] {
    RunControl control;
    control.watch([&](const Progress& progress) { shares.push_back(progress.fraction); });
    annealed_importance(graph, kernel, {.seed = 2, .sweeps = 12, .chains = 16, .control = &control});
  });
  ASSERT_EQ(shares.size(), 24U);
  EXPECT_NEAR(shares.back(), 1, 1e-12);
}

TEST(AnnealedImportance, RefusesZerosAndSaysWhy) {
  Model model;
  model.cardinalities = {2, 2};
  const VariableId scope[2] = {0, 1};
  const double values[4] = {0, log_zero, 0, 1};
  model.tables.add(scope, values);
  const Graph graph = compile(model);
  try {
    annealed_importance(graph, ReferenceKernel(graph, 2), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::misfit);
    EXPECT_NE(std::string(error.what()).find("uniform"), std::string::npos);
  }
}

// 400 weights, half of them 1 - e and half 1 + e: a resampled mean is normal with deviation e / 20 up to
// 1 / 400, so the ends of 95 % lie 1.960 deviations away (those of 90 % would lie at 1.645). A quantile of
// 2000 resamples errs by sqrt(.025 .975 / 2000) / density = 0.060 deviations; both ends of 40 seeds average
// to 0.0067; the log's curvature takes e / 20 / 2 of it: 5 errors and that are 0.04.
TEST(AnnealedImportance, TheIntervalIsOf95Percent) {
  constexpr double e = 0.2;
  std::vector<double> log_weights;
  for (int i = 0; i < 400; ++i) log_weights.push_back(std::log(i % 2 ? 1 + e : 1 - e));
  double width = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const ImportanceResult result = importance_estimate(log_weights, 3, seed);
    width += (result.upper - result.lower) / 2 / (e / 20) / 40;
  }
  EXPECT_NEAR(width, 1.960, 0.04);
}

TEST(AnnealedImportance, EstimateOfKnownWeights) {
  const ImportanceResult result = importance_estimate({0, std::log(3.0)}, 10, 1);
  EXPECT_NEAR(result.log_z, 10 + std::log(2.0), 1e-12);
  EXPECT_NEAR(result.mcse, 0.5, 1e-12);  // w / mean = 0.5, 1.5: sd = sqrt(0.5), over sqrt(2)
  EXPECT_NEAR(result.effective_samples, 1.6, 1e-12);
  EXPECT_NEAR(result.bound, 10 + std::log(3.0) / 2, 1e-12);
  EXPECT_NEAR(result.lower, 10, 1e-12);
  EXPECT_NEAR(result.upper, 10 + std::log(3.0), 1e-12);
}

}  // namespace
}  // namespace drover
