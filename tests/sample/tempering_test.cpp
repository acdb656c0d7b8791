#include "drover/sample/anneal/tempering.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "drover/core/error.hpp"
#include "drover/sample/gibbs/gibbs_table_lanes.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::ReferenceKernel;
static_assert(Kernel<Tempering<ReferenceKernel>>);

// p^beta over all joint states, hard zeros kept.
std::vector<double> tempered(const Enumeration& exact, double beta) {
  std::vector<double> p(exact.probabilities.size());
  double total = 0;
  for (std::size_t s = 0; s < p.size(); ++s) {
    p[s] = exact.probabilities[s] > 0 ? std::pow(exact.probabilities[s], beta) : 0;
    total += p[s];
  }
  for (double& value : p) value /= total;
  return p;
}

std::size_t draw_tempered(const std::vector<double>& p, double u) {
  std::size_t s = 0;
  while (s + 1 < p.size() && (u -= p[s]) >= 0) ++s;
  while (p[s] == 0) --s;
  return s;
}

// A cold well of 5 to 1 odds against another, between which single-site moves hardly ever pass.
Graph two_wells() {
  Model model;
  model.cardinalities.assign(8, 2);
  const double field[2] = {-0.1, 0.1};
  for (VariableId i = 0; i < 8; ++i) {
    model.unaries.add(i, field);
    for (VariableId j = 0; j < i; ++j) model.spin_pairs.add(i, j, 0.5);
  }
  return compile(model);
}

// Every rung starts at an exact draw of its own distribution; the joint distribution of all rungs must stay
// the product. Any number of sweeps, no mixing assumed.
TEST(Tempering, LeavesTheJointDistributionOfAllRungs) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = compile(testing::random_model(
        seed, {.variables = 3, .factors = 3, .scale = 1.5, .zero_share = seed % 3 == 0 ? 0.25 : 0.0}));
    const Enumeration exact = enumerate(graph);
    const Ladder ladder{{seed % 3 == 0 ? 0.1 : 0.0, 0.4, 1.0}};
    const std::uint32_t lanes[] = {1, 2, 3, 8, 64};
    const ReferenceKernel kernel(graph, lanes[seed % 5]);
    const Tempering tempering(kernel, ladder);
    const std::size_t states = exact.probabilities.size();
    std::vector<std::vector<double>> rung_p;
    for (double beta : ladder.inverse_temperatures) rung_p.push_back(tempered(exact, beta));
    std::vector<double> joint(states * states * states), counts(joint.size(), 0.0);
    for (std::size_t s = 0; s < joint.size(); ++s)
      joint[s] = rung_p[0][s / states / states] * rung_p[1][s / states % states] * rung_p[2][s % states];

    RandomSequence random(seed, Stream::exact);
    std::vector<Value> x(graph.size());
    for (std::uint32_t first = 0; first < 8000; first += tempering.lanes()) {
      auto state = tempering.start(seed, first);
      for (std::uint32_t lane = 0; lane < tempering.lanes(); ++lane)
        for (std::uint32_t rung = 0; rung < 3; ++rung)
          tempering.write_rung(state, lane, rung,
                               testing::state_of_index(graph, draw_tempered(rung_p[rung], random.uniform())));
      for (std::uint64_t sweep = 0; sweep < 3; ++sweep) tempering.sweep(state, sweep);
      for (std::uint32_t lane = 0; lane < tempering.lanes(); ++lane) {
        std::size_t index = 0;
        for (std::uint32_t rung = 0; rung < 3; ++rung) {
          tempering.read_rung(state, lane, rung, x);
          index = index * states + testing::state_index(graph, x);
        }
        ++counts[index];
      }
    }
    EXPECT_LT(testing::chi_square_score(counts, joint), testing::chi_square_limit) << "seed " << seed;
  }
}

TEST(Tempering, ReachesTheDistributionFromItsOwnStart) {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    const Graph graph =
        compile(testing::random_model(seed, {.variables = 5, .max_states = 3, .max_arity = 3, .factors = 5}));
    const ReferenceKernel kernel(graph, 16);
    const Tempering tempering(kernel, {{0, 0.5, 1}});
    testing::expect_reaches_distribution(tempering, graph, seed, 1500, 30);
    testing::expect_scores(tempering, graph, seed, 1e-9);
  }
}

TEST(Tempering, CrossesBetweenWellsWherePlainGibbsDoesNot) {
  const Graph graph = two_wells();
  const Enumeration exact = enumerate(graph);
  const ReferenceKernel kernel(graph, 64);
  std::vector<double> counts(exact.probabilities.size(), 0.0);
  std::vector<Value> x(graph.size());
  for (std::uint32_t first = 0; first < 1024; first += 64) {
    auto state = kernel.start(1, first);
    for (std::uint64_t sweep = 0; sweep < 200; ++sweep) kernel.sweep(state, sweep);
    for (std::uint32_t lane = 0; lane < 64; ++lane) {
      kernel.read(state, lane, x);
      ++counts[testing::state_index(graph, x)];
    }
  }
  EXPECT_GT(testing::chi_square_score(counts, exact.probabilities), 2 * testing::chi_square_limit);

  const Ladder ladder = tune_ladder(graph, kernel, {.seed = 2, .sweeps = 500});
  testing::expect_reaches_distribution(Tempering(kernel, ladder), graph, 1, 1024, 200);
}

// Without factors between variables the conditionals do not depend on the states: only the cold lanes' sums
// equal sweeps * p, whatever the swaps do.
TEST(Tempering, ConditionalSumsAreThoseOfTheColdReplicas) {
  const Graph graph =
      compile(testing::random_model(4, {.variables = 5, .max_states = 4, .factors = 0, .scale = 1}));
  const Enumeration exact = enumerate(graph);
  for (std::uint32_t lanes : {1U, 3U, 8U, 64U}) {
    const ReferenceKernel kernel(graph, lanes);
    const Tempering tempering(kernel, {{0, 0.3, 0.6, 1}});
    auto state = tempering.start(1, 0);
    auto plain = tempering.start(1, 0);
    std::vector<float> sums(tempering.entry_count() * tempering.lanes(), 0.0F);
    SwapCounts swaps;
    for (std::uint64_t sweep = 0; sweep < 20; ++sweep) {
      swaps.add(tempering.sweep(state, sweep, ConditionalSums{sums}));
      tempering.sweep(plain, sweep);
    }
    EXPECT_EQ(state.replica_of, plain.replica_of);
    EXPECT_GT(tempering_report(tempering.ladder(), swaps).swap_acceptance[0], 0.1);
    std::size_t entry = 0;
    for (VariableId v = 0; v < graph.size(); ++v)
      for (std::uint32_t k = graph.cardinalities[v] == 2 ? 1 : 0; k < graph.cardinalities[v]; ++k, ++entry)
        for (std::uint32_t lane = 0; lane < tempering.lanes(); ++lane)
          EXPECT_NEAR(sums[entry * tempering.lanes() + lane], 20 * exact.marginals[v][k], 1e-4);
  }
}

// The same on the kernel that users run: 64 lanes, 16 ladders of 4 rungs.
TEST(Tempering, WorksOverTableLanes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph =
        compile(testing::random_model(seed, {.variables = 5, .max_states = 3, .max_arity = 3, .factors = 6}));
    const GibbsTableLanes kernel(graph);
    const Tempering tempering(kernel, {{0, 0.3, 0.6, 1}});
    EXPECT_EQ(tempering.lanes(), 16U);
    testing::expect_reaches_distribution(tempering, graph, seed, 4096, 40);
    testing::expect_scores(tempering, graph, seed);
  }
}

// A ladder's scale raises its whole target: at scale 0.5 the cold replica samples p^0.5.
TEST(Tempering, InverseTemperaturesScaleTheWholeLadder) {
  const Graph graph = compile(testing::random_model(11, {.variables = 4, .factors = 5, .scale = 1.5}));
  const ReferenceKernel kernel(graph, 12);
  const Tempering tempering(kernel, {{0, 0.5, 1}});
  const std::vector<double> p = tempered(enumerate(graph), 0.5);
  std::vector<double> counts(p.size(), 0.0);
  std::vector<Value> x(graph.size());
  for (std::uint32_t first = 0; first < 4000; first += tempering.lanes()) {
    auto state = tempering.start(3, first);
    tempering.set_inverse_temperatures(state, std::vector<float>(tempering.lanes(), 0.5F));
    for (std::uint64_t sweep = 0; sweep < 40; ++sweep) tempering.sweep(state, sweep);
    for (std::uint32_t lane = 0; lane < tempering.lanes(); ++lane) {
      tempering.read(state, lane, x);
      ++counts[testing::state_index(graph, x)];
    }
  }
  EXPECT_LT(testing::chi_square_score(counts, p), testing::chi_square_limit);
}

// Equal rejections along the ladder, about one half each, and round trips near the rate of independent
// replicas. The acceptance of a pair is a mean of about 10^4 probabilities; 0.1 leaves room for the tuning's
// own noise.
TEST(Tempering, TunedLadderHasEqualRejections) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Graph graph = compile(testing::random_model(seed, {.variables = 12, .factors = 30, .scale = 2.5}));
    const ReferenceKernel kernel(graph, 32);
    const Ladder ladder = tune_ladder(graph, kernel, {.seed = seed, .sweeps = 2000});
    EXPECT_EQ(ladder.inverse_temperatures.front(), 0);
    EXPECT_EQ(ladder.inverse_temperatures.back(), 1);
    EXPECT_TRUE(std::is_sorted(ladder.inverse_temperatures.begin(), ladder.inverse_temperatures.end()));
    const Tempering tempering(kernel, ladder);
    auto state = tempering.start(seed + 100, 0);
    SwapCounts swaps;
    for (std::uint64_t sweep = 0; sweep < 3000; ++sweep) swaps.add(tempering.sweep(state, sweep));
    const TemperingReport report = tempering_report(ladder, swaps);
    EXPECT_NEAR(report.barrier, ladder.barrier, 0.1 * ladder.barrier);
    EXPECT_NEAR(static_cast<double>(ladder.rungs()), 2 * report.barrier + 2.5, 1.5);
    const double mean = 1 - report.barrier / static_cast<double>(ladder.rungs() - 1);
    for (double acceptance : report.swap_acceptance) EXPECT_NEAR(acceptance, mean, 0.1) << "seed " << seed;
    EXPECT_GT(report.round_trips, 100U);
    EXPECT_GT(report.round_trip_rate, 0.3 * report.best_rate);
    EXPECT_LT(report.round_trip_rate, 1.2 * report.best_rate);
  }
}

// With no swap ever refused the replicas ride a conveyor: a round trip for every 2 sweeps.
TEST(Tempering, RoundTripsOfAFlatModel) {
  Model model;
  model.cardinalities.assign(3, 2);
  const Graph graph = compile(model);
  const ReferenceKernel kernel(graph, 8);
  const Tempering tempering(kernel, {{0, 0.2, 0.5, 1}});
  auto state = tempering.start(1, 0);
  SwapCounts swaps;
  for (std::uint64_t sweep = 0; sweep < 400; ++sweep) swaps.add(tempering.sweep(state, sweep));
  const TemperingReport report = tempering_report(tempering.ladder(), swaps);
  EXPECT_EQ(report.barrier, 0);
  EXPECT_EQ(report.best_rate, 0.5);
  EXPECT_NEAR(report.round_trip_rate, 0.5, 0.02);
}

// A frozen model whose first swap is a fair coin: rung 0 holds score 0, rung 1 score log 2. The coins of all
// ladders are independent: half of them fall, and those of any two ladders at a given distance agree half of
// the time (4096 coins have a deviation of 32).
TEST(Tempering, EveryLadderHasItsOwnRandomNumbers) {
  struct Frozen : ReferenceKernel {
    using ReferenceKernel::ReferenceKernel;
    void sweep(State&, std::uint64_t) const {}
    void sweep(State&, std::uint64_t, ConditionalSums) const {}
  };
  Model model;
  model.cardinalities = {2};
  const double field[2] = {0, std::log(2.0)};
  model.unaries.add(0, field);
  const Graph graph = compile(model);
  const Frozen kernel(graph, 64);
  const Tempering tempering(kernel, {{0, 1}});
  ASSERT_EQ(tempering.lanes(), 32U);
  constexpr std::uint32_t count = 4096;
  std::vector<int> coins;
  const std::vector<Value> hot = {0}, cold = {1};
  std::vector<Value> x(1);
  for (std::uint32_t first = 0; first < count + 64; first += 32) {
    auto state = tempering.start(5, first);
    for (std::uint32_t ladder = 0; ladder < 32; ++ladder) {
      tempering.write_rung(state, ladder, 0, hot);
      tempering.write_rung(state, ladder, 1, cold);
    }
    tempering.sweep(state, 0);
    for (std::uint32_t ladder = 0; ladder < 32; ++ladder) {
      tempering.read(state, ladder, x);
      coins.push_back(x[0]);
    }
  }
  for (std::uint32_t distance = 0; distance <= 64; ++distance) {
    int agree = 0;
    for (std::uint32_t c = 0; c < count; ++c)
      agree += distance == 0 ? coins[c] : coins[c] == coins[c + distance];
    EXPECT_NEAR(agree, count / 2, 5 * 32) << "ladders " << distance << " apart";
  }
}

TEST(Tempering, SameBitsHoweverTheReplicasAreGrouped) {
  const Graph graph = compile(testing::random_model(21, {.variables = 8, .factors = 12}));
  const Ladder ladder{{0, 0.3, 0.6, 1}};
  std::vector<std::vector<Value>> reference;
  for (std::uint32_t lanes : {1U, 2U, 4U, 8U, 64U}) {
    const ReferenceKernel kernel(graph, lanes);
    const Tempering tempering(kernel, ladder);
    std::vector<std::vector<Value>> draws;
    for (std::uint32_t first = 0; first < 16; first += tempering.lanes()) {
      auto state = tempering.start(7, first);
      for (std::uint64_t sweep = 0; sweep < 25; ++sweep) tempering.sweep(state, sweep);
      for (std::uint32_t lane = 0; lane < tempering.lanes(); ++lane) {
        draws.emplace_back(graph.size());
        tempering.read(state, lane, draws.back());
      }
    }
    if (reference.empty()) reference = draws;
    EXPECT_EQ(draws, reference) << lanes << " lanes";
  }
}

// With hard zeros a ladder begins where single-site moves mix, 1.5 over what a variable feels, and not above a half.
TEST(Tempering, HotEndOfModelsWithZeros) {
  const auto hottest = [](double difference) {
    Model model;
    model.cardinalities.assign(2, 2);
    const VariableId scope[2] = {0, 1};
    const double values[4] = {0, log_zero, 2, 2 + difference};
    model.tables.add(scope, values);
    return *checked(LadderOptions{}, compile(model)).hottest;
  };
  EXPECT_NEAR(hottest(5), 1.5 / 5, 1e-12);
  EXPECT_EQ(hottest(2.5), 0.5);
}

TEST(Tempering, RefusesWrongLadders) {
  const Graph positive = compile(testing::random_model(1, {}));
  Model hard = testing::random_model(2, {.zero_share = 0.5});
  const Graph zeros = compile(hard);
  ASSERT_FALSE(zeros.is_strictly_positive());
  EXPECT_THROW(checked(LadderOptions{.sweeps = 10}, positive), Error);
  EXPECT_THROW(checked(LadderOptions{.rungs = 1}, positive), Error);
  EXPECT_THROW(checked(LadderOptions{.hottest = 1}, positive), Error);
  EXPECT_THROW(checked(LadderOptions{.hottest = 0}, zeros), Error);
  EXPECT_EQ(checked(LadderOptions{}, positive).hottest, 0);
  EXPECT_GT(checked(LadderOptions{}, zeros).hottest, 0);
}

}  // namespace
}  // namespace drover
