// log V: its mean is Z in the primal-dual form, and the mean of its logarithm a lower bound of log Z.
#include "drover/sample/dual/dual_log_z.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/mcse.hpp"
#include "drover/infer/enumerate.hpp"
#include "tests/support/random_models.hpp"

namespace drover {
namespace {

Graph random_spin_graph(std::uint64_t seed, std::uint32_t variables, std::uint32_t factors) {
  testing::RandomModelOptions options;
  options.variables = variables;
  options.factors = factors;
  return compile(testing::random_model(seed, options));
}

// log p~(x, t) written out, from nothing but the definition of the duals.
double joint_score(const SpinEdges& graph, const std::vector<Value>& x, const std::vector<Value>& theta) {
  double total = graph.log_constant;
  for (std::size_t i = 0; i < x.size(); ++i) total += graph.field[i] * x[i];
  for (std::size_t e = 0; e < theta.size(); ++e) {
    const SpinDual dual = dual_of_coupling(graph.edges[e].coupling);
    const double first = 2.0 * x[graph.edges[e].first] - 1, second = 2.0 * x[graph.edges[e].second] - 1;
    total += dual.log_constant +
             dual.strength / 2 * (2.0 * theta[e] - 1) * (dual.flip ? first - second : first + second);
  }
  return total;
}

struct Expectations {
  double v = 0, log_v = 0;
};

Expectations enumerate_duals(const SpinEdges& graph, double log_z) {
  Expectations expected;
  std::vector<Value> x(graph.size()), theta(graph.edges.size());
  for (std::uint32_t s = 0; s < 1U << (x.size() + theta.size()); ++s) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = s >> i & 1;
    for (std::size_t e = 0; e < theta.size(); ++e) theta[e] = s >> (x.size() + e) & 1;
    const double p = std::exp(joint_score(graph, x, theta) - log_z);
    const double log_v = log_dual_weight(graph, x, theta);
    expected.v += p * std::exp(log_v - log_z);
    expected.log_v += p * log_v;
  }
  return expected;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(DualLogZ, MeanOfVIsZ) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = random_spin_graph(seed, 4, 5);
    const SpinEdges edges = spin_edges(spin_graph(graph));
    const double log_z = enumerate(graph).log_z;
    const Expectations expected = enumerate_duals(edges, log_z);
    EXPECT_NEAR(expected.v, 1, 1e-5);
    EXPECT_LT(expected.log_v, log_z + 1e-6);
  }
}

// The sampler's mean is the enumerated one.
TEST(DualLogZ, SamplerFindsTheMeanOfLogV) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = random_spin_graph(seed, 4, 5);
    const SpinEdges edges = spin_edges(spin_graph(graph));
    const double expected = enumerate_duals(edges, enumerate(graph).log_z).log_v;
    DualLogZOptions options;
    options.seed = seed;
    options.chains = 16;
    const DualLogZDraws draws = dual_log_z(edges, options);
    ASSERT_EQ(draws.log_v.size(), 16000U);
    const double error = mcse_mean(Draws{draws.log_v.data(), draws.chains, draws.draws});
    EXPECT_NEAR(mean_of(draws.log_v), expected, 5 * error + 1e-5) << "seed " << seed;
  }
}

TEST(DualLogZ, BoundHolds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Graph graph = random_spin_graph(seed, 9, 16);
    DualLogZOptions options;
    options.seed = seed;
    options.chains = 8;
    options.sweeps = 400;
    const DualLogZDraws draws = dual_log_z(spin_edges(spin_graph(graph)), options);
    const double error = mcse_mean(Draws{draws.log_v.data(), draws.chains, draws.draws});
    EXPECT_LE(mean_of(draws.log_v), enumerate(graph).log_z + 4 * error) << "seed " << seed;
  }
}

// Swendsen-Wang on a single pair, by hand: with a = exp(-2J), p(bond) = p(equal)(1 - a), and
// E[log V] = E[log p~(x)] + log 2 E[C], C = 1 with a bond and 2 without.
TEST(ClusterLogZ, OnePair) {
  Model model;
  model.cardinalities = {2, 2};
  model.spin_pairs.add(0, 1, 0.7);
  const Graph graph = compile(model);
  const double equal = std::exp(0.7) / (std::exp(0.7) + std::exp(-0.7));
  const double bond = equal * (1 - std::exp(-1.4));
  const double expected = 0.7 * (2 * equal - 1) + std::log(2.0) * (2 - bond);
  DualLogZOptions options;
  options.chains = 16;
  const DualLogZDraws draws = cluster_log_z(graph, options);
  const double error = mcse_mean(Draws{draws.log_v.data(), draws.chains, draws.draws});
  EXPECT_NEAR(mean_of(draws.log_v), expected, 5 * error);
  EXPECT_LT(expected, enumerate(graph).log_z);
}

TEST(ClusterLogZ, BoundHolds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSequence random(seed, Stream::generate);
    Model model;
    const std::uint32_t states = seed % 2 == 0 ? 2 : 3;
    for (VariableId v = 0; v < 7; ++v) {
      model.cardinalities.push_back(states);
      std::vector<double> unary(states);
      for (double& value : unary) value = random.normal() / 2;
      model.unaries.add(v, unary);
      for (VariableId u = 0; u < v; ++u) {
        if (random.below(2) == 0) continue;
        if (states == 2)
          model.spin_pairs.add(u, v, 0.5 * random.uniform());
        else
          model.potts_pairs.add(u, v, random.uniform());
      }
    }
    const Graph graph = compile(model);
    DualLogZOptions options;
    options.seed = seed;
    options.chains = 8;
    options.sweeps = 400;
    const DualLogZDraws draws = cluster_log_z(graph, options);
    const double error = mcse_mean(Draws{draws.log_v.data(), draws.chains, draws.draws});
    const double log_z = enumerate(graph).log_z;
    EXPECT_LE(mean_of(draws.log_v), log_z + 4 * error) << "seed " << seed;
    EXPECT_GE(mean_of(draws.log_v), log_z - 7 * std::log(3.0));  // I(x; theta) is at most the entropy of x
  }
}

}  // namespace
}  // namespace drover
