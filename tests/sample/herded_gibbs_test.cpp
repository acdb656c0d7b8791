// Herded Gibbs against its bounds and against enumeration.
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <cmath>
#include <map>

#include "drover/compile/colouring.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/core/archive.hpp"
#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"
#include "drover/model/builders.hpp"
#include "drover/sample/herded/herded_gibbs_plan.hpp"
#include "drover/sample/herded/herded_gibbs_tables.hpp"
#include "drover/sample/herded/herded_gibbs_visited.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"
#include "tests/support/kernel_test.hpp"
#include "tests/support/random_models.hpp"
#include "tests/support/reference_kernel.hpp"

namespace drover {
namespace {

using testing::random_model;
using testing::state_index;

/// Every pair of n variables: random spin pairs where both are binary, random tables elsewhere.
Graph herded_complete_graph(std::uint64_t seed, std::uint32_t n, std::uint32_t states = 2, double scale = 1) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(n, states);
  for (VariableId v = 0; v < n; ++v) {
    std::vector<double> unary(states);
    for (double& value : unary) value = scale * random.normal();
    model.unaries.add(v, unary);
  }
  for (VariableId i = 0; i < n; ++i)
    for (VariableId j = i + 1; j < n; ++j) {
      std::vector<double> table(std::size_t{states} * states);
      for (double& value : table) value = scale * random.normal();
      const VariableId scope[2] = {i, j};
      if (states == 2)
        model.spin_pairs.add(i, j, scale * random.normal() / 2);
      else
        model.tables.add(scope, table);
    }
  return compile(model);
}

Graph equal_grid(std::uint32_t width, double coupling) {
  Model model;
  RandomSequence random(3, Stream::generate);
  model.cardinalities.assign(std::size_t{width} * width, 2);
  for (VariableId i = 0; i < width * width; ++i) {
    const double unary[2] = {0, random.normal()};
    model.unaries.add(i, unary);
    if (i % width + 1 < width) model.spin_pairs.add(i, i + 1, coupling);
    if (i + width < width * width) model.spin_pairs.add(i, i + width, coupling);
  }
  return compile(model);
}

double total_variation(const std::vector<double>& counts, double draws, const std::vector<double>& p) {
  double distance = 0;
  for (std::size_t s = 0; s < p.size(); ++s) distance += std::abs(counts[s] / draws - p[s]) / 2;
  return distance;
}

/// The joint total variation error at T = 2^8, 2^9, ..., 2^last.
template <Kernel K>
std::vector<double> error_curve(const K& kernel, const Graph& graph, int last, std::uint32_t chain = 0) {
  const Enumeration exact = enumerate(graph);
  std::vector<double> counts(exact.probabilities.size(), 0.0), errors;
  std::vector<Value> x(graph.size());
  auto state = kernel.start(1, chain);
  std::uint64_t next = 256;
  for (std::uint64_t t = 1; t <= std::uint64_t{1} << last; ++t) {
    kernel.sweep(state, t - 1);
    kernel.read(state, 0, x);
    ++counts[state_index(graph, x)];
    if (t != next) continue;
    errors.push_back(total_variation(counts, static_cast<double>(t), exact.probabilities));
    next *= 2;
  }
  return errors;
}

/// The least-squares slope of log error against log T, T doubling.
double slope(const std::vector<double>& errors) {
  const auto n = static_cast<double>(errors.size());
  double mean = 0, product = 0, square = 0;
  for (double e : errors) mean += std::log2(e) / n;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double t = static_cast<double>(i) - (n - 1) / 2;
    product += t * (std::log2(errors[i]) - mean);
    square += t * t;
  }
  return product / square;
}

template <Kernel K>
std::vector<std::vector<Value>> states_of(const K& kernel, std::uint64_t seed, int sweeps) {
  std::vector<std::vector<Value>> states;
  auto state = kernel.start(seed, 2);
  for (int t = 0; t < sweeps; ++t) {
    kernel.sweep(state, static_cast<std::uint64_t>(t));
    states.emplace_back(kernel.size());
    kernel.read(state, 0, states.back());
  }
  return states;
}

TEST(HerdedGibbs, OneVariableKeepsTheBoundAtEveryT) {
  for (double p : {0.5, 1.0 / 3, 0.1, 0.977, 1e-4, std::sqrt(0.5)}) {
    Model model;
    model.cardinalities = {2};
    const double unary[2] = {std::log1p(-p), std::log(p)};
    model.unaries.add(0, unary);
    const Graph graph = compile(model);
    const HerdedGibbsTables kernel(graph, HerdedSharing::none);
    for (std::uint32_t chain = 0; chain < 3; ++chain) {
      auto state = kernel.start(7, chain);
      Value x = 0;
      double ones = 0, worst = 0;
      for (int t = 1; t <= 1'000'000; ++t) {
        kernel.sweep(state, 0);
        kernel.read(state, 0, std::span(&x, 1));
        ones += x;
        // In counts: |ones - T p| <= 1, and T times the rounding of p to a multiple of 2^-30.
        worst = std::max(worst, std::abs(ones - t * p) - t * 0x1p-31);
      }
      EXPECT_LE(worst, 1) << "p " << p << " chain " << chain;
    }
  }
}

TEST(HerdedGibbs, OneVariableOfManyStatesKeepsItsBound) {
  RandomSequence random(5, Stream::generate);
  for (std::uint32_t states : {3U, 5U, 40U}) {
    Model model;
    model.cardinalities = {states};
    std::vector<double> unary(states), p(states);
    for (double& value : unary) value = 2 * random.normal();
    model.unaries.add(0, unary);
    p = unary;
    normalise_logs(p);
    double harmonic = 0;
    for (std::uint32_t j = 1; j < states; ++j) harmonic += 1.0 / j;
    const Graph graph = compile(model);
    const HerdedGibbsTables kernel(graph, HerdedSharing::none);
    auto state = kernel.start(7, 1);
    std::vector<double> counts(states, 0.0);
    Value x = 0;
    double worst = 0;
    for (int t = 1; t <= 200'000; ++t) {
      kernel.sweep(state, 0);
      kernel.read(state, 0, std::span(&x, 1));
      ++counts[x];
      for (std::uint32_t k = 0; k < states; ++k)
        worst = std::max(worst, std::abs(counts[k] - t * p[k]) - t * 0x1p-26);
    }
    // Weights stay between -1 and 1 + 1/2 + ... + 1/(K-1) + 1 (the start), and so do differences but for 1.
    EXPECT_LE(worst, 2 + harmonic) << states;
    EXPECT_GT(worst, 0.1);
  }
}

TEST(HerdedGibbs, WeightsOfManyStatesSumToZeroAndStayBounded) {
  const Random random(1, Stream::weights);
  RandomSequence values(2, Stream::generate);
  const std::uint32_t states = 200;
  std::vector<double> p(states);
  std::vector<std::int32_t> probabilities(states), weights(states);
  for (int t = 0; t < 8'000; ++t) {  // a new conditional at each visit, as for binned weights
    for (double& l : p) l = 3 * values.normal();
    normalise_logs(p);
    herded_probabilities(p, probabilities);
    if (t == 0) herded_start(random, 0, 0, 0, probabilities, weights);
    herd(weights, probabilities);
    std::int64_t sum = 0, total = 0;
    for (std::uint32_t k = 0; k < states; ++k) {
      sum += weights[k];
      total += probabilities[k];
      ASSERT_GE(weights[k], -herded_states_one);
      ASSERT_LE(weights[k], 8 * static_cast<std::int64_t>(herded_states_one));
    }
    ASSERT_EQ(sum, 0);
    ASSERT_EQ(total, herded_states_one);
  }
}

TEST(HerdedGibbs, CompleteGraphsConvergeAsOneOverT) {
  for (std::uint32_t n = 4; n <= 6; ++n) {
    double herded = 0, random = 0;
    constexpr int models = 3;
    for (std::uint64_t seed = 0; seed < models; ++seed) {
      const Graph graph = herded_complete_graph(10 * n + seed, n, 2, 0.7);
      herded += slope(error_curve(HerdedGibbsTables(graph, HerdedSharing::none), graph, 18)) / models;
      random += slope(error_curve(testing::ReferenceKernel(graph, 1), graph, 15)) / models;
    }
    EXPECT_LE(herded, -0.9) << n;
    // Gibbs: the error at each T has a relative spread of about 0.3 around a line of slope -1/2.
    EXPECT_GT(random, -0.75) << n;
    EXPECT_LT(random, -0.25) << n;
  }
}

TEST(HerdedGibbs, TwoVariablesOfThePaper) {
  // Table 1 and figure 3: P(00) = 1/4 - e, P(11) = 3/4 - e, the rest e; P(X1 = 1) = 3/4.
  for (double e : {0.1, 0.01, 0.001}) {
    Model model;
    model.cardinalities = {2, 2};
    const VariableId scope[2] = {0, 1};
    const double table[4] = {std::log(0.25 - e), std::log(e), std::log(e), std::log(0.75 - e)};
    model.tables.add(scope, table);
    const Graph graph = compile(model);
    const HerdedGibbsTables kernel(graph, HerdedSharing::none);
    auto state = kernel.start(1, 0);
    std::vector<Value> x(2);
    double ones = 0, worst = 0;
    for (int t = 1; t <= 1'000'000; ++t) {
      kernel.sweep(state, 0);
      kernel.read(state, 0, x);
      ones += x[0];
      worst = std::max(worst, std::abs(ones - 0.75 * t));
    }
    // The error is worst / T. A visit that is one off stays so until the chain leaves the state, 1 / (2 e)
    // sweeps or so; four weights may each be one off.
    EXPECT_LE(worst, 4 / e) << e;
  }
}

TEST(HerdedGibbs, HashedIsDenseBitForBit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::RandomModelOptions wanted;
    wanted.variables = 7;
    wanted.max_states = 2 + seed % 3;
    wanted.max_arity = 2 + seed % 2;
    const Graph graph = compile(random_model(seed, wanted));
    for (HerdedSchedule schedule :
         {HerdedSchedule::sequential, HerdedSchedule::colours, HerdedSchedule::jacobi}) {
      const HerdedOptions options{schedule, {}, {}};
      EXPECT_EQ(states_of(HerdedGibbsTables(graph, HerdedSharing::none, options), seed, 300),
                states_of(HerdedGibbsVisited(graph, HerdedKey::configuration, 1, options), seed, 300));
    }
  }
}

/// The largest error of a marginal after `sweeps` sweeps, estimated by ConditionalSums.
template <Kernel K>
double marginal_error(const K& kernel, const Graph& graph, std::uint64_t sweeps) {
  const Enumeration exact = enumerate(graph);
  auto state = kernel.start(4, 0);
  std::vector<float> sums(kernel.entry_count(), 0);
  for (std::uint64_t t = 0; t < sweeps; ++t) kernel.sweep(state, t, ConditionalSums{sums});
  double worst = 0;
  std::size_t e = 0;
  for (VariableId v = 0; v < graph.size(); ++v)
    for (std::uint32_t k = graph.cardinalities[v] == 2 ? 1 : 0; k < graph.cardinalities[v]; ++k)
      worst = std::max(worst, std::abs(sums[e++] / static_cast<double>(sweeps) - exact.marginals[v][k]));
  return worst;
}

TEST(HerdedGibbs, EveryTableFindsTheMarginalsOfCompleteGraphs) {
  constexpr std::uint64_t sweeps = 50'000;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::uint32_t states = 2 + seed % 2;
    const Graph graph = herded_complete_graph(seed, 4, states, 0.6);
    // At most 4 * 27 weight vectors may each be two counts off, and an error of the state lives some sweeps.
    const double bound = 4 * 27 * 2 * 5.0 / sweeps;
    EXPECT_LT(marginal_error(HerdedGibbsTables(graph, HerdedSharing::none), graph, sweeps), bound);
    EXPECT_LT(marginal_error(HerdedGibbsTables(graph, HerdedSharing::exact), graph, sweeps), bound);
    EXPECT_LT(marginal_error(HerdedGibbsVisited(graph, HerdedKey::configuration), graph, sweeps), bound);
    EXPECT_LT(marginal_error(HerdedGibbsVisited(graph, HerdedKey::conditional), graph, sweeps), bound);
    // A bin holds conditionals that differ by up to 1/N. Each could be visited as if it were any other of its
    // bin, which moves the marginal by no more than the width, times the same mixing allowance.
    for (std::uint32_t bins : {64U, 1024U})
      EXPECT_LT(marginal_error(HerdedGibbsVisited(graph, HerdedKey::bins, bins), graph, sweeps),
                bound + 5.0 / bins);
  }
}

TEST(HerdedGibbs, EqualCouplingsShareTheSumOfTheNeighbours) {
  const Graph graph = equal_grid(6, 0.3);
  const HerdedGibbsTables dense(graph, HerdedSharing::none);
  const HerdedGibbsTables shared(graph, HerdedSharing::exact);
  // 16 inner variables with 4 neighbours, 16 on the border with 3, 4 corners with 2.
  EXPECT_EQ(dense.rows(), 16 * 16 + 16 * 8 + 4 * 4U);
  EXPECT_EQ(shared.rows(), 16 * 5 + 16 * 4 + 4 * 3U);
  EXPECT_EQ(herded_plan(graph, HerdedShare::dense, 0, 1, 10).bytes, 8.0 * dense.rows());
  EXPECT_EQ(herded_plan(graph, HerdedShare::exact, 0, 1, 10).bytes, 8.0 * shared.rows());

  // The hashed form meets the same sums.
  const HerdedGibbsVisited visited(graph, HerdedKey::conditional);
  auto state = visited.start(1, 0);
  for (std::uint64_t t = 0; t < 2000; ++t) visited.sweep(state, t);
  EXPECT_LE(HerdedGibbsVisited::rows(state), shared.rows());
  EXPECT_GT(HerdedGibbsVisited::rows(state), shared.rows() / 2);
}

TEST(HerdedGibbs, ColoursAreTheSerialOrderWhateverTheThreads) {
  const Graph graph = equal_grid(100, 0.2);  // classes large enough to be split
  const Adjacency near = adjacency(graph);
  HerdedOptions serial;
  serial.order = colour_variables(near.offsets, near.list).members;
  const HerdedOptions colours{HerdedSchedule::colours, {}, {}};
  const auto compare = [&](const auto& in_order, const auto& by_colours) {
    const auto expected = states_of(in_order, 3, 20);
    for (int threads : {1, 2, 4}) {
      tbb::task_arena arena(threads);
      EXPECT_EQ(arena.execute([&] { return states_of(by_colours, 3, 20); }), expected) << threads;
    }
  };
  for (HerdedSharing sharing : {HerdedSharing::none, HerdedSharing::exact})
    compare(HerdedGibbsTables(graph, sharing, serial), HerdedGibbsTables(graph, sharing, colours));
  for (HerdedKey key : {HerdedKey::configuration, HerdedKey::conditional, HerdedKey::bins})
    compare(HerdedGibbsVisited(graph, key, 16, serial), HerdedGibbsVisited(graph, key, 16, colours));
}

TEST(HerdedGibbs, JacobiReadsTheStateBeforeTheSweep) {
  // Two variables that must copy one another: in turn they agree for ever, all at once they swap.
  Model model;
  model.cardinalities = {2, 2};
  model.spin_pairs.add(0, 1, 30);
  const Graph graph = compile(model);
  const HerdedGibbsTables kernel(graph, HerdedSharing::none, {HerdedSchedule::jacobi, {}, {}});
  auto state = kernel.start(1, 0);
  kernel.write(state, 0, std::vector<Value>{0, 1});
  std::vector<Value> x(2);
  for (std::uint64_t t = 0; t < 5; ++t) {
    kernel.sweep(state, t);
    kernel.read(state, 0, x);
    EXPECT_EQ(x, (t % 2 == 0 ? std::vector<Value>{1, 0} : std::vector<Value>{0, 1}));
  }
}

TEST(HerdedGibbs, HardZerosAreNeverEntered) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    testing::RandomModelOptions wanted;
    wanted.variables = 6;
    wanted.max_states = 2 + seed % 3;
    wanted.max_arity = 3;
    wanted.zero_share = 0.3;
    const Graph graph = compile(random_model(seed, wanted));
    HerdedOptions options;
    options.starts = {enumerate(graph).best};
    const auto check = [&](const auto& kernel) {
      for (const auto& x : states_of(kernel, seed, 500)) ASSERT_NE(log_score(graph, x), log_zero);
    };
    check(HerdedGibbsTables(graph, HerdedSharing::none, options));
    check(HerdedGibbsTables(graph, HerdedSharing::exact, options));
    check(HerdedGibbsVisited(graph, HerdedKey::conditional, 1, options));
    check(HerdedGibbsVisited(graph, HerdedKey::bins, 4, options));
    options.schedule = HerdedSchedule::jacobi;
    if (has_table_zeros(graph)) {
      EXPECT_THROW(HerdedGibbsTables(graph, HerdedSharing::none, options), Error);
    }
  }
}

TEST(HerdedGibbs, TemperatureRaisesTheConditional) {
  const Graph graph = herded_complete_graph(8, 4, 2, 0.8);
  Graph cold = graph;
  for (double& value : cold.unary) value *= 0.4;
  for (double& value : cold.spin_pairs.couplings) value *= 0.4;
  const Enumeration exact = enumerate(cold);
  const auto check = [&](const auto& kernel) {
    auto state = kernel.start(1, 0);
    const float beta[1] = {0.4F};
    kernel.set_inverse_temperatures(state, beta);
    std::vector<double> counts(16, 0.0);
    std::vector<Value> x(4);
    constexpr int sweeps = 50'000;
    for (int t = 0; t < sweeps; ++t) {
      kernel.sweep(state, 0);
      kernel.read(state, 0, x);
      ++counts[state_index(graph, x)];
    }
    EXPECT_LT(total_variation(counts, sweeps, exact.probabilities), 0.005);
  };
  check(HerdedGibbsTables(graph, HerdedSharing::none));
  check(HerdedGibbsTables(graph, HerdedSharing::exact));
  check(HerdedGibbsVisited(graph, HerdedKey::configuration));
}

TEST(HerdedGibbs, ScoresAndChainsDiffer) {
  const Graph graph = herded_complete_graph(2, 6, 3, 0.8);
  testing::expect_scores(HerdedGibbsTables(graph, HerdedSharing::none), graph, 3);
  testing::expect_scores(HerdedGibbsVisited(graph, HerdedKey::bins, 8), graph, 3);
  const HerdedGibbsTables kernel(graph, HerdedSharing::none);
  EXPECT_NE(states_of(kernel, 1, 50), states_of(kernel, 2, 50));
}

TEST(HerdedGibbs, MemoryIsKnownBeforehand) {
  const Graph large = herded_complete_graph(1, 40);
  EXPECT_THROW(HerdedGibbsTables(large, HerdedSharing::none), Error);
  EXPECT_EQ(herded_plan(large, HerdedShare::dense, 0, 2, 100).bytes, 2 * 40 * 8 * std::exp2(39));
  EXPECT_EQ(automatic_herded_plan(large, 2, 100, 1e9).share, HerdedShare::bins);
  EXPECT_EQ(automatic_herded_plan(herded_complete_graph(1, 19), 2, 100, 1e9).share, HerdedShare::hashed);
  const Graph small = herded_complete_graph(1, 10);
  EXPECT_EQ(automatic_herded_plan(small, 2, 100, 1e9).share, HerdedShare::dense);
  EXPECT_EQ(automatic_herded_plan(small, 2, 1, 80'000).share, HerdedShare::hashed);

  // The bound of the hashed tables holds.
  const HerdedGibbsVisited kernel(large, HerdedKey::configuration);
  auto state = kernel.start(1, 0);
  for (std::uint64_t t = 0; t < 1000; ++t) kernel.sweep(state, t);
  EXPECT_LE(static_cast<double>(HerdedGibbsVisited::state_bytes(state)),
            herded_plan(large, HerdedShare::hashed, 0, 1, 1000).bytes);
}

TEST(HerdedGibbs, NoVariablesAtAll) {
  const Graph graph = compile(Model{});
  const HerdedGibbsTables kernel(graph, HerdedSharing::exact);
  auto state = kernel.start(1, 0);
  kernel.sweep(state, 0);
  EXPECT_EQ(automatic_herded_plan(graph, 1, 1, 0).bytes, 0);
}

}  // namespace
}  // namespace drover
