// Marginal MAP against enumeration: the exact order, branch and bound, and split tables.
#include "drover/infer/marginal_map.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "drover/infer/enumerate.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

struct Case {
  Graph graph;
  std::vector<VariableId> wanted;
  std::map<std::vector<Value>, double> log_sums;  // of every choice of the wanted variables
  double log_z = 0, best = log_zero;
};

Case random_case(std::uint64_t seed) {
  testing::RandomModelOptions options;
  options.variables = 4 + static_cast<std::uint32_t>(seed % 5);
  options.max_states = seed % 3 == 0 ? 4 : 2;
  options.max_arity = seed % 4 == 0 ? 4 : 2;
  options.factors = 5 + static_cast<std::uint32_t>(seed % 9);
  options.scale = seed % 5 == 0 ? 4.0 : 1.0;
  options.zero_share = seed % 2 == 0 ? 0.3 : 0.0;
  Case one;
  one.graph = compile(testing::random_model(seed, options));
  RandomSequence random(seed, Stream::start);
  for (VariableId v = 0; v < one.graph.size(); ++v)
    if (random.below(5) < 1 + seed % 4) one.wanted.insert(one.wanted.begin(), v);
  const Enumeration all = enumerate(one.graph);
  one.log_z = all.log_z;
  std::vector<Value> x(one.graph.size(), 0);
  std::map<std::vector<Value>, double> sums;
  for (double probability : all.probabilities) {
    std::vector<Value> values;
    for (VariableId v : one.wanted) values.push_back(x[v]);
    sums[values] += probability;
    for (std::size_t v = x.size(); v-- > 0;) {
      if (++x[v] < one.graph.cardinalities[v]) break;
      x[v] = 0;
    }
  }
  for (const auto& [values, sum] : sums) {
    one.log_sums[values] = std::log(sum) + all.log_z;
    one.best = std::max(one.best, one.log_sums[values]);
  }
  return one;
}

TEST(MarginalMapTest, ByTheConstrainedOrder) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case one = random_case(seed);
    const MarginalMap found = marginal_map(one.graph, one.wanted, {}, no_control());
    EXPECT_TRUE(found.optimal);
    EXPECT_EQ(found.nodes, 0U);
    EXPECT_NEAR(found.lower, one.best, 1e-9 * (1 + std::abs(one.best))) << seed;
    EXPECT_NEAR(found.upper, one.best, 1e-9 * (1 + std::abs(one.best))) << seed;
    EXPECT_NEAR(found.log_z_lower, one.log_z, 1e-9 * (1 + std::abs(one.log_z))) << seed;
    EXPECT_NEAR(one.log_sums.at(found.values), one.best, 1e-9 * (1 + std::abs(one.best))) << seed;
  }
}

TEST(MarginalMapTest, ByBranchAndBound) {
  std::uint64_t unproven = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case one = random_case(seed);
    MarginalMapOptions options;
    options.exact_work = 0;
    if (seed % 4 == 1) options.work = 1;  // stopped at once: bounds
    const MarginalMap found = marginal_map(one.graph, one.wanted, options, no_control());
    const double tolerance = 1e-8 * (1 + std::abs(one.best));
    EXPECT_NEAR(found.lower, one.log_sums.at(found.values), tolerance) << seed;
    EXPECT_GE(found.upper, one.best - tolerance) << seed;
    unproven += found.optimal ? 0 : 1;
    if (found.optimal) {
      EXPECT_NEAR(found.lower, one.best, tolerance) << seed;
    }
    EXPECT_TRUE(found.optimal || options.work == 1) << seed;
  }
  EXPECT_GT(unproven, 5U);
}

TEST(MarginalMapTest, SplitTablesBoundFromBothSides) {
  std::uint64_t split = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case one = random_case(seed);
    MarginalMapOptions options;
    options.largest_table = 8;
    const MarginalMap found = marginal_map(one.graph, one.wanted, options, no_control());
    const double tolerance = 1e-8 * (1 + std::abs(one.best));
    split += found.exact_sums ? 0 : 1;
    EXPECT_LE(found.log_z_lower, one.log_z + tolerance) << seed;
    EXPECT_GE(found.log_z_upper, one.log_z - tolerance) << seed;
    EXPECT_LE(found.lower, one.log_sums.at(found.values) + tolerance) << seed;
    EXPECT_GE(found.upper, one.best - tolerance) << seed;
    if (found.optimal) {
      EXPECT_NEAR(one.log_sums.at(found.values), one.best, tolerance) << seed;
    }
  }
  EXPECT_GT(split, 50U);
}

}  // namespace
}  // namespace drover
