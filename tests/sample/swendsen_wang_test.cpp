#include "drover/sample/dual/swendsen_wang.hpp"

#include <tbb/task_arena.h>

#include "tests/sample/table_support.hpp"

namespace drover {
namespace {

static_assert(Kernel<SwendsenWang>);

// Spins of either sign and attractive Potts pairs with fields, some without, every third with evidence; every
// fifth has values that a unary forbids.
Graph cluster_graph(std::uint64_t seed) {
  RandomSequence random(seed, Stream::generate);
  const std::uint32_t size = 3 + seed % 4, states = seed % 3 == 0 ? 3 + seed % 2 : 2;
  Model model;
  model.cardinalities.assign(size, states);
  for (VariableId v = 0; v < size && seed % 4 != 3; ++v) {
    std::vector<double> values(states);
    for (double& value : values) value = random.normal();
    if (seed % 5 == 4 && v % 2 == 0) values[seed % states] = log_zero;
    model.unaries.add(v, values);
  }
  for (std::uint32_t f = 0; f < 2 * size; ++f) {
    const VariableId i = random.below(size), j = (i + 1 + random.below(size - 1)) % size;
    const double coupling = random.normal();
    if (states == 2)
      model.spin_pairs.add(i, j, 0.7 * coupling);
    else
      model.potts_pairs.add(i, j, std::abs(coupling));
  }
  Evidence evidence;
  if (seed % 3 == 1 && seed % 5 != 4) evidence.add(0, 1);
  return compile(model, evidence);
}

// A torus with random couplings and fields.
Graph random_torus(std::uint32_t width, std::uint32_t height) {
  RandomSequence random(3, Stream::generate);
  Model model;
  model.cardinalities.assign(std::size_t{width} * height, 2);
  for (std::uint32_t i = 0; i < width * height; ++i) {
    const double values[2] = {0, random.normal()};
    model.unaries.add(i, values);
    model.spin_pairs.add(i, i - i % width + (i + 1) % width, 0.6 * random.normal());
    model.spin_pairs.add(i, (i + width) % (width * height), 0.6 * random.normal());
  }
  return compile(model);
}

TEST(SwendsenWang, LeavesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = cluster_graph(seed);
    const SwendsenWang kernel(graph);
    testing::expect_leaves_distribution(kernel, graph, seed, 4096);
    testing::expect_scores(kernel, graph, seed);
  }
}

TEST(SwendsenWang, PartialLeavesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = cluster_graph(seed);
    testing::expect_leaves_distribution(SwendsenWang(graph, 0.2 * static_cast<double>(seed % 5)), graph, seed,
                                        4096);
  }
}

TEST(SwendsenWang, ReachesTheDistribution) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Graph graph = cluster_graph(seed);
    testing::expect_reaches_distribution(SwendsenWang(graph, seed % 2 == 0 ? 1 : 0.5), graph, seed, 1024,
                                         150);
  }
}

TEST(SwendsenWang, ConditionalsAverageToTheMarginals) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = cluster_graph(seed);
    testing::expect_conditionals(SwendsenWang(graph, seed % 2 == 0 ? 1 : 0.5), graph, seed, 2048);
  }
}

TEST(SwendsenWang, LeavesTheDistributionAtOtherTemperatures) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = cluster_graph(seed);
    testing::expect_tempered(SwendsenWang(graph, seed % 2 == 0 ? 1 : 0.4), graph, seed,
                             0.25F * static_cast<float>(1 + seed % 6), 2048);
  }
}

TEST(SwendsenWang, SameBitsForAnyNumberOfThreads) {
  for (double share : {1.0, 0.5}) {
    const Graph graph = random_torus(200, 250);
    const SwendsenWang kernel(graph, share);
    std::vector<std::vector<Value>> states;
    std::vector<std::vector<float>> sums;
    for (int threads : {1, 2, 5}) {
      tbb::task_arena arena(threads);
      arena.execute([&] {
        auto state = kernel.start(9, 4);
        sums.emplace_back(kernel.entry_count(), 0.0F);
        for (std::uint64_t sweep = 0; sweep < 4; ++sweep)
          kernel.sweep(state, sweep, ConditionalSums{sums.back()});
        states.push_back(state.values);
      });
      EXPECT_EQ(states.back(), states.front());
      EXPECT_EQ(sums.back(), sums.front());
    }
  }
}

// What one pair draws: the laws of bond and dual add up to the pair's table for any share.
TEST(SwendsenWang, LawsAddUpToThePair) {
  for (std::uint32_t states : {2U, 3U, 5U})
    for (double strength : {1e-3, 0.3, 1.0, 4.0, 30.0})
      for (double share : {0.0, 0.3, 0.9, 0.999}) {
        const auto law = bond_law(strength, share, states);
        const double rho = std::exp(-law.gain), others = states - 1.0;
        const double diagonal = 1 + others * rho * rho, off = 2 * rho + (others - 1) * rho * rho;
        EXPECT_NEAR(off / diagonal * (1 - law.bond), std::exp(-strength), 1e-12);
        EXPECT_NEAR(law.follow * diagonal, 1, 1e-12);
        EXPECT_NEAR(law.either * off, rho, 1e-12);
      }
}

}  // namespace
}  // namespace drover
