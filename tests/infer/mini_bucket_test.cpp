// The mini-bucket bound against enumeration: never below log Z, equal to it when nothing is split.
#include "drover/infer/mini_bucket.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "drover/core/error.hpp"
#include "drover/infer/cutset_bound.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/infer/support.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

Graph graph_of_buckets(std::uint64_t seed) {
  testing::RandomModelOptions shape;
  shape.variables = 7 + seed % 4;
  shape.max_states = seed % 2 == 0 ? 2 : 3;
  shape.max_arity = seed % 3 == 0 ? 3 : 2;
  shape.factors = 16;
  shape.scale = 1.5;
  shape.zero_share = seed % 4 == 0 ? 0.2 : 0;
  return compile(testing::random_model(seed, shape));
}

std::vector<VariableId> in_order(const Graph& graph) {
  std::vector<VariableId> order(graph.size());
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

TEST(MiniBucket, NeverBelowLogZ) {
  std::size_t splits = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = graph_of_buckets(seed);
    const double log_z = enumerate(graph).log_z;
    for (double size : {1.0, 3.0, 5.0}) {
      const MiniBucketBound bound = mini_bucket_bound(graph, in_order(graph), size);
      EXPECT_GE(bound.upper, log_z - 1e-9) << "seed " << seed << " tables of 2^" << size;
      splits += bound.splits;
      if (bound.exact) {
        EXPECT_NEAR(bound.upper, log_z, 1e-9);
      }
    }
  }
  EXPECT_GT(splits, 1000U);
}

TEST(MiniBucket, ExactWhereTablesAreLargeEnough) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = graph_of_buckets(seed);
    const MiniBucketBound bound = mini_bucket_bound(graph, in_order(graph), 30);
    EXPECT_TRUE(bound.exact);
    EXPECT_NEAR(bound.upper, enumerate(graph).log_z, 1e-9);
  }
}

// Every assignment outside the block once: the whole of Z. Half of them: less.
TEST(CutsetBound, NeverAboveLogZAndReachesIt) {
  std::size_t fixed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = graph_of_buckets(seed);
    const double log_z = enumerate(graph).log_z;
    CutsetBound bound(graph, 3);
    std::vector<Value> x(graph.size(), 0);
    double before = log_zero;
    for (bool more = true; more;) {
      if (in_support(graph, x)) bound.add(x);
      EXPECT_LE(bound.lower(), log_z + 1e-9) << "seed " << seed;
      EXPECT_GE(bound.lower(), before);
      before = bound.lower();
      more = false;
      for (std::size_t v = 0; v < x.size() && !more; ++v) {
        more = ++x[v] < graph.cardinalities[v];
        if (!more) x[v] = 0;
      }
    }
    EXPECT_NEAR(bound.lower(), log_z, 1e-9) << "seed " << seed;
    fixed += bound.fixed();
  }
  EXPECT_GT(fixed, 60U);
}

TEST(MiniBucket, EndsWhenAsked) {
  const Graph graph = graph_of_buckets(1);
  RunControl control;
  control.request_stop();
  EXPECT_THROW(mini_bucket_bound(graph, in_order(graph), 4, control), Error);
}

}  // namespace
}  // namespace drover
